//! Damage done on purpose, one page at a time, and which pages there are to be damaged.

use crate::{Database, PageNumber, PageUse, Result};

/// A way in which a page can be damaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutation {
    /// One bit is another.
    FlipBit,
    /// Up to 64 bytes in a row are others.
    RandomBytes,
    /// A sector of 512 bytes is zero.
    ZeroSector,
    /// The page is zero.
    ZeroPage,
    /// The bytes of another page of the file stand there.
    OtherPage,
    /// Bytes that stood there before stand there again, as if a write had been lost.
    StaleVersion,
}

impl Mutation {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::FlipBit,
        Self::RandomBytes,
        Self::ZeroSector,
        Self::ZeroPage,
        Self::OtherPage,
        Self::StaleVersion,
    ];
}

/// The pages that something is lost with: those of trees, of large values and of the space map.
///
/// # Errors
///
/// [`crate::Error::Corrupted`] if the free-space map cannot be read.
pub fn live_pages(database: &Database) -> Result<Vec<(PageNumber, PageUse)>> {
    let kinds = database.page_kinds()?;
    let pages = (0..).map(PageNumber).zip(kinds);
    let is_live = |page_use: PageUse| {
        use PageUse::{Inner, Leaf, SpaceMap, Value};
        matches!(page_use, Inner | Leaf | Value | SpaceMap)
    };
    Ok(pages.filter(|(_, page_use)| is_live(*page_use)).collect())
}

/// Damages a page of an image. `before` are images of the same file at earlier times, the latest
/// last; `choice` chooses a number below the one that it is given. Says whether the page has
/// changed.
pub fn mutate(
    image: &mut [u8],
    page_size: usize,
    page: PageNumber,
    mutation: Mutation,
    before: &[Vec<u8>],
    choice: &mut dyn FnMut(usize) -> usize,
) -> bool {
    let start = page.index() * page_size;
    let Some(old) = image.get(start..start + page_size).map(<[u8]>::to_vec) else {
        return false;
    };
    let mut new = old.clone();
    match mutation {
        Mutation::FlipBit => new[choice(page_size)] ^= 1 << choice(8),
        Mutation::RandomBytes => {
            let (at, len) = (choice(page_size), 1 + choice(64));
            new.iter_mut()
                .skip(at)
                .take(len)
                .for_each(|byte| *byte = choice(256) as u8);
        }
        Mutation::ZeroSector => {
            let at = choice(page_size / 512) * 512;
            new[at..at + 512].fill(0);
        }
        Mutation::ZeroPage => new.fill(0),
        Mutation::OtherPage => {
            let other = choice(image.len() / page_size) * page_size;
            new.copy_from_slice(&image[other..other + page_size]);
        }
        Mutation::StaleVersion => {
            let versions = before.iter().rev();
            let mut versions = versions.filter_map(|image| image.get(start..start + page_size));
            if let Some(stale) = versions.find(|version| **version != old[..]) {
                new.copy_from_slice(stale);
            }
        }
    }
    image[start..start + page_size].copy_from_slice(&new);
    new != old
}

#[cfg(test)]
#[path = "damage_tests.rs"]
mod tests;
