//! Files with many more pages than anybody has written: the space map says that they are in use,
//! free or dead, and what it says so of are holes of the file.

use crate::{
    Error, Result, TransactionId,
    alloc::{Death, ForgedSpaceMap, SpaceCommit},
    io::FileAt,
    record::{
        Record, SLOT_COUNT,
        probe::{PROBE_LEN, find_page_size},
    },
    types::Extent,
};
use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions},
    io::Read,
    path::Path,
};

/// A page is looked for so many times.
const TRIES_EACH: usize = 1000;

/// The required layout of a file.
#[derive(Clone, Debug)]
pub struct VastFile {
    /// Pages of the file.
    pub page_count: u64,
    /// Of a hundred pages, so many are in use; which ones is left to chance.
    pub used_percent: u32,
    /// Single pages that are dead, and that a state before the newest may see.
    pub pending_pages: u64,
    /// Lengths, in pages, of longer free extents, far from each other.
    pub free_extents: Vec<u32>,
}

/// The resulting layout of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VastCounts {
    /// Free pages.
    pub free_pages: u64,
    /// Dead pages that are not free yet.
    pub pending_pages: u64,
    /// Pages of the space map.
    pub map_pages: u64,
}

/// Makes a vast file of a database that was closed. Its contents stay; the pages after them have
/// no contents, and nothing refers to them. `random` gives numbers of 64 random bits.
///
/// # Errors
///
/// [`Error::InvalidArgument`] if the file is no database that was closed, has had no two commits,
/// or if what it is to look like has no room in it; [`Error::Io`].
pub fn make_vast(
    path: &Path,
    vast: &VastFile,
    random: &mut dyn FnMut() -> u64,
) -> Result<VastCounts> {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    let mut file = opened.map_err(Error::io("opening the file"))?;
    let newest = closed_record(&mut file)?;
    let first = newest.page_count;
    if first * 2 > vast.page_count || vast.page_count > 1 << 32 || vast.used_percent > 100 {
        return Err(refused("it cannot have so many pages, or so many in use"));
    }
    let mut map = Map::new(first, vast.page_count);
    map.scatter(vast.used_percent, random);
    map.clear_extents(&vast.free_extents)?;
    let dead = map.pick(vast.pending_pages as usize, &[], random)?;
    let deaths = deaths(&dead, newest.transaction);
    let forged = ForgedSpaceMap {
        page_size: newest.page_size as usize,
        page_count: vast.page_count,
        transaction: newest.transaction,
        free: &map.words,
        deaths: &deaths,
        log_room: Record::log_room(newest.page_size as usize, 0),
    };
    let mut no_room = None;
    let committed = forged.write(|count| {
        // An extent without room is written nowhere.
        map.pick(count, &dead, random).unwrap_or_else(|error| {
            no_room = Some(error);
            vec![Extent::new(first as u32, count as u32)]
        })
    });
    match no_room {
        Some(error) => Err(error),
        None => write(&file, &newest, &committed, vast.page_count)
            .map_err(Error::io("writing the space map")),
    }?;
    Ok(VastCounts {
        free_pages: map.words.iter().map(|w| u64::from(w.count_ones())).sum(),
        pending_pages: dead.len() as u64,
        map_pages: committed.checkpoint_pages.len() as u64,
    })
}

/// The record of a clean close that counts.
fn closed_record(file: &mut File) -> Result<Record> {
    let mut head = Vec::new();
    file.take(PROBE_LEN as u64)
        .read_to_end(&mut head)
        .map_err(Error::io("reading the file"))?;
    let page_size = find_page_size(&head).map_err(|fault| refused(&fault.to_string()))? as usize;
    let slots = (0..SLOT_COUNT).filter_map(|slot| {
        let bytes = head.get(usize::from(slot) * page_size..)?;
        Record::decode(bytes, slot).ok()
    });
    slots
        .max_by_key(|record| record.sequence)
        .filter(|record| record.clean_close && record.transaction > TransactionId(1))
        .ok_or_else(|| refused("it was not closed, or has had no two commits"))
}

fn refused(why: &str) -> Error {
    Error::InvalidArgument(format!("the file cannot be made vast: {why}"))
}

