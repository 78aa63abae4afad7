//! The working directory of the program, and the resource that is limited there.

use crate::{
    Failure, Result,
    commands::{call, unmount},
};
use fastrand::Rng;
use rustix::process::geteuid;
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// A limit of the program.
#[derive(Debug)]
pub(super) enum Limit {
    /// The maximum file length.
    FileBytes(u64),
    AddressBytes(u64),
    /// Memory that is not file-backed.
    DataBytes(u64),
    OpenFiles(u64),
    /// Free bytes on the disk.
    FreeBytes(u64),
}

impl Limit {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::FileBytes(bytes) => format!("files of {bytes} bytes"),
            Self::AddressBytes(bytes) => format!("an address space of {bytes} bytes"),
            Self::DataBytes(bytes) => format!("{bytes} bytes of memory"),
            Self::OpenFiles(count) => format!("{count} open files"),
            Self::FreeBytes(bytes) => format!("{bytes} free bytes on the disk"),
        }
    }

    /// The program with this limit.
    pub(super) fn command(&self, program: &Path) -> Command {
        let (option, value) = match self {
            Self::FileBytes(bytes) => ("--fsize", bytes),
            Self::AddressBytes(bytes) => ("--as", bytes),
            Self::DataBytes(bytes) => ("--data", bytes),
            Self::OpenFiles(count) => ("--nofile", count),
            Self::FreeBytes(_) => return Command::new(program),
        };
        let mut command = Command::new("prlimit");
        command.arg(format!("{option}={value}")).arg(program);
        command
    }
}

/// A directory of databases.
pub(super) enum DatabaseDirectory {
    /// Any directory: the limit is one of the process.
    Directory(PathBuf),
    /// A small file system, which is filled.
    Disk(LimitedDisk),
}

/// A file system in an image.
pub(super) struct LimitedDisk {
    name: &'static str,
    mount_point: PathBuf,
}

/// Names, programs that make them, and block lengths.
const DISKS: [(&str, &str, &str); 4] = [
    ("ext4 with blocks of 1 KiB", "mkfs.ext4", "1024"),
    ("ext4 with blocks of 4 KiB", "mkfs.ext4", "4096"),
    ("ext2 with blocks of 1 KiB", "mkfs.ext2", "1024"),
    ("ext2 with blocks of 4 KiB", "mkfs.ext2", "4096"),
];
const IMAGE_LEN: u64 = 24 << 20;
const FILLER: &str = "filler";

impl DatabaseDirectory {
    /// All directories available here. Mounting disks requires root.
    pub(super) fn all(scratch: &Path) -> Result<Vec<Self>> {
        let mut directories = vec![Self::Directory(scratch.to_owned())];
        if !geteuid().is_root() {
            println!("NOT DONE: full disks: mounting file systems requires root");
            return Ok(directories);
        }
        for (number, (name, maker, block)) in DISKS.into_iter().enumerate() {
            match LimitedDisk::make(scratch, number, (name, maker, block)) {
                Ok(disk) => directories.push(Self::Disk(disk)),
                Err(Failure(text)) => println!("NOT DONE: {name}: {text}"),
            }
        }
        // Half of the rounds use limits of the process, half use full disks.
        for _ in 2..directories.len() {
            directories.push(Self::Directory(scratch.to_owned()));
        }
        Ok(directories)
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Directory(_) => "limits of a process",
            Self::Disk(disk) => disk.name,
        }
    }

    /// A new directory in it.
    pub(super) fn directory(&self) -> Result<TempDir> {
        let (Self::Directory(path)
        | Self::Disk(LimitedDisk {
            mount_point: path, ..
        })) = self;
        Ok(tempfile::tempdir_in(path)?)
    }

    pub(super) fn limit(&self, rng: &mut Rng) -> Limit {
        // Small ones are as likely as large ones.
        let scale = |rng: &mut Rng, least: u64, most: u64| {
            let exponent = (least as f64).log2() + rng.f64() * (most as f64 / least as f64).log2();
            exponent.exp2() as u64
        };
        match self {
            Self::Disk(_) if rng.u8(..4) == 0 => Limit::FreeBytes(0),
            Self::Disk(_) => Limit::FreeBytes(scale(rng, 1 << 10, 4 << 20)),
            Self::Directory(_) => match rng.u8(..4) {
                0 => Limit::FileBytes(scale(rng, 512, 100 << 20)),
                1 => Limit::AddressBytes(scale(rng, 16 << 20, 1 << 30)),
                2 => Limit::DataBytes(scale(rng, 1 << 20, 64 << 20)),
                _ => Limit::OpenFiles(rng.u64(3..16)),
            },
        }
    }

    /// Leaves this many bytes free until the value is dropped.
    pub(super) fn fill(&self, limit: &Limit) -> Result<Option<Filler>> {
        let (Self::Disk(disk), Limit::FreeBytes(free)) = (self, limit) else {
            return Ok(None);
        };
        let filler = Filler(disk.mount_point.join(FILLER));
        let mut file = File::create(&filler.0)?;
        // The space of removed files becomes free with a delay.
        file.sync_all()?;
        let mut chunk = 1 << 20;
        while chunk >= 512 {
            if file.write_all(&vec![1; chunk]).is_err() {
                chunk /= 2;
            }
        }
        let len = file.metadata()?.len();
        file.set_len(len.saturating_sub(*free))?;
        file.sync_all()?;
        Ok(Some(filler))
    }
}

/// A file that occupies space. It is removed on drop.
pub(super) struct Filler(PathBuf);

impl Drop for Filler {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl LimitedDisk {
    fn make(
        scratch: &Path,
        number: usize,
        (name, maker, block): (&'static str, &str, &str),
    ) -> Result<Self> {
        let image = scratch.join(format!("disk-{number}.image"));
        File::create(&image)?.set_len(IMAGE_LEN)?;
        let mount_point = scratch.join(format!("disk-{number}"));
        fs::create_dir(&mount_point)?;
        let image = image.to_string_lossy();
        call(maker, &["-q", "-F", "-m", "0", "-b", block, &image])?;
        call(
            "mount",
            &["-o", "loop", &image, &mount_point.to_string_lossy()],
        )?;
        Ok(Self { name, mount_point })
    }
}

impl Drop for LimitedDisk {
    fn drop(&mut self) {
        let _ = unmount(&self.mount_point);
    }
}
