//! Loads the free-space map: the arrays, then the log on top. Nothing read is trusted.
//!
//! The bitmaps contain the pages that were free, and the segments those that were pending, when the
//! last checkpoint wrote them. The log is then replayed in order. An allocated extent must have
//! been free or pending (reclaiming leaves no other trace). A death must be of pages that were
//! neither. Entries past the end of the file are ignored: those pages were free when the file was
//! truncated there. A segment was dissolved by the writer of the log if the log has allocated pages
//! of it, or if it mentions pages past the end. Such segments are dissolved here, too. No entry may
//! be of a transaction after the commit, because differences of ids are computed, and the next
//! commits continue from the last one of the log.
//!
//! Work and memory are bounded by the number of pages of the file: no page of the map is read
//! twice.

use crate::alloc::{
    array_entry::absent_bitmap,
    bits::Bits,
    checked_pages::{CheckedPages, FIRST_PAGE, SpacePages},
    log,
    map::Space,
    page_array::{ArrayRoot, PageArray, SpaceRoots},
    pending::subtract,
    pins::Pins,
};
use crate::{
    Error, Result,
    page::{
        array::{self, Pointer},
        bitmap,
        deaths::{self, Death},
        header::PageKind,
    },
    types::{Extent, PageNumber, TransactionId},
};
use std::collections::BTreeMap;

/// The state of a load in progress.
struct SpaceMapLoader<'a> {
    space: Space,
    pages: CheckedPages<'a>,
    pending: Bits,
    /// Deaths of the log that are still pending, by first page.
    log_deaths: BTreeMap<u32, Death>,
    /// Extents that the log has allocated.
    taken: Vec<Extent>,
    /// Bitmaps in which pages past the end of the file are not free: they were in use when the
    /// bitmap was written, and the file has been truncated since.
    outdated: Vec<u32>,
}

/// Loads a free-space map; see [`Space::load`].
pub(super) fn load(
    pages: &dyn SpacePages,
    roots: &SpaceRoots,
    log: &[u8],
    page_count: u64,
    newest: TransactionId,
) -> Result<Space> {
    if page_count < u64::from(FIRST_PAGE) || page_count > 1 << 32 {
        return Err(damaged(
            0,
            format!("the file cannot have {page_count} pages"),
        ));
    }
    let mut space = Space::new(pages.page_size(), FIRST_PAGE);
    space.grow(page_count);
    let blank = || Bits::clear_words(page_count.div_ceil(64) as usize);
    let pages = CheckedPages {
        pages,
        page_count,
        newest,
        read: blank(),
    };
    let mut loader = SpaceMapLoader {
        space,
        pages,
        pending: blank(),
        log_deaths: BTreeMap::new(),
        taken: Vec::new(),
        outdated: Vec::new(),
    };
    loader.read_bitmaps(&roots.bitmaps)?;
    let segments = loader.read_segments(&roots.deaths)?;
    loader.space.free.changed().clear();
    let outdated = std::mem::take(&mut loader.outdated);
    outdated
        .into_iter()
        .for_each(|bitmap| loader.space.free.changed().insert(bitmap));
    loader.replay(log)?;
    loader.add_pending(segments);
    loader.check_own_pages()?;
    loader.assert_consistent();
    Ok(loader.space)
}

