//! The states of frames, and the order in which their memory is given back. Only numbers: the
//! memory itself is in the parent module.
//!
//! ```text
//!               loaded, stored              cooled             discarded
//!   absent ───────────────────────► hot ────────────► cooling ───────────► absent
//!                                    ▲                   │
//!                                    └───────────────────┘ loaded again: a second chance
//! ```
//!
//! A hot or cooling page becomes *stale* if its bytes may no longer be those of the file. Its frame
//! still takes memory. It is decoded again before it is used, and cools like any other page.
//!
//! Invariants:
//!
//! 1. Each page that takes memory and does not cool is in the queue, and no page is there twice.
//! 2. Pages cool only while there is a batch, and all of them are in it.
//! 3. Pages that were noted together cool together: a caller may keep one bit for all of them.
//!    Each but the first has `JOINED`.
//! 4. A load that an overlapping change has crossed leaves its pages stale.

use std::{collections::VecDeque, ops::Range};

/// The frame takes memory.
const RESIDENT: u8 = 1;
/// It is in the batch, and was not loaded since.
const COOLING: u8 = 2;
/// Its bytes may differ from those of the file.
const STALE: u8 = 4;
/// The page is in the queue.
const QUEUED: u8 = 8;
/// The page cools together with the previous one.
const JOINED: u8 = 16;

/// Number of pages whose flags are allocated together.
const CHUNK: usize = 4096;

/// The content of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameContent {
    /// Zeros.
    Absent,
    /// Bytes that have to be compared before they are used.
    Stale,
    /// The bytes of the page.
    Valid,
}

/// A load whose pages are being decoded.
#[derive(Debug)]
struct RunningLoad {
    id: u64,
    pages: Range<u32>,
    is_crossed: bool,
}

/// The states of all frames.
#[derive(Debug, Default)]
pub(super) struct FrameTable {
    /// The flags of each page. Chunks are allocated when a page in them is first loaded.
    chunks: Vec<Option<Box<[u8; CHUNK]>>>,
    /// In the order in which they were loaded.
    queue: VecDeque<Range<u32>>,
    /// Pages that were cooled together. Those that were loaded since are hot.
    batch: Option<Vec<Range<u32>>>,
    resident_count: u64,
    cooling_count: u64,
    loads: Vec<RunningLoad>,
    last_load_id: u64,
}

impl FrameTable {
    /// Number of pages whose frames take memory.
    pub(super) fn resident_count(&self) -> u64 {
        self.resident_count
    }

    fn flags(&self, page: u32) -> u8 {
        let chunk = self.chunks.get(page as usize / CHUNK);
        chunk
            .and_then(Option::as_ref)
            .map_or(0, |chunk| chunk[page as usize % CHUNK])
    }

    fn flags_mut(&mut self, page: u32) -> &mut u8 {
        let index = page as usize / CHUNK;
        if index >= self.chunks.len() {
            self.chunks.resize_with(index + 1, || None);
        }
        let chunk = self.chunks[index].get_or_insert_with(|| Box::new([0; CHUNK]));
        &mut chunk[page as usize % CHUNK]
    }

    /// Clears flags. Does nothing for a page that was never loaded.
    fn clear(&mut self, page: u32, flags: u8) {
        if self.flags(page) & flags != 0 {
            *self.flags_mut(page) &= !flags;
        }
    }

    pub(super) fn content(&self, page: u32) -> FrameContent {
        match self.flags(page) {
            flags if flags & RESIDENT == 0 => FrameContent::Absent,
            flags if flags & STALE != 0 => FrameContent::Stale,
            _ => FrameContent::Valid,
        }
    }

    pub(super) fn is_hot(&self, page: u32) -> bool {
        self.flags(page) & (RESIDENT | COOLING | STALE) == RESIDENT
    }

    /// Makes pages hot whose frames all have their bytes. If some have not, returns `false` and
    /// changes nothing.
    pub(super) fn revive(&mut self, pages: &Range<u32>) -> bool {
        let mut all = pages.clone();
        let are_valid = all.all(|page| self.content(page) == FrameContent::Valid);
        if are_valid {
            self.fill(pages, true);
        }
        are_valid
    }

