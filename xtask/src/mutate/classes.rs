//! Results of reading a damaged file.

use super::seeds::{BOOT, Seed, SeedContent, content};
use clap::ValueEnum;
use teak::{Options, Recovery, Result, testing::SimDisk};

const OTHER_BOOT: [u8; 16] = [9; 16];

/// The result of reading a damaged file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(super) enum ReadClass {
    /// All original records.
    Right,
    /// An error, of opening or of reading.
    Error,
    /// An older state, reported by opening.
    RolledBack,
    /// An older state, not reported by opening.
    Older,
    /// Data that never existed, without an error.
    Wrong,
}

impl ReadClass {
    /// Opens the file, in this boot of the machine or in the next, and reads everything.
    pub(super) fn of(image: &[u8], seed: &Seed, is_same_boot: bool) -> Self {
        Self::with(image, seed, is_same_boot, Options::new())
    }

    /// Like [`Self::of`], with these options.
    pub(super) fn with(image: &[u8], seed: &Seed, is_same_boot: bool, options: Options) -> Self {
        let boot = if is_same_boot { BOOT } else { OTHER_BOOT };
        match read(image, boot, options) {
            Err(_) => Self::Error,
            Ok((_, found)) if Some(&found) == seed.states.last() => Self::Right,
            Ok((recovery, found)) if seed.states.contains(&found) => match recovery {
                Recovery::RolledBack { .. } => Self::RolledBack,
                _ => Self::Older,
            },
            Ok(_) => Self::Wrong,
        }
    }
}

fn read(image: &[u8], boot: [u8; 16], options: Options) -> Result<(Recovery, SeedContent)> {
    let disk = SimDisk::from_image(image.to_vec(), 0);
    let database = teak::testing::open(&disk, &options.read_only(true), false, boot)?;
    Ok((database.info().recovery, content(&database)?))
}
