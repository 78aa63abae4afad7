//! Redo of the journal when a database is opened after a crash.

use super::entry::{
    CHECKED_FROM, HEAD_LEN, MAGIC, PAGE_HEAD_LEN, RECORD, WORD_LEN, checksum_of, clear_after,
    pages_max, word,
};
use crate::{
    Checksum, Error, Extent, PageNumber, Result,
    alloc::{Pins, Space, SpacePages},
    commit::disk::write_pages,
    io::{Content, Mapping, Pinned, Storage, file_reads},
    planted::planted,
    record::{Record, SLOT_COUNT},
};
use std::{collections::BTreeMap, io, sync::Arc};

/// The result of reading the entries of a journal.
#[derive(Debug)]
pub(crate) struct Redo {
    /// The record of the last entry.
    pub(crate) record: Record,
    image: Vec<u8>,
    entries: Vec<Vec<u8>>,
    journal: PageNumber,
}

impl Redo {
    /// Reads the entries that follow the flushed commit among `records`, the records in the slots
    /// of the file. `None` if there are none. The source pages are not read: they may be older than
    /// the state that counts.
    pub(crate) fn read(
        mapping: &Mapping,
        file_len: u64,
        records: &[Record],
    ) -> Result<Option<Self>> {
        planted!(RedoNothing => return Ok(None));
        for base in records {
            let Some(journal) = base.journal else {
                continue;
            };
            let page_size = base.page_size as usize;
            let mut image = vec![0; page_size];
            let offset = u64::from(base.slot) * page_size as u64;
            if !file_reads::copy(mapping, offset, &mut image)? {
                continue;
            }
            clear_after(&mut image);
            let mut redo = Self {
                record: base.clone(),
                entries: Vec::new(),
                journal: journal.extent.start,
                image,
            };
            redo.add_all(mapping, file_len, journal.extent)?;
            if !redo.entries.is_empty() {
                return Ok(Some(redo));
            }
        }
        Ok(None)
    }

    fn add_all(&mut self, mapping: &Mapping, file_len: u64, extent: Extent) -> Result<()> {
        let page_size = self.image.len();
        let (mut at, mut checksum, mut page_count) = (0, checksum_of(&self.image), 0);
        while let Some(entry) = entry_at(mapping, extent, page_size, at, checksum)? {
            checksum = Checksum(word(&entry, 8).unwrap_or(0));
            at += entry.len().div_ceil(page_size) as u32;
            let mut image = self.image.clone();
            let (slot, count) =
                patch_record(&entry, &mut image).ok_or_else(|| self.inconsistent())?;
            page_count += count;
            let record = Record::decode(&image, slot).map_err(|_| self.inconsistent())?;
            let is_next = record.sequence > self.record.sequence
                && record.page_size == self.record.page_size
                && record.database_id == self.record.database_id;
            if !is_next || page_count > pages_max(extent, page_size) {
                return Err(self.inconsistent());
            }
            if record.page_count * page_size as u64 > file_len {
                // The file was truncated since, so a newer commit counts.
                return Ok(());
            }
            (self.record, self.image) = (record, image);
            self.entries.push(entry);
        }
        Ok(())
    }

    fn inconsistent(&self) -> Error {
        let detail = "an entry of the journal is invalid";
        Error::corrupted(self.journal, "recovery", detail)
    }

    /// The extents of the pages in the entries, sorted and disjoint. Some of them may have died
    /// since.
    pub(crate) fn extents(&self) -> Vec<Extent> {
        let pages = self.entries.iter().flat_map(|entry| pages_of(entry));
        let mut numbers: Vec<_> = pages
            .filter(|page| page.source != RECORD)
            .map(|page| PageNumber(page.number))
            .collect();
        file_reads::into_extents(&mut numbers)
    }

    /// Writes the pages to their final positions, except those that died meanwhile: a newer commit
    /// may have reused them.
    ///
    /// # Errors
    ///
    /// - The system's error if the file cannot be mapped, grown or written.
    /// - [`Error::Corrupted`] if a source page is missing or an entry makes no sense.
    pub(crate) fn write_pages(&self, storage: &dyn Storage) -> Result<()> {
        let page_size = self.image.len();
        let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
        let mut redone_pages = self.redone_pages(&mapping)?;
        let mut unused = self.unused(&redone_pages, &mapping)?;
        planted!(RedoDead => unused.clear());
        redone_pages.retain(|number, _| {
            let later = unused.partition_point(|extent| extent.start <= *number);
            later == 0 || u64::from(number.0) >= unused[later - 1].end()
        });
        redone_pages.retain(|number, _| u64::from(number.0) < self.record.page_count);
        for number in redone_pages.keys() {
            let secured = storage.secure(u64::from(number.0) * page_size as u64, page_size as u64);
            secured.map_err(Error::io(REDOING))?;
        }
        let pages: Vec<_> = redone_pages
            .iter()
            .map(|(number, page)| (*number, &page[..]))
            .collect();
        write_pages(storage, page_size, &pages).map_err(Error::io(REDOING))
    }