/// Single pages that the newest transaction no longer uses.
fn deaths(dead: &[Extent], newest: TransactionId) -> Vec<Death> {
    let death = |extent: &Extent| Death {
        extent: *extent,
        birth: TransactionId(1),
        died: newest,
    };
    dead.iter().map(death).collect()
}

/// Writes the pages of the map and, over all records, those of a clean close.
fn write(
    file: &File,
    newest: &Record,
    committed: &SpaceCommit,
    page_count: u64,
) -> std::io::Result<()> {
    let page_size = u64::from(newest.page_size);
    file.set_len(page_count * page_size)?;
    for (number, page) in &committed.checkpoint_pages {
        file.write_all_at(page, u64::from(number.0) * page_size)?;
    }
    for slot in 0..SLOT_COUNT {
        let record = Record {
            slot,
            sequence: newest.sequence + 1 + u64::from(slot),
            page_count,
            space_roots: committed.roots,
            space_log: committed.log.clone(),
            journal: None,
            acknowledged: TransactionId(0),
            log_end: crate::Checksum(0),
            written: Some(Vec::new()),
            ..newest.clone()
        };
        let bytes = record.encode(newest.page_size as usize);
        file.write_all_at(&bytes, u64::from(slot) * page_size)?;
    }
    file.sync_all()
}

/// Which pages are free.
struct Map {
    /// The first page after the contents.
    first: u64,
    page_count: u64,
    words: Vec<u64>,
}

impl Map {
    /// None is.
    fn new(first: u64, page_count: u64) -> Self {
        let words = vec![0; page_count.div_ceil(64) as usize];
        Self {
            first,
            page_count,
            words,
        }
    }

    fn is_free(&self, page: u64) -> bool {
        self.words[(page / 64) as usize] >> (page % 64) & 1 == 1
    }

    fn set(&mut self, page: u64, is_free: bool) {
        let (word, bit) = (&mut self.words[(page / 64) as usize], 1 << (page % 64));
        match is_free {
            true => *word |= bit,
            false => *word &= !bit,
        }
    }

    /// Frees each page after the contents with the same chance, but for the last page of the file.
    fn scatter(&mut self, used_percent: u32, random: &mut dyn FnMut() -> u64) {
        let threshold = u64::from(used_percent) * (1 << 16) / 100;
        let mut bits = 0;
        for page in self.first..self.page_count - 1 {
            // Sixteen bits decide, so four pages are decided at once.
            bits = match page % 4 == 0 || page == self.first {
                true => random(),
                false => bits >> 16,
            };
            self.set(page, bits & 0xffff >= threshold);
        }
    }

    /// Frees runs of these lengths and no longer, each in a part of its own of the file.
    fn clear_extents(&mut self, lens: &[u32]) -> Result<()> {
        let part = (self.page_count - self.first) / (lens.len() as u64 + 1);
        for (index, len) in lens.iter().enumerate() {
            let start = self.first + part * (index as u64 + 1);
            let end = start + u64::from(*len);
            if u64::from(*len) + 1 >= part {
                return Err(refused("a free extent is too long for it"));
            }
            (start..end).for_each(|page| self.set(page, true));
            self.set(start - 1, false);
            self.set(end, false);
        }
        Ok(())
    }

    /// So many pages after the contents, ascending, that are neither free nor among `others`,
    /// which ascend.
    fn pick(
        &self,
        count: usize,
        others: &[Extent],
        random: &mut dyn FnMut() -> u64,
    ) -> Result<Vec<Extent>> {
        let is_other = |page: u64| {
            let found = others.binary_search_by_key(&page, |extent| u64::from(extent.start.0));
            found.is_ok()
        };
        let mut picked = BTreeSet::new();
        for _ in 0..TRIES_EACH * count {
            if picked.len() == count {
                break;
            }
            let page = self.first + random() % (self.page_count - self.first);
            if !self.is_free(page) && !is_other(page) {
                picked.insert(page as u32);
            }
        }
        match picked.len() == count {
            true => Ok(picked
                .into_iter()
                .map(|page| Extent::new(page, 1))
                .collect()),
            false => Err(refused("too few of its pages are in use")),
        }
    }
}

#[cfg(test)]
#[path = "vast_tests.rs"]
mod tests;