impl SpaceMapLoader<'_> {
    fn read_bitmaps(&mut self, root: &ArrayRoot) -> Result<()> {
        let per_bitmap = self.space.pages_per_bitmap;
        if u64::from(root.count) > (1u64 << 32).div_ceil(u64::from(per_bitmap)) {
            return Err(damaged(
                root.page.0,
                "there are more bitmaps than pages could need",
            ));
        }
        let fanout = array::fanout(self.space.page_size);
        self.space.bitmaps = PageArray::read(fanout, root, &mut self.pages)?;
        self.pages.announce(self.space.bitmaps.elements().iter());
        for (index, element) in self.space.bitmaps.elements_mut().iter_mut().enumerate() {
            let Pointer {
                page: number,
                info,
                checksum,
            } = element.pointer;
            if element.pointer == absent_bitmap(per_bitmap).pointer {
                continue;
            }
            let (page, header) = self.pages.read(number, checksum, PageKind::Bitmap)?;
            if bitmap::words(page)
                .map(|word| word.count_ones())
                .sum::<u32>()
                != info
            {
                return Err(damaged(
                    number.0,
                    "its number of free pages differs from the one in its parent",
                ));
            }
            element.birth = header.birth;
            let free = &mut self.space.free;
            free.replace_words(index as u32, bitmap::words(page));
            // For pages past the end it may state otherwise.
            let is_inside = (index as u64 + 1) * u64::from(per_bitmap) <= free.page_count();
            if !is_inside
                && !free
                    .bitmap_words(index as u32, &[])
                    .into_iter()
                    .eq(bitmap::words(page))
            {
                self.outdated.push(index as u32);
            }
        }
        if self.space.free.none_free(Extent::new(0, FIRST_PAGE)) {
            Ok(())
        } else {
            Err(damaged(0, "a commit record is said to be free"))
        }
    }

    fn read_segments(&mut self, root: &ArrayRoot) -> Result<Vec<Vec<Death>>> {
        if u64::from(root.count) > self.pages.page_count {
            return Err(damaged(root.page.0, "there are more segments than pages"));
        }
        let fanout = array::fanout(self.space.page_size);
        self.space.segments = PageArray::read(fanout, root, &mut self.pages)?;
        self.pages.announce(self.space.segments.elements().iter());
        let mut segments = Vec::new();
        for element in self.space.segments.elements_mut() {
            let Pointer {
                page: number,
                info,
                checksum,
            } = element.pointer;
            let (page, header) = self.pages.read(number, checksum, PageKind::Deaths)?;
            let deaths = deaths::read(page).map_err(|detail| damaged(number.0, detail))?;
            if deaths.len() != info as usize {
                return Err(damaged(
                    number.0,
                    "its number of deaths differs from the one in its parent",
                ));
            }
            element.birth = header.birth;
            segments.push(deaths);
        }
        for death in segments.iter().flatten() {
            self.add_death(death)?;
        }
        Ok(segments)
    }

    fn replay(&mut self, bytes: &[u8]) -> Result<()> {
        let (groups, last) = log::decode(bytes).map_err(|detail| damaged(0, detail))?;
        if last > self.pages.newest {
            return Err(damaged(0, "the space log is of transactions to come"));
        }
        // Extents that were allocated past the present end of the file and have not died.
        let mut beyond: Vec<Extent> = Vec::new();
        for group in groups {
            for extent in group.taken {
                self.take(extent)?;
                beyond.extend(self.beyond(extent));
            }
            for death in group.deaths {
                self.add_death(&death)?;
                if self.beyond(death.extent).is_some() {
                    beyond = beyond
                        .iter()
                        .flat_map(|extent| subtract(*extent, &[death.extent]))
                        .collect();
                }
                if let Some(extent) = self.clip(death.extent) {
                    self.log_deaths
                        .insert(extent.start.0, Death { extent, ..death });
                }
            }
        }
        if let Some(extent) = beyond.first() {
            return Err(damaged(
                extent.start.0,
                "it is said to be taken, and lies beyond the end of the file",
            ));
        }
        self.space.log = bytes.to_vec();
        self.space.log_transaction = last;
        Ok(())
    }

    /// The part of an extent inside the file.
    fn clip(&self, extent: Extent) -> Option<Extent> {
        let end = extent.end().min(self.pages.page_count);
        let len = end.saturating_sub(u64::from(extent.start.0)) as u32;
        (len > 0).then_some(Extent { len, ..extent })
    }

    /// The part of an extent past the end of the file.
    fn beyond(&self, extent: Extent) -> Option<Extent> {
        let end = self.pages.page_count;
        let start = u64::from(extent.start.0).max(end);
        let len = extent.end().saturating_sub(start) as u32;
        (len > 0).then(|| Extent::new(start as u32, len))
    }

    fn add_death(&mut self, death: &Death) -> Result<()> {
        if death.extent.start.0 < FIRST_PAGE {
            return Err(damaged(
                death.extent.start.0,
                "a commit record is said to be dead",
            ));
        }
        if death.died > self.pages.newest {
            return Err(damaged(
                death.extent.start.0,
                "it is said to die in a transaction to come",
            ));
        }
        let Some(extent) = self.clip(death.extent) else {
            return Ok(());
        };
        if !self.space.free.none_free(extent) || !self.pending.none(extent) {
            return Err(damaged(
                extent.start.0,
                "it is said to be dead, and was so already",
            ));
        }
        self.pending.set(extent);
        Ok(())
    }

    fn take(&mut self, extent: Extent) -> Result<()> {
        let Some(extent) = self.clip(extent) else {
            return Ok(());
        };
        let free = self.space.free.count_free(extent);
        let unused = free + self.pending.count(extent);
        if unused != u64::from(extent.len) {
            return Err(damaged(
                extent.start.0,
                "it is said to be taken, and was in use already",
            ));
        }
        if free == unused {
            self.space.free.take(extent);
        } else {
            self.take_mixed(extent);
        }
        self.pending.clear(extent);
        self.cut_log_deaths(extent);
        self.taken.push(extent);
        Ok(())
    }

    /// Allocates pages of which some are free and some pending.
    fn take_mixed(&mut self, extent: Extent) {
        for page in extent.pages() {
            if self.space.free.is_free(page) {
                self.space.free.take(Extent {
                    start: page,
                    len: 1,
                });
            }
        }
    }

    /// Removes an extent from the deaths that the log has added so far.
    fn cut_log_deaths(&mut self, extent: Extent) {
        let before = self.log_deaths.range(..extent.start.0).next_back();
        let from = match before {
            Some((start, death)) if death.extent.end() > u64::from(extent.start.0) => *start,
            _ => extent.start.0,
        };
        let last = (extent.end() - 1) as u32;
        let touched: Vec<Death> = self
            .log_deaths
            .range(from..=last)
            .map(|(_, death)| *death)
            .collect();
        for death in touched {
            self.log_deaths.remove(&death.extent.start.0);
            for left in subtract(death.extent, &[extent]) {
                self.log_deaths.insert(
                    left.start.0,
                    Death {
                        extent: left,
                        ..death
                    },
                );
            }
        }
    }

    /// Passes on everything that is pending after the log.
    fn add_pending(&mut self, segments: Vec<Vec<Death>>) {
        self.taken = joined(std::mem::take(&mut self.taken));
        for segment in segments {
            let mut left = Vec::new();
            for death in &segment {
                let extents = self
                    .clip(death.extent)
                    .map(|extent| subtract(extent, &self.taken));
                left.extend(
                    extents
                        .into_iter()
                        .flatten()
                        .map(|extent| Death { extent, ..*death }),
                );
            }
            if left == segment {
                self.space.pending.add_segment(segment);
            } else {
                self.space.pending.add_dissolved_segment(left);
            }
        }
        let deaths = std::mem::take(&mut self.log_deaths);
        self.space.pending.add(deaths.into_values());
    }

    /// Asserts what follows from the checks of all that was read.
    fn assert_consistent(&self) {
        debug_assert!(
            self.space.free.is_consistent(),
            "the count of free pages is that of the set bits, all before the end of the file"
        );
        let pending = self.pending.words().iter();
        debug_assert_eq!(
            self.space.pending.page_count(),
            pending
                .clone()
                .map(|word| u64::from(word.count_ones()))
                .sum::<u64>(),
            "the count of pending pages is the sum of all deaths"
        );
        let mut both = pending.zip(self.space.free.ready().words());
        debug_assert!(
            both.all(|(pending, free)| pending & free == 0),
            "no page is free and pending at once"
        );
    }

    fn check_own_pages(&self) -> Result<()> {
        for extent in self.pages.read.extents() {
            if !self.space.free.none_free(extent) || !self.pending.none(extent) {
                let detail = "the space map uses it, and says that it is free or dead";
                return Err(damaged(extent.start.0, detail));
            }
        }
        Ok(())
    }
}

