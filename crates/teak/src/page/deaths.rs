//! A deaths page: one *segment* of the list of pages that died and that a snapshot may still see.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 24 | header: kind 5, level 0, count of entries |
//! | 24 | 24 x count | entries, ascending by birth |
//! | 24 + 24 x count | the rest | zero |
//!
//! An entry:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | first page of the extent |
//! | 4 | 4 | length of the extent in pages, at least 1 |
//! | 8 | 8 | birth: the transaction that wrote the extent |
//! | 16 | 8 | died: the transaction that no longer used it, greater than birth |

use super::header::{HEADER_LEN, Header, PageKind};
use crate::types::{Extent, PageNumber, TransactionId};

const ENTRY_LEN: usize = 24;

/// An extent that was born in `birth`, and that `died` no longer uses. Snapshots from `birth` on
/// and before `died` see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Death {
    pub(crate) extent: Extent,
    pub(crate) birth: TransactionId,
    pub(crate) died: TransactionId,
}

/// How many entries fit into one page.
pub(crate) fn capacity(page_size: usize) -> usize {
    (page_size - HEADER_LEN) / ENTRY_LEN
}

/// Builds a deaths page that holds `deaths`, which are sorted by birth and at most as many as fit.
pub(crate) fn build(
    page_size: usize,
    number: PageNumber,
    birth: TransactionId,
    deaths: &[Death],
) -> Vec<u8> {
    assert!(
        deaths.len() <= capacity(page_size),
        "a segment has no more deaths than fit into a page"
    );
    debug_assert!(
        deaths.is_sorted_by_key(|death| death.birth),
        "the deaths of a segment are sorted by birth"
    );
    debug_assert!(
        deaths.iter().all(|death| check(death).is_ok()),
        "what is written passes the checks of what is read"
    );
    let mut page = vec![0; page_size];
    let mut header = Header::new(number, PageKind::Deaths, birth);
    header.count = deaths.len() as u16;
    header.write(&mut page);
    for (entry, death) in page[HEADER_LEN..].chunks_exact_mut(ENTRY_LEN).zip(deaths) {
        entry[0..4].copy_from_slice(&death.extent.start.0.to_le_bytes());
        entry[4..8].copy_from_slice(&death.extent.len.to_le_bytes());
        entry[8..16].copy_from_slice(&death.birth.0.to_le_bytes());
        entry[16..24].copy_from_slice(&death.died.0.to_le_bytes());
    }
    page
}

/// Reads the entries of a deaths page; an error describes the damage.
pub(crate) fn read(page: &[u8]) -> Result<Vec<Death>, &'static str> {
    let count = usize::from(Header::read(page).count);
    if count > capacity(page.len()) {
        return Err("it counts more deaths than it has room for");
    }
    let (entries, _) = page[HEADER_LEN..].as_chunks::<ENTRY_LEN>();
    let deaths: Vec<Death> = entries[..count].iter().map(entry).collect();
    if !deaths.is_sorted_by_key(|death| death.birth) {
        return Err("its deaths are not sorted by birth");
    }
    for death in &deaths {
        check(death)?;
    }
    Ok(deaths)
}

fn entry(bytes: &[u8; ENTRY_LEN]) -> Death {
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    Death {
        extent: Extent::new(word(0), word(4)),
        birth: TransactionId(long(8)),
        died: TransactionId(long(16)),
    }
}

fn check(death: &Death) -> Result<(), &'static str> {
    if death.extent.len == 0 || death.extent.end() > 1 << 32 {
        return Err("one of its extents has no length or ends beyond the last page number");
    }
    if death.birth >= death.died {
        return Err("one of its extents died before it was born");
    }
    Ok(())
}