    /// Whether all pages are hot. From now on they cool together.
    pub(super) fn join_if_hot(&mut self, pages: &Range<u32>) -> bool {
        if pages.is_empty() || !pages.clone().all(|page| self.is_hot(page)) {
            return false;
        }
        for page in pages.clone().skip(1) {
            *self.flags_mut(page) |= JOINED;
        }
        true
    }

    /// Notes that pages are being decoded, until [`Self::end_load`] is called with the result.
    pub(super) fn begin_load(&mut self, pages: Range<u32>) -> u64 {
        self.last_load_id += 1;
        self.loads.push(RunningLoad {
            id: self.last_load_id,
            pages,
            is_crossed: false,
        });
        self.last_load_id
    }

    /// Whether no overlapping change has crossed the load.
    pub(super) fn end_load(&mut self, id: u64) -> bool {
        let index = self.loads.iter().position(|load| load.id == id);
        let load = self.loads.swap_remove(index.expect("a load ends once"));
        !load.is_crossed
    }

    /// Bytes that are being decoded from these pages may not be their content.
    pub(super) fn cross_loads(&mut self, pages: &Range<u32>) {
        for load in &mut self.loads {
            load.is_crossed |= load.pages.start < pages.end && pages.start < load.pages.end;
        }
    }

    /// The frames of these pages take memory, and none cools. Those that had no valid bytes have
    /// them now if `are_current`, and are stale otherwise.
    pub(super) fn fill(&mut self, pages: &Range<u32>, are_current: bool) {
        let mut unqueued: Option<Range<u32>> = None;
        for page in pages.clone() {
            let is_valid = are_current || self.content(page) == FrameContent::Valid;
            let flags = self.flags_mut(page);
            let before = *flags;
            *flags = before & !(COOLING | STALE) | RESIDENT | QUEUED;
            if !is_valid {
                *flags |= STALE;
            }
            self.resident_count += u64::from(before & RESIDENT == 0);
            self.cooling_count -= u64::from(before & COOLING != 0);
            if before & QUEUED != 0 {
                self.queue.extend(unqueued.take());
            } else {
                let first = unqueued.map_or(page, |unqueued| unqueued.start);
                unqueued = Some(first..page + 1);
            }
        }
        self.queue.extend(unqueued);
    }

    /// The contents of pages change. They no longer belong to the pages around them.
    pub(super) fn mark_stale(&mut self, pages: &Range<u32>) {
        self.cross_loads(pages);
        for page in pages.clone() {
            if self.flags(page) & RESIDENT != 0 {
                *self.flags_mut(page) |= STALE;
            }
            self.disjoin(page);
        }
    }

    /// All pages may have changed.
    pub(super) fn mark_all_stale(&mut self) {
        for load in &mut self.loads {
            load.is_crossed = true;
        }
        for flags in self
            .chunks
            .iter_mut()
            .flatten()
            .flat_map(|all| all.iter_mut())
        {
            // Without a branch: `RESIDENT` is the lowest bit.
            *flags |= (*flags & RESIDENT) * STALE;
        }
    }

    fn disjoin(&mut self, page: u32) {
        self.clear(page, JOINED);
        self.clear(page + 1, JOINED);
    }

    /// The pages that cool together with this one.
    fn joined_with(&self, page: u32) -> Range<u32> {
        let (mut start, mut end) = (page, page + 1);
        while self.flags(start) & JOINED != 0 {
            start -= 1;
        }
        while self.flags(end) & JOINED != 0 {
            end += 1;
        }
        start..end
    }