/// Sorts extents, and joins those that overlap or touch.
pub(crate) fn joined(mut extents: Vec<Extent>) -> Vec<Extent> {
    extents.sort_unstable();
    let mut joined: Vec<Extent> = Vec::new();
    for extent in extents {
        match joined.last_mut() {
            Some(last) if last.end() >= u64::from(extent.start.0) => {
                let end = last.end().max(extent.end());
                last.len = (end - u64::from(last.start.0)) as u32;
            }
            _ => joined.push(extent),
        }
    }
    joined
}

fn damaged(page: u32, detail: impl Into<String>) -> Error {
    Error::corrupted(PageNumber(page), "reading the free-space map", detail)
}

impl Space {
    /// Loads the free-space map of a commit: its roots, and the log on top. Pages that no pin sees
    /// (the newest pin is that commit) become free at once, except that the number of segments
    /// dissolved at a time is limited.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if any part of it is damaged or invalid.
    pub(crate) fn load(
        pages: &dyn SpacePages,
        roots: &SpaceRoots,
        log: &[u8],
        page_count: u64,
        pins: &Pins,
    ) -> Result<Self> {
        let newest = pins.newest().unwrap_or_default();
        Self::load_of((pages, newest), roots, log, page_count, pins)
    }

    /// Like [`Self::load`], for the state of this transaction. Pins come from shared memory and
    /// from lists of names, and may be of transactions to come.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if any part of it is damaged or invalid.
    pub(crate) fn load_of(
        (pages, newest): (&dyn SpacePages, TransactionId),
        roots: &SpaceRoots,
        log: &[u8],
        page_count: u64,
        pins: &Pins,
    ) -> Result<Self> {
        let mut space = load(pages, roots, log, page_count, newest)?;
        space.reclaim(pins);
        Ok(space)
    }
}