    /// The content of each page after the last entry that contains it.
    fn redone_pages(&self, mapping: &Mapping) -> Result<RedonePages> {
        let page_size = self.image.len();
        let mut redone_pages = RedonePages::new();
        for entry in &self.entries {
            // All sources refer to the state before the entry.
            let mut new = Vec::new();
            for page in pages_of(entry).skip(1) {
                let mut bytes = vec![0; page_size];
                if let Some(source) = redone_pages.get(&PageNumber(page.source)) {
                    bytes.copy_from_slice(source);
                } else if page.source != 0 {
                    let offset = u64::from(page.source) * page_size as u64;
                    if !file_reads::copy(mapping, offset, &mut bytes)? {
                        return Err(self.inconsistent());
                    }
                }
                page.patch(&mut bytes).ok_or_else(|| self.inconsistent())?;
                new.push((PageNumber(page.number), bytes));
            }
            redone_pages.extend(new);
        }
        Ok(redone_pages)
    }

    /// The pages that the state of the last entry does not use, sorted.
    fn unused(&self, redone_pages: &RedonePages, mapping: &Mapping) -> Result<Vec<Extent>> {
        let pages = JournalOverlay {
            redone_pages,
            mapping,
            page_size: self.image.len(),
        };
        let record = &self.record;
        let newest = Pins::new(Arc::default(), vec![record.transaction]);
        let space = Space::load(
            &pages,
            &record.space_roots,
            &record.space_log,
            record.page_count,
            &newest,
        )?;
        let census = space.classify();
        let mut unused = census.free;
        unused.extend(census.pending.iter().map(|death| death.extent));
        unused.sort_unstable_by_key(|extent| extent.start);
        Ok(unused)
    }

    /// Writes the record to its slot.
    ///
    /// # Errors
    ///
    /// The system's error if the write fails.
    pub(crate) fn write_record(&self, storage: &dyn Storage) -> Result<()> {
        assert_eq!(
            Record::slot_of(&self.image),
            self.record.slot,
            "the record that is written is the one that was decoded"
        );
        let page_size = self.image.len();
        let offset = u64::from(self.record.slot) * page_size as u64;
        let record =
            io::IoSlice::new(&self.image[..Record::sectors_len(&self.image).min(page_size)]);
        storage.write(offset, &[record]).map_err(Error::io(REDOING))
    }
}

/// Pages reproduced from the journal.
type RedonePages = BTreeMap<PageNumber, Vec<u8>>;

/// The file, overlaid with the pages reproduced from the journal.
struct JournalOverlay<'r> {
    redone_pages: &'r RedonePages,
    mapping: &'r Mapping,
    page_size: usize,
}

impl SpacePages for JournalOverlay<'_> {
    fn page_size(&self) -> usize {
        self.page_size
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        if let Some(page) = self.redone_pages.get(&number) {
            return Ok(page);
        }
        let offset = u64::from(number.0) * self.page_size as u64;
        let prefaulted = self
            .mapping
            .prefault(offset, self.page_size, Content::Pages);
        prefaulted.map_err(Error::io("reading the file"))?;
        // SAFETY: reason 4 of `io/pinned.rs`. The overlay lives while the space map is read, and
        // the pages of the journal are written after that.
        let page = unsafe { Pinned::assume(self.mapping) }.bytes(offset, self.page_size);
        page.ok_or_else(|| Error::corrupted(number, "recovery", "it is beyond the end of the file"))
    }
}

const REDOING: &str = "redoing the journal";

/// The entry that begins on page `at` of the journal, if it follows `before` in the chain.
fn entry_at(
    mapping: &Mapping,
    extent: Extent,
    page_size: usize,
    at: u32,
    before: Checksum,
) -> Result<Option<Vec<u8>>> {
    if at >= extent.len {
        return Ok(None);
    }
    let offset = (u64::from(extent.start.0) + u64::from(at)) * page_size as u64;
    let mut head = [0; HEAD_LEN];
    if !file_reads::copy(mapping, offset, &mut head)? {
        return Ok(None);
    }
    let len = half_word(&head, 16).unwrap_or(0) as usize;
    let room = u64::from(extent.len - at) * page_size as u64;
    let is_next = word(&head, 24) == Some(before.0) || planted!(AnyEntry);
    let is_in_range =
        (HEAD_LEN as u64..=room).contains(&(len as u64)) && mapping.contains(offset, len);
    if head[..8] != MAGIC || !is_next || !is_in_range {
        return Ok(None);
    }
    let mut entry = vec![0; len];
    if !file_reads::copy(mapping, offset, &mut entry)? {
        return Ok(None);
    }
    let is_whole = word(&entry, 8) == Some(Checksum::of(&entry[CHECKED_FROM..]).0);
    Ok(is_whole.then_some(entry))
}

