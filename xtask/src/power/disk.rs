//! A file system in an image that can lose its power.

use super::commands::{call, text};
use crate::{Failure, campaign::violations};
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The length of the image. xfs cannot be made smaller.
const IMAGE_LEN: u64 = 320 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Filesystem {
    Ext4 = 4,
    Xfs = 7,
}

/// The fate of the file system's own journal in a power cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JournalFate {
    /// The part that is not on the disk is lost.
    Lost,
    /// All of it has just been written.
    Written,
}

/// Bytes of a file that have just been written back: where they begin, and how many.
pub(super) type ByteRange = (u64, u64);

pub(super) struct PowerDisk {
    filesystem: Filesystem,
    image: PathBuf,
    mount_point: PathBuf,
    /// How it is mounted.
    options: &'static str,
}

/// With this option ext4 writes data to its own journal first.
const DATA_JOURNAL: &str = "data=journal";

impl Filesystem {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }

    pub(super) fn maker(self) -> &'static str {
        match self {
            Self::Ext4 => "mkfs.ext4",
            Self::Xfs => "mkfs.xfs",
        }
    }

    /// Like [`Self::mount_options`], but without the journal of data. Linux 6.18 has a bug there
    /// that stops the machine (`jbd2_journal_dirty_metadata`) when a program stores to a mapped
    /// file while the file system is shut down, which several programs do all the time.
    pub(super) fn mount_options_for_many(self) -> Vec<&'static str> {
        let mut options = self.mount_options().to_vec();
        options.retain(|options| !options.contains(DATA_JOURNAL));
        options
    }

    /// Ways to mount it that differ in what a power cut leaves.
    pub(super) fn mount_options(self) -> &'static [&'static str] {
        match self {
            Self::Ext4 => &["loop", "loop", "loop,data=writeback", "loop,data=journal"],
            Self::Xfs => &["loop"],
        }
    }
}

impl PowerDisk {
    /// Makes a file system and mounts it.
    pub(super) fn make(filesystem: Filesystem, directory: &Path) -> Result<Self, Failure> {
        let image = directory.join(format!("{}.image", filesystem.name()));
        File::create(&image)?.set_len(IMAGE_LEN)?;
        let force = match filesystem {
            Filesystem::Ext4 => "-F",
            Filesystem::Xfs => "-f",
        };
        call(filesystem.maker(), &["-q", force, text(&image)])?;
        let disk = Self {
            mount_point: directory.join(filesystem.name()),
            options: filesystem.mount_options()[0],
            filesystem,
            image,
        };
        fs::create_dir(&disk.mount_point)?;
        disk.mount()?;
        Ok(disk)
    }

    /// Fails unless a power cut keeps what was flushed, and loses what was not.
    pub(super) fn prove(&mut self) -> Result<(), Failure> {
        let [kept, lost] = ["kept", "lost"].map(|name| self.mount_point.join(name));
        for path in [&kept, &lost] {
            let mut file = File::create(path)?;
            file.write_all(&[1; 4096])?;
            if path == &kept {
                file.sync_all()?;
                File::open(&self.mount_point)?.sync_all()?;
            }
        }
        self.cut(&self.mount_point, &[], JournalFate::Lost)?;
        self.start_again(self.filesystem.mount_options()[0])?;
        if fs::read(&kept).ok() != Some(vec![1; 4096]) {
            return Err(Failure("a power cut takes what was flushed".to_owned()));
        }
        if fs::read(&lost).is_ok_and(|content| content == [1; 4096]) {
            return Err(Failure("a power cut takes nothing".to_owned()));
        }
        Ok(())
    }

    pub(super) fn filesystem(&self) -> Filesystem {
        self.filesystem
    }

    /// The path for a copy of a database after a cut. It is not on the disk that loses its power.
    pub(super) fn copy(&self) -> PathBuf {
        self.mount_point().with_extension("copy")
    }

    /// Keeps the copy after a violation.
    pub(super) fn save_copy(&self, cut: u64) -> Result<(), Failure> {
        let name = format!("power-{}-{cut}.teak", self.filesystem().name());
        violations::save_database(&self.copy(), &name)
    }

    /// Removes a database and its copy. The next cut may bring the database back, which costs
    /// space and nothing else.
    pub(super) fn remove(&self, database: &Path) {
        let _ = fs::remove_file(database);
        let _ = fs::remove_file(self.copy());
    }

    /// Where it is mounted.
    pub(super) fn mount_point(&self) -> &Path {
        &self.mount_point
    }

    /// Has parts of a file written back, as the system might do at any time.
    pub(super) fn write_back(&self, file: &Path, stretches: &[ByteRange]) -> Result<(), Failure> {
        let words = write_back_words(stretches);
        let mut arguments = vec!["-x"];
        arguments.extend(words.iter().flat_map(|word| ["-c", word]));
        arguments.push(text(file));
        call("xfs_io", &arguments)
    }

    /// Cuts the power, after parts of `file` have been written back.
    pub(super) fn cut(
        &self,
        file: &Path,
        stretches: &[ByteRange],
        journal: JournalFate,
    ) -> Result<(), Failure> {
        let words = write_back_words(stretches);
        let mut arguments = vec!["-x"];
        arguments.extend(words.iter().flat_map(|word| ["-c", word]));
        arguments.push("-c");
        arguments.push(match journal {
            JournalFate::Lost => "shutdown",
            JournalFate::Written => "shutdown -f",
        });
        arguments.push(text(file));
        call("xfs_io", &arguments)
    }

    /// Mounts the file system again after a cut. No process has a file open.
    pub(super) fn start_again(&mut self, options: &'static str) -> Result<(), Failure> {
        self.unmount()?;
        self.options = options;
        self.mount()
    }

    /// Sees to it that several programs may use it.
    pub(super) fn be_for_many(&mut self) -> Result<(), Failure> {
        let options = self.filesystem.mount_options_for_many();
        match options.contains(&self.options) {
            true => Ok(()),
            false => self.start_again(options[0]),
        }
    }

    fn mount(&self) -> Result<(), Failure> {
        let name = self.filesystem.name();
        let [image, mount_point] = [text(&self.image), text(&self.mount_point)];
        call(
            "mount",
            &["-t", name, "-o", self.options, image, mount_point],
        )
    }

    /// The system may need a moment until the last file of a killed program is closed.
    fn unmount(&self) -> Result<(), Failure> {
        const ATTEMPTS: u32 = 50;
        let mut outcome = Ok(());
        for _ in 0..ATTEMPTS {
            outcome = call("umount", &[text(&self.mount_point)]);
            if outcome.is_ok() {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        outcome
    }
}

impl Drop for PowerDisk {
    fn drop(&mut self) {
        // If it is not mounted there is nothing to do; if that fails, it goes with the program.
        let _ = call("umount", &[text(&self.mount_point)]);
    }
}

fn write_back_words(stretches: &[ByteRange]) -> Vec<String> {
    stretches
        .iter()
        .map(|(start, len)| format!("sync_range -w -a {start} {len}"))
        .collect()
}
