//! A file system in an image, with simulated power cuts.

use crate::{
    Result,
    campaign::{
        database::{copy_with_log, log_of, remove_with_log},
        violations,
    },
    commands::{call, unmount},
    names::Named,
};
use fastrand::Rng;
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

/// The size of the image. xfs requires at least this size.
const IMAGE_LEN: u64 = 320 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Filesystem {
    Ext4 = 4,
    Xfs = 7,
}

/// The fate of the file system's own journal in a power cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JournalFate {
    /// The part of it that is not on the disk is lost.
    Lost,
    /// All of it was written just before.
    Written,
}

impl JournalFate {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        match rng.u8(0..4) {
            0 => Self::Written,
            _ => Self::Lost,
        }
    }
}

pub(super) struct PowerDisk {
    filesystem: Filesystem,
    image: PathBuf,
    mount_point: PathBuf,
    /// The mount options.
    options: &'static str,
}

/// With this option, ext4 writes data to its own journal first.
const DATA_JOURNAL: &str = "data=journal";

impl Filesystem {
    pub(super) fn maker(self) -> &'static str {
        match self {
            Self::Ext4 => "mkfs.ext4",
            Self::Xfs => "mkfs.xfs",
        }
    }

    /// Mount modes that differ in the effect of a power cut.
    fn mount_options(self) -> &'static [&'static str] {
        match self {
            Self::Ext4 => &["loop", "loop", "loop,data=writeback", "loop,data=journal"],
            Self::Xfs => &["loop"],
        }
    }
}

impl PowerDisk {
    /// Makes a file system and mounts it.
    pub(super) fn make(filesystem: Filesystem, directory: &Path) -> Result<Self> {
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

    /// Fails unless a power cut keeps flushed data, and loses other data.
    pub(super) fn prove(&mut self) -> Result {
        let [kept, lost] = ["kept", "lost"].map(|name| self.mount_point.join(name));
        for path in [&kept, &lost] {
            let mut file = File::create(path)?;
            file.write_all(&[1; 4096])?;
            if path == &kept {
                file.sync_all()?;
                File::open(&self.mount_point)?.sync_all()?;
            }
        }
        cut(&self.mount_point, Vec::new(), JournalFate::Lost)?;
        self.start_again(self.filesystem.mount_options()[0])?;
        if fs::read(&kept).ok() != Some(vec![1; 4096]) {
            bail!("a power cut loses flushed data");
        }
        if fs::read(&lost).is_ok_and(|content| content == [1; 4096]) {
            bail!("a power cut loses no data");
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
    pub(super) fn save_copy(&self, cut: u64) -> Result {
        let name = format!("power-{}-{cut}.teak", self.filesystem().name());
        violations::save_database(&self.copy(), &name)
    }

    /// Removes a database and its copy. The next cut may restore the database, which only costs
    /// space.
    pub(super) fn remove(&self, database: &Path) {
        remove_with_log(database);
        remove_with_log(&self.copy());
    }

    /// The mount point.
    pub(super) fn mount_point(&self) -> &Path {
        &self.mount_point
    }

    /// Copies the database, if it exists, to where [`Self::save_copy`] finds it.
    pub(super) fn copy_database(&self, database: &Path) -> Result {
        copy_with_log(database, &self.copy())
    }

    /// Writes back random parts of a database and its log, if they exist, as the system might do
    /// at any time.
    pub(super) fn write_back(&self, database: &Path, rng: &mut Rng) -> Result {
        write_back_log(database, rng);
        match database.exists() {
            true => run_commands(database, &random_parts(database, rng)),
            false => Ok(()),
        }
    }

    /// Cuts the power, after random parts of a database and its log, if they exist, were written
    /// back.
    pub(super) fn cut_with_parts(
        &self,
        database: &Path,
        journal: JournalFate,
        rng: &mut Rng,
    ) -> Result {
        write_back_log(database, rng);
        match database.exists() {
            true => cut(database, random_parts(database, rng), journal),
            false => cut(&self.mount_point, Vec::new(), journal),
        }
    }

    /// Mounts the file system again after a cut. No process has a file open.
    pub(super) fn start_again(&mut self, options: &'static str) -> Result {
        unmount(&self.mount_point)?;
        self.options = options;
        self.mount()
    }

    /// Mount modes that differ in the effect of a power cut. With several programs, none has the
    /// journal of data. Linux 6.18 has a bug there that stops the machine
    /// (`jbd2_journal_dirty_metadata`) when a program stores to a mapped file while the file system
    /// is shut down. Several programs do that all the time.
    pub(super) fn mount_options(&self, has_many: bool) -> Vec<&'static str> {
        let mut options = self.filesystem.mount_options().to_vec();
        options.retain(|options| !has_many || !options.contains(DATA_JOURNAL));
        options
    }

    /// Lets one or several programs use it.
    pub(super) fn prepare(&mut self, has_many: bool) -> Result {
        let options = self.mount_options(has_many);
        match options.contains(&self.options) {
            true => Ok(()),
            false => self.start_again(options[0]),
        }
    }

    fn mount(&self) -> Result {
        let name = self.filesystem.name();
        let [image, mount_point] = [text(&self.image), text(&self.mount_point)];
        call(
            "mount",
            &["-t", &name, "-o", self.options, image, mount_point],
        )
    }
}

impl Drop for PowerDisk {
    fn drop(&mut self) {
        // Unmounting fails if it is not mounted. The mount disappears with the mount namespace
        // anyway.
        let _ = call("umount", &[text(&self.mount_point)]);
    }
}

/// Writes back random parts of the log of a database, if there is one. Its program may remove it
/// meanwhile.
fn write_back_log(database: &Path, rng: &mut Rng) {
    let log = log_of(database);
    if log.exists() {
        let _ = run_commands(&log, &random_parts(&log, rng));
    }
}

/// Cuts the power, after other commands.
fn cut(file: &Path, mut commands: Vec<String>, journal: JournalFate) -> Result {
    let shutdown = match journal {
        JournalFate::Lost => "shutdown",
        JournalFate::Written => "shutdown -f",
    };
    commands.push(shutdown.to_owned());
    run_commands(file, &commands)
}

fn run_commands(file: &Path, commands: &[String]) -> Result {
    let mut arguments = vec!["-x"];
    arguments.extend(commands.iter().flat_map(|command| ["-c", command]));
    arguments.push(text(file));
    call("xfs_io", &arguments)
}

/// Commands that write back random parts of a file, in whole pages of the system: mostly few pages,
/// often the head.
fn random_parts(file: &Path, rng: &mut Rng) -> Vec<String> {
    const PAGE: u64 = 4096;
    let pages = fs::metadata(file).map_or(0, |metadata| metadata.len() / PAGE);
    let count = [0, 0, 1, 3, 8][rng.usize(0..5)];
    let draw = |_| {
        let start = match rng.u8(0..3) {
            0 => rng.u64(0..8),
            _ => rng.u64(0..pages.max(1)),
        };
        let len = [1, 1, 4, 64][rng.usize(0..4)];
        format!("sync_range -w -a {} {}", start * PAGE, len * PAGE)
    };
    (0..count).map(draw).collect()
}

/// A path as an argument. All paths made here are valid text.
fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}