/// Turns the previous record into the record of an entry. Returns its slot and the page count.
/// `None` if any part of the entry makes no sense.
pub(super) fn patch_record(entry: &[u8], image: &mut [u8]) -> Option<(u8, usize)> {
    let count = half_word(entry, 20)? as usize;
    let mut slot = None;
    let mut found = 0;
    let mut end = HEAD_LEN;
    for (index, page) in pages_of(entry).enumerate() {
        let is_record = page.number < u32::from(SLOT_COUNT);
        if (index == 0) != is_record || is_record != (page.source == RECORD) {
            return None;
        }
        if is_record {
            page.patch(image)?;
            slot = Some(page.number as u8);
        }
        found += 1;
        end += PAGE_HEAD_LEN + page.parts.len();
    }
    (found == count && end == entry.len()).then_some((slot?, count))
}

/// Whether the redo of an entry turns the record `before` into the record `after` of `slot`.
pub(super) fn is_redone_to(entry: &[u8], before: &[u8], slot: u8, after: &[u8]) -> bool {
    let len = half_word(entry, 16).unwrap_or(0) as usize;
    let Some(entry) = entry.get(..len) else {
        return false;
    };
    let mut image = before.to_vec();
    let patched = patch_record(entry, &mut image);
    patched.is_some_and(|(found, _)| found == slot) && image == after
}

/// One page of an entry.
struct EntryPage<'e> {
    number: u32,
    source: u32,
    parts: &'e [u8],
}

/// The pages of an entry, up to the first one that makes no sense.
fn pages_of(entry: &[u8]) -> impl Iterator<Item = EntryPage<'_>> {
    let mut rest = entry.get(HEAD_LEN..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (number, source, count) = (
            half_word(rest, 0)?,
            half_word(rest, 4)?,
            half_word(rest, 8)?,
        );
        let parts = rest.get(PAGE_HEAD_LEN..)?;
        let mut later = parts;
        for _ in 0..count {
            let (_, _, after) = part_of(later)?;
            later = after;
        }
        rest = later;
        let parts = &parts[..parts.len() - later.len()];
        Some(EntryPage {
            number,
            source,
            parts,
        })
    })
}

impl EntryPage<'_> {
    /// Applies the differences to a page; `None` if they do not fit.
    fn patch(&self, page: &mut [u8]) -> Option<()> {
        let mut parts = self.parts;
        while let Some((start, bytes, later)) = part_of(parts) {
            page.get_mut(start..start + bytes.len())?
                .copy_from_slice(bytes);
            parts = later;
        }
        Some(())
    }
}

/// Start and bytes of the first part, and the remaining bytes.
fn part_of(parts: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    let (head, later) = parts.split_at_checked(4)?;
    let start = usize::from(u16::from_le_bytes([head[0], head[1]])) * WORD_LEN;
    let len = usize::from(u16::from_le_bytes([head[2], head[3]])) * WORD_LEN;
    if len == 0 {
        return None;
    }
    let (bytes, later) = later.split_at_checked(len)?;
    Some((start, bytes, later))
}

fn half_word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// The file after redo of its journal; `None` if there is no entry.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn redone(image: &[u8]) -> Option<Vec<u8>> {
    let page_size = crate::record::probe::find_page_size(image).ok()? as usize;
    let records: Vec<_> = (0..SLOT_COUNT)
        .filter_map(|slot| {
            let bytes = image.get(usize::from(slot) * page_size..)?;
            Record::decode(&bytes[..bytes.len().min(page_size)], slot).ok()
        })
        .collect();
    let disk = crate::io::sim::SimDisk::from_image(image.to_vec(), 2 * image.len());
    let redo = Redo::read(&*disk.mapping().ok()?, disk.len(), &records).ok()??;
    redo.write_pages(&disk)
        .and_then(|()| redo.write_record(&disk))
        .ok()?;
    Some(disk.process_crash())
}

/// A copy of an entry with a changed record. `record` is the previous record and becomes the one
/// for the next entry. `None` if the entry makes no sense.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn changed(entry: &[u8], record: &mut [u8], change: fn(&mut [u8])) -> Option<Vec<u8>> {
    let before = record.to_vec();
    let (slot, count) = patch_record(entry, record)?;
    change(record);
    let mut changed = super::entry::JournalEntry::new(Checksum(word(entry, 24)?));
    changed.put(slot.into(), RECORD, record, Some(&before));
    let parts = pages_of(entry).next()?.parts;
    changed
        .bytes
        .extend_from_slice(&entry[HEAD_LEN + PAGE_HEAD_LEN + parts.len()..]);
    changed.count = count as u32;
    Some(changed.finish(record.len()).0)
}
