//! Kinds of damage of encrypted files, as by disks, copies and attackers.

use crate::mutate::{kinds::Damage, seeds::EncryptedSeed};
use clap::ValueEnum;
use fastrand::Rng;
use std::fmt;
use teak::testing;

/// Pages that have records.
const RECORD_COUNT: usize = 4;
/// At most so many bytes of a record's page are used in these databases.
const RECORD_LEN: usize = 1024;

/// A kind of damage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum EncryptedKind {
    Damage(Damage),
    /// A bit of a record is flipped, and the checksum of the record is corrected.
    RepairedRecord,
    /// Two pages are exchanged.
    SwappedPages,
    /// A page is that of another database with the same key, at the same place.
    ForeignPage,
    /// A record is that of another database with the same key.
    ForeignRecord,
    /// A record is in the slot of another one.
    MovedRecord,
    /// One record, or all of them, are those of an older state.
    OldRecord,
    OldRecords,
    /// The first or the second half of the file is that of an older state.
    OldHalf,
    /// The file is an older state.
    OldFile,
}

impl EncryptedKind {
    pub(super) fn all() -> Vec<Self> {
        let damages = Damage::value_variants().iter().copied();
        let others = [
            Self::RepairedRecord,
            Self::SwappedPages,
            Self::ForeignPage,
            Self::ForeignRecord,
            Self::MovedRecord,
            Self::OldRecord,
            Self::OldRecords,
            Self::OldHalf,
            Self::OldFile,
        ];
        damages.map(Self::Damage).chain(others).collect()
    }

    /// Whether authentic bytes of older states are put back. Only checksums show that.
    pub(super) fn is_replay(self) -> bool {
        matches!(
            self,
            Self::Damage(Damage::StalePage)
                | Self::OldRecord
                | Self::OldRecords
                | Self::OldHalf
                | Self::OldFile
        )
    }

    pub(super) fn mutate(self, encrypted: &EncryptedSeed, rng: &mut Rng) -> Vec<u8> {
        let seed = &encrypted.seed;
        let (size, earlier) = (seed.page_size, &seed.earlier);
        let mut image = seed.image.clone();
        let records = rng.usize(..RECORD_COUNT) * size;
        let record = records..records + size;
        match self {
            Self::Damage(damage) => damage.apply(seed, &mut image, rng),
            Self::RepairedRecord => {
                image[records + rng.usize(..RECORD_LEN)] ^= 1 << rng.u8(..8);
                testing::repair_checksum(&mut image[record]);
            }
            Self::SwappedPages => {
                let [one, other] = [(); 2].map(|()| rng.usize(..image.len() / size) * size);
                let page = image[one..one + size].to_vec();
                image.copy_within(other..other + size, one);
                image[other..other + size].copy_from_slice(&page);
            }
            Self::ForeignPage => {
                let count = image.len().min(encrypted.twin.len()) / size;
                let start = rng.usize(RECORD_COUNT..count.max(RECORD_COUNT + 1)) * size;
                replace(&mut image, &encrypted.twin, start..start + size);
            }
            Self::ForeignRecord => replace(&mut image, &encrypted.twin, record),
            Self::MovedRecord => {
                let other = rng.usize(..RECORD_COUNT) * size;
                image.copy_within(other..other + size, records);
            }
            Self::OldRecord => replace(&mut image, earlier, record),
            Self::OldRecords => replace(&mut image, earlier, 0..RECORD_COUNT * size),
            Self::OldHalf => {
                let half = image.len() / size / 2 * size;
                let len = image.len();
                let range = if rng.bool() { 0..half } else { half..len };
                replace(&mut image, earlier, range);
            }
            Self::OldFile => image.clone_from(earlier),
        }
        image
    }
}

/// Replaces a range by that of another file, as far as both have it.
fn replace(image: &mut [u8], other: &[u8], range: std::ops::Range<usize>) {
    let end = range.end.min(image.len()).min(other.len());
    let start = range.start.min(end);
    image[start..end].copy_from_slice(&other[start..end]);
}

impl fmt::Display for EncryptedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damage(damage) => write!(f, "{damage:?}"),
            other => write!(f, "{other:?}"),
        }
    }
}