    /// If more than `resident_max` pages take memory and there is no batch, makes a batch of the
    /// pages that were loaded first. Calls `clear` for pages that cool together. Returns whether
    /// there is a new batch.
    pub(super) fn cool(&mut self, resident_max: u64, mut clear: impl FnMut(u32, u32)) -> bool {
        if self.batch.is_some() || self.resident_count <= resident_max {
            return false;
        }
        assert_eq!(
            self.cooling_count, 0,
            "pages cool only while there is a batch"
        );
        let mut batch: Vec<Range<u32>> = Vec::new();
        while self.resident_count - self.cooling_count > resident_max * 7 / 8 {
            let together = self.next_to_cool();
            clear(together.start, together.end - together.start);
            match batch.last_mut() {
                Some(last) if last.end == together.start => last.end = together.end,
                _ => batch.push(together),
            }
        }
        self.batch = Some(batch);
        true
    }

    /// Takes pages from the queue up to one that does not cool yet. It cools now, with the pages
    /// that it was noted together with, which are returned.
    fn next_to_cool(&mut self) -> Range<u32> {
        loop {
            let first = self.queue.front_mut();
            let first = first.expect("each page that does not cool is in the queue");
            let Some(page) = first.next() else {
                self.queue.pop_front();
                continue;
            };
            self.clear(page, QUEUED);
            if self.flags(page) & (RESIDENT | COOLING) == RESIDENT {
                let together = self.joined_with(page);
                for page in together.clone() {
                    self.begin_cooling(page);
                }
                return together;
            }
        }
    }

    fn begin_cooling(&mut self, page: u32) {
        if self.flags(page) & (RESIDENT | COOLING) == RESIDENT {
            *self.flags_mut(page) |= COOLING;
            self.cooling_count += 1;
        }
    }

    /// Whether there is a batch.
    pub(super) fn has_batch(&self) -> bool {
        self.batch.is_some()
    }

    /// Makes pages absent that still cool, about `extents_max` extents of them. The batch ends when
    /// there are no more.
    pub(super) fn take_cooled(&mut self, extents_max: usize) -> Vec<Range<u32>> {
        let mut taken: Vec<Range<u32>> = Vec::new();
        while taken.len() < extents_max
            && let Some(pages) = self.batch.as_mut().and_then(Vec::pop)
        {
            for page in pages {
                if self.flags(page) & COOLING == 0 {
                    continue;
                }
                self.clear(page, RESIDENT | COOLING | STALE);
                self.disjoin(page);
                self.resident_count -= 1;
                self.cooling_count -= 1;
                match taken.last_mut() {
                    Some(last) if last.end == page => last.end += 1,
                    _ => taken.push(page..page + 1),
                }
            }
        }
        if self.batch.as_ref().is_some_and(Vec::is_empty) {
            assert_eq!(
                self.cooling_count, 0,
                "all pages that cool are in the batch"
            );
            self.batch = None;
        }
        taken
    }

    /// Compares the counters, the queue and the batch with the flags of all pages.
    #[cfg(test)]
    pub(super) fn assert_consistent(&self) {
        let mut queued: Vec<_> = self.queue.iter().cloned().flatten().collect();
        queued.sort_unstable();
        let mut queued = queued.into_iter().peekable();
        let (mut resident, mut cooling) = (0, 0);
        for page in 0..(self.chunks.len() * CHUNK) as u32 {
            let flags = self.flags(page);
            let is_queued = queued.next_if_eq(&page).is_some();
            assert_eq!(flags & QUEUED != 0, is_queued, "page {page}: invariant 1");
            if flags & RESIDENT == 0 {
                assert_eq!(flags & !QUEUED, 0, "page {page} is absent");
                continue;
            }
            resident += 1;
            if flags & COOLING == 0 {
                assert!(is_queued, "page {page}: invariant 1");
                continue;
            }
            cooling += 1;
            let batch = self.batch.as_ref().expect("pages cool in a batch");
            assert!(
                batch.iter().any(|pages| pages.contains(&page)),
                "invariant 2"
            );
        }
        assert_eq!(queued.next(), None, "each page is in the queue once");
        assert_eq!(
            (self.resident_count, self.cooling_count),
            (resident, cooling)
        );
    }
}
