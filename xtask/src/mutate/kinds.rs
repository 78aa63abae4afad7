//! The kinds of damage.

use super::seeds::Seed;
use clap::ValueEnum;
use fastrand::Rng;
use std::fmt;
use teak::testing::{self, Forgery};

const SECTOR_LEN: usize = 512;
/// Pages that have records.
const RECORD_COUNT: usize = 4;

/// Damage as caused by disks and copies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(super) enum Damage {
    BitFlip,
    HeaderFlip,
    RandomBytes,
    ZeroedSector,
    ZeroedPage,
    MisdirectedPage,
    StalePage,
    Truncation,
    Extension,
    Garbage,
    RecordAndGarbage,
}

/// A kind of damage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum MutationKind {
    Plain(Damage),
    /// With corrected checksums.
    Repaired(Damage),
    Forged(Forgery),
}

const FORGERIES: [Forgery; 9] = [
    Forgery::Cycle,
    Forgery::SharedChild,
    Forgery::WrongDepth,
    Forgery::KeyDisorder,
    Forgery::OverlappingValues,
    Forgery::HugeCount,
    Forgery::LiveCalledFree,
    Forgery::RecordAsPage,
    Forgery::PageAfterEnd,
];

impl MutationKind {
    pub(super) fn all() -> Vec<Self> {
        let damages = Damage::value_variants().iter().copied();
        let plain = damages.clone().map(Self::Plain);
        let repaired = damages.map(Self::Repaired);
        let forged = FORGERIES.map(Self::Forged).into_iter();
        plain.chain(repaired).chain(forged).collect()
    }

    /// Whether the checksums match the damage, so that no read can detect it.
    pub(super) fn is_forged(self) -> bool {
        !matches!(self, Self::Plain(_))
    }

    /// Damages the seed; `None` if it has nothing of the kind to damage.
    pub(super) fn mutate(self, seed: &Seed, rng: &mut Rng) -> Option<Vec<u8>> {
        let mut image = seed.image.clone();
        match self {
            Self::Plain(damage) => damage.apply(seed, &mut image, rng),
            Self::Repaired(damage) => {
                damage.apply(seed, &mut image, rng);
                testing::repair(&mut image);
            }
            Self::Forged(forgery) => {
                let mut choose = |count: usize| rng.usize(0..count.max(1));
                if !testing::forge(&mut image, forgery, &mut choose) {
                    return None;
                }
                testing::repair(&mut image);
            }
        }
        Some(image)
    }
}

impl fmt::Display for MutationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(damage) => write!(f, "{damage:?}"),
            Self::Repaired(damage) => write!(f, "{damage:?}, repaired"),
            Self::Forged(forgery) => write!(f, "{forgery:?}, forged"),
        }
    }
}

impl Damage {
    pub(super) fn apply(self, seed: &Seed, image: &mut Vec<u8>, rng: &mut Rng) {
        let size = seed.page_size;
        let page = used_page(image, size, rng);
        let start = page * size;
        match self {
            Self::BitFlip => image[start + rng.usize(0..size)] ^= 1 << rng.u8(0..8),
            Self::HeaderFlip => {
                let (start, len) = match rng.u8(0..3) {
                    0 => (rng.usize(0..RECORD_COUNT) * size, 440),
                    _ => (start, 24),
                };
                image[start + rng.usize(0..len)] ^= 1 << rng.u8(0..8);
            }
            Self::RandomBytes => {
                let at = start + rng.usize(0..size - 8);
                rng.fill(&mut image[at..at + 8]);
            }
            Self::ZeroedSector => {
                let at = start + rng.usize(0..size / SECTOR_LEN) * SECTOR_LEN;
                image[at..at + SECTOR_LEN].fill(0);
            }
            Self::ZeroedPage => image[start..start + size].fill(0),
            Self::MisdirectedPage => {
                let other = used_page(image, size, rng) * size;
                image.copy_within(other..other + size, start);
            }
            Self::StalePage => {
                let differing = differing_pages(image, &seed.earlier, size);
                if !differing.is_empty() {
                    let start = differing[rng.usize(0..differing.len())] * size;
                    image[start..start + size].copy_from_slice(&seed.earlier[start..start + size]);
                }
            }
            Self::Truncation => {
                let unit = [1, SECTOR_LEN, size][rng.usize(0..3)];
                image.truncate(rng.usize(0..image.len() / unit) * unit);
            }
            Self::Extension => extend(image, size, rng),
            Self::Garbage => {
                let len = [0, 1, 7, 600, size, 5 * size, image.len()][rng.usize(0..7)];
                *image = vec![0; len];
                rng.fill(image);
            }
            Self::RecordAndGarbage => {
                // One record or all records stay unchanged.
                let keep = match rng.bool() {
                    true => RECORD_COUNT * size,
                    false => size,
                };
                rng.fill(&mut image[keep..]);
            }
        }
    }
}

fn extend(image: &mut Vec<u8>, page_size: usize, rng: &mut Rng) {
    let mut more = vec![0; [1, 100, page_size, 3 * page_size + 5][rng.usize(0..4)]];
    match rng.u8(0..3) {
        0 => rng.fill(&mut more),
        // As if pages had been written to the wrong offset.
        1 => {
            let page = used_page(image, page_size, rng) * page_size;
            let len = more.len().min(page_size);
            more[..len].copy_from_slice(&image[page..page + len]);
        }
        _ => {}
    }
    image.extend(more);
}

/// A page that is not all zero.
fn used_page(image: &[u8], page_size: usize, rng: &mut Rng) -> usize {
    let count = image.len() / page_size;
    let first = rng.usize(0..count);
    let pages = (first..count).chain(0..first);
    let is_used = |page: &usize| {
        let bytes = &image[page * page_size..][..page_size];
        bytes.iter().any(|byte| *byte != 0)
    };
    pages.clone().find(is_used).unwrap_or(first)
}

fn differing_pages(image: &[u8], earlier: &[u8], page_size: usize) -> Vec<usize> {
    let pages = image
        .chunks_exact(page_size)
        .zip(earlier.chunks_exact(page_size));
    let differing = pages.enumerate().filter(|(_, (a, b))| a != b);
    differing.map(|(page, _)| page).collect()
}
