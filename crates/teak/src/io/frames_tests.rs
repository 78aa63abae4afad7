use super::*;
use crate::io::{Content, mapping::Mapping};
use std::{
    sync::{
        Barrier,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{Acquire, Release, SeqCst},
            fence,
        },
    },
    thread,
};

const PAGE: usize = 4096;

fn frames(pages: u32, limit_pages: u64) -> Frames {
    let bytes = u64::from(pages) * PAGE as u64;
    Frames::reserve(bytes, bytes, PAGE, limit_pages * PAGE as u64).unwrap()
}

/// The byte that fills a page of some version of the file.
fn pattern(page: u32, version: u32) -> u8 {
    (page.wrapping_mul(31) ^ version.wrapping_mul(101)) as u8 | 1
}

fn fill(bytes: &mut [u8], first: u32, version: u32) {
    for (page, bytes) in (first..).zip(bytes.chunks_exact_mut(PAGE)) {
        bytes.fill(pattern(page, version));
    }
}

impl Frames {
    /// Loads pages of a version. Returns whether they were decoded.
    fn load_version(&self, first: u32, count: u32, version: u32) -> bool {
        let mut is_decoded = false;
        // SAFETY: the tests load the same bytes while slices exist.
        let loaded = unsafe {
            self.load(first, count, |bytes| {
                is_decoded = true;
                fill(bytes, first, version);
                Ok(())
            })
        };
        loaded.unwrap();
        is_decoded
    }

    fn store_version(&self, first: u32, count: u32, version: u32) {
        let mut bytes = vec![0; count as usize * PAGE];
        fill(&mut bytes, first, version);
        let parts: Vec<_> = bytes.chunks_exact(PAGE).collect();
        // SAFETY: the tests do not borrow pages while they are stored.
        unsafe { self.store(first, &parts) };
    }

    fn forget_pages(&self, first: u32, count: u32) {
        // SAFETY: the tests do not borrow pages that change.
        unsafe { self.forget(first, count) };
    }

    fn distrust(&self) {
        // SAFETY: the tests do not borrow pages that have changed.
        unsafe { self.distrust_all(|| {}) };
    }

    fn discard_all(&self) {
        // SAFETY: the tests have no borrowers from before.
        unsafe { self.discard_cooled() };
    }

    /// The frame of a page, which the test does not change meanwhile.
    fn bytes(&self, page: u32) -> &[u8] {
        let (address, len) = self.memory(&(page..page + 1));
        // SAFETY: the frame is inside of the range, and nobody writes to it.
        unsafe { slice::from_raw_parts(address, len) }
    }

    fn shows(&self, page: u32, version: u32) -> bool {
        let byte = pattern(page, version);
        self.bytes(page).iter().all(|there| *there == byte)
    }

    fn content(&self, page: u32) -> FrameContent {
        lock(&self.table).content(page)
    }

    fn is_noted(&self, first: u32, count: u32) -> bool {
        let mut is_noted = false;
        self.note_if_hot(first, count, || is_noted = true);
        is_noted
    }

    fn cooled(&self) -> Vec<(u32, u32)> {
        let mut cooled = Vec::new();
        self.cool(|first, count| cooled.push((first, count)));
        lock(&self.table).assert_consistent();
        cooled
    }
}

#[test]
fn a_resident_page_is_not_decoded_again() {
    let frames = frames(8, 8);
    assert!(!frames.is_noted(3, 1));
    assert!(frames.load_version(3, 2, 1));
    assert!(frames.shows(3, 1) && frames.shows(4, 1));
    assert!(!frames.load_version(4, 1, 2) && frames.shows(4, 1));
    assert!(frames.load_version(4, 2, 1), "one of them is absent");
    assert!(frames.is_noted(3, 3));
    let expected = FrameCounters {
        resident_bytes: 3 * PAGE as u64,
        loaded: 4,
        hits: 1,
        discarded: 0,
    };
    assert_eq!(frames.counters(), expected);
}

#[test]
fn after_an_error_the_page_is_still_absent() {
    let frames = frames(8, 8);
    // SAFETY: there are no slices.
    let failed = unsafe {
        frames.load(2, 1, |bytes| {
            bytes.fill(7);
            Err(io::ErrorKind::InvalidData.into())
        })
    };
    assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::InvalidData);
    assert_eq!(frames.content(2), FrameContent::Absent);
    assert!(frames.load_version(2, 1, 1) && frames.shows(2, 1));
}

#[test]
fn pages_outside_have_no_frames() {
    let frames = frames(16, 8);
    let count = (frames.len() / PAGE as u64) as u32;
    for (first, pages) in [(count, 1), (count - 1, 2), (u32::MAX, 1), (1, u32::MAX)] {
        // SAFETY: there are no slices.
        let loaded = unsafe { frames.load(first, pages, |_| unreachable!("nothing is decoded")) };
        assert_eq!(loaded.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        frames.forget_pages(first, pages);
        assert!(!frames.is_noted(first, pages));
    }
    assert!(frames.load_version(count - 1, 1, 1));
}

#[test]
fn the_pages_that_were_loaded_first_are_discarded() {
    let frames = frames(64, 16);
    (0..16).for_each(|page| _ = frames.load_version(page, 1, 1));
    assert!(!frames.is_over_limit() && frames.cooled().is_empty());
    frames.load_version(16, 1, 1);
    assert!(frames.is_over_limit());
    assert_eq!(frames.cooled(), [(0, 1), (1, 1), (2, 1)]);
    assert!(frames.cooled().is_empty(), "there is a batch");
    assert!(!frames.is_noted(1, 1));
    assert!(frames.shows(1, 1), "borrowers may still have it");
    frames.discard_all();
    assert!(frames.bytes(1).iter().all(|byte| *byte == 0));
    assert!(!frames.is_over_limit());
    assert_eq!(frames.counters().resident_bytes, 14 * PAGE as u64);
    assert_eq!(frames.counters().discarded, 3);
    assert!(frames.load_version(1, 1, 2) && frames.shows(1, 2));
}

#[test]
fn a_page_that_is_loaded_while_it_cools_gets_a_second_chance() {
    let frames = frames(64, 8);
    (0..10).for_each(|page| _ = frames.load_version(page, 1, 1));
    assert_eq!(frames.cooled(), [(0, 1), (1, 1), (2, 1)]);
    assert!(!frames.load_version(1, 1, 2));
    assert!(frames.is_noted(1, 1));
    frames.discard_all();
    assert!(frames.shows(1, 1));
    assert_eq!(frames.content(0), FrameContent::Absent);
    frames.load_version(10, 1, 1);
    let expected: Vec<_> = (3..5).map(|page| (page, 1)).collect();
    assert_eq!(frames.cooled(), expected, "it is at the end");
}

#[test]
fn forgotten_pages_are_decoded_again() {
    let frames = frames(8, 8);
    frames.load_version(0, 4, 1);
    frames.forget_pages(1, 2);
    assert!(!frames.is_noted(1, 1) && frames.is_noted(3, 1));
    assert!(frames.load_version(1, 1, 2) && frames.shows(1, 2));
    assert!(frames.load_version(2, 1, 1) && frames.shows(2, 1));
}

#[test]
fn stored_pages_are_hot_and_their_rest_is_zeros() {
    let frames = frames(8, 8);
    frames.load_version(1, 1, 1);
    frames.forget_pages(1, 1);
    // SAFETY: nobody borrows these pages.
    unsafe { frames.store(0, &[&[5; PAGE], &[6; 10], &[]]) };
    assert!(frames.is_noted(0, 3));
    assert!(frames.bytes(0).iter().all(|byte| *byte == 5));
    assert!(frames.bytes(1)[..10] == [6; 10] && frames.bytes(1)[10..] == [0; PAGE - 10]);
    assert!(frames.bytes(2) == [0; PAGE]);
    assert!(!frames.load_version(0, 3, 9));
}

#[test]
fn distrusted_pages_are_compared() {
    let frames = frames(8, 8);
    frames.load_version(0, 3, 1);
    let mut is_called = false;
    // SAFETY: nobody borrows these pages.
    unsafe { frames.distrust_all(|| is_called = true) };
    assert!(is_called && !frames.is_noted(0, 1));
    assert!(frames.load_version(0, 1, 1) && frames.shows(0, 1));
    assert!(frames.load_version(1, 1, 2) && frames.shows(1, 2));
    assert!(frames.is_noted(0, 2) && !frames.is_noted(2, 1));
    assert_eq!(frames.counters().resident_bytes, 3 * PAGE as u64);
}

#[cfg(unix)]
#[test]
fn equal_bytes_are_not_written_again() {
    use rustix::mm::{MprotectFlags, mprotect};
    let frames = frames(64, 8);
    let len = frames.granule as usize * PAGE;
    frames.load_version(0, frames.granule, 1);
    // SAFETY: whole system pages of the frames.
    unsafe { mprotect(frames.base().as_ptr().cast(), len, MprotectFlags::READ).unwrap() };
    frames.distrust();
    assert!(
        frames.load_version(0, frames.granule, 1),
        "a write would be a signal"
    );
    assert!(frames.is_noted(0, frames.granule));
}

#[test]
fn stale_pages_cool() {
    let frames = frames(64, 8);
    (0..10).for_each(|page| _ = frames.load_version(page, 1, 1));
    frames.distrust();
    assert_eq!(frames.cooled().len(), 3);
    assert!(
        frames.load_version(0, 1, 1),
        "it is decoded, and cools no more"
    );
    frames.discard_all();
    assert!(frames.shows(0, 1) && frames.is_noted(0, 1));
    assert_eq!(frames.content(1), FrameContent::Absent);
}

#[test]
fn pages_that_were_noted_together_cool_together() {
    let frames = frames(64, 16);
    frames.load_version(15, 1, 1);
    frames.load_version(30, 4, 1);
    frames.forget_pages(15, 1);
    frames.store_version(10, 10, 2);
    assert!(frames.is_noted(10, 10));
    (40..43).for_each(|page| _ = frames.load_version(page, 1, 1));
    assert_eq!(frames.cooled(), [(10, 10)], "page 15 was loaded first");
    assert!(!frames.load_version(12, 1, 2));
    frames.discard_all();
    assert!(frames.shows(12, 2));
    assert_eq!(frames.content(11), FrameContent::Absent);
    assert_eq!(frames.content(13), FrameContent::Absent);
}

#[test]
fn a_changed_page_no_longer_belongs_to_its_value() {
    let frames = frames(64, 8);
    frames.load_version(10, 6, 1);
    assert!(frames.is_noted(10, 6));
    frames.forget_pages(13, 1);
    frames.store_version(13, 1, 2);
    assert!(frames.is_noted(13, 1));
    (0..3).for_each(|page| _ = frames.load_version(page, 1, 1));
    assert_eq!(frames.cooled(), [(10, 3)]);
    assert!(frames.is_noted(13, 1) && frames.is_noted(14, 2));
}

#[test]
fn a_load_that_a_change_crosses_is_compared_later() {
    let frames = frames(8, 8);
    // SAFETY: there are no slices.
    let loaded = unsafe {
        frames.load(1, 2, |bytes| {
            fill(bytes, 1, 1);
            frames.forget_pages(2, 1);
            Ok(())
        })
    };
    loaded.unwrap();
    assert!(frames.shows(1, 1) && frames.shows(2, 1));
    assert!(!frames.is_noted(2, 1));
    assert!(frames.load_version(2, 1, 2) && frames.shows(2, 2));
}

#[test]
fn a_load_does_not_replace_pages_that_were_stored_meanwhile() {
    let frames = frames(8, 8);
    // SAFETY: there are no slices.
    let loaded = unsafe {
        frames.load(1, 2, |bytes| {
            fill(bytes, 1, 1);
            frames.store_version(2, 1, 2);
            Ok(())
        })
    };
    loaded.unwrap();
    assert!(frames.shows(1, 1) && frames.shows(2, 2) && frames.is_noted(2, 1));
    assert_eq!(frames.counters().resident_bytes, 2 * PAGE as u64);
}

#[test]
fn addresses_far_beyond_memory_can_be_reserved() {
    let max = 1 << 40;
    let frames = Frames::reserve(1 << 20, max, PAGE, 1 << 20).unwrap();
    assert_eq!(frames.len(), max);
    let last = (max / PAGE as u64 - 1) as u32;
    assert!(frames.load_version(last, 1, 1) && frames.shows(last, 1));
    assert_eq!(frames.counters().resident_bytes, PAGE as u64);
    let impossible = Frames::reserve(1 << 62, 1 << 62, PAGE, 1 << 20);
    assert!(impossible.is_err());
    let halved = Frames::reserve(1 << 20, 1 << 62, PAGE, 1 << 20).unwrap();
    assert!(halved.len() >= 1 << 30);
}

#[test]
fn a_mapping_shows_the_frames() {
    let frames = frames(8, 8);
    let mapping = Mapping::new(Arc::clone(frames.address_range()), 4 * PAGE as u64);
    frames.load_version(1, 1, 1);
    assert_eq!(
        mapping.bytes_at_rest(PAGE as u64, PAGE).unwrap(),
        frames.bytes(1)
    );
    assert!(mapping.bytes_at_rest(4 * PAGE as u64, 1).is_none());
    mapping.set_file_len(8 * PAGE as u64);
    frames.load_version(7, 1, 1);
    assert!(mapping.bytes_at_rest(7 * PAGE as u64, PAGE).is_some());
    mapping.prefault(0, PAGE, Content::Raw).unwrap();
    mapping.announce(0, PAGE as u64);
    mapping.announce_all([(0, 1)].into_iter());
    mapping.lock(0, PAGE).unwrap();
    mapping.unlock_all().unwrap();
    mapping.release();
    assert!(frames.shows(1, 1), "none of this changes a frame");
    drop(frames);
    let byte = pattern(1, 1);
    assert_eq!(mapping.bytes_at_rest(PAGE as u64, 1).unwrap(), [byte]);
}

#[test]
fn pages_of_the_system_are_given_back_only_as_a_whole() {
    let mut frames = frames(64, 8);
    frames.granule = frames.granule.max(4);
    // Page 0 stays, pages 1 to 9 cool, page 10 stays, and 11 is absent.
    frames.load_version(1, 9, 1);
    frames.load_version(0, 1, 1);
    frames.load_version(10, 1, 1);
    assert!(frames.is_noted(1, 9));
    assert_eq!(frames.cooled(), [(1, 9)]);
    frames.discard_all();
    assert!((1..10).all(|page| frames.bytes(page) == [0; PAGE]));
    assert!(frames.shows(0, 1) && frames.shows(10, 1));
    // SAFETY: nobody borrows these pages.
    unsafe { frames.store(2, &[&[], &[1]]) };
    assert!(frames.bytes(2) == [0; PAGE], "an absent page has zeros");
}

/// A tree page or a value of the model.
#[derive(Clone, Copy, Debug)]
struct Object {
    first: u32,
    count: u32,
    version: u32,
    /// The caller's bit, one for all pages.
    is_noted: bool,
}

struct Model {
    frames: Frames,
    objects: Vec<Object>,
    version: u32,
    rng: fastrand::Rng,
}

impl Model {
    const PAGES: u32 = 96;

    fn any(&mut self) -> usize {
        self.rng.usize(..self.objects.len())
    }

    fn read(&mut self) {
        let index = self.any();
        let object = &mut self.objects[index];
        let (first, count) = (object.first, object.count);
        if !object.is_noted {
            self.frames.load_version(first, count, object.version);
            if self.rng.bool() {
                let frames = &self.frames;
                frames.note_if_hot(first, count, || object.is_noted = true);
                assert!(object.is_noted, "it was just loaded");
            }
        }
        let object = *object;
        let mut pages = first..first + count;
        assert!(pages.all(|page| self.frames.shows(page, object.version)));
    }

    /// Objects of new versions in the places of some that are no longer used.
    fn rewrite(&mut self, is_known: bool) {
        let first = self.rng.u32(..Self::PAGES - 8);
        let end = first + self.rng.u32(1..8);
        let (old, kept) = (self.objects.iter().copied())
            .partition::<Vec<_>, _>(|old| old.first < end && first < old.first + old.count);
        self.objects = kept;
        if is_known {
            for old in &old {
                self.frames.forget_pages(old.first, old.count);
            }
        }
        let (mut page, end) = match (old.first(), old.last()) {
            (Some(low), Some(high)) => (low.first, high.first + high.count),
            _ => unreachable!("all pages belong to an object"),
        };
        while page < end {
            let count = self.rng.u32(1..=(end - page));
            self.version += 1;
            if is_known && self.rng.bool() {
                self.frames.store_version(page, count, self.version);
            }
            self.objects.push(Object {
                first: page,
                count,
                version: self.version,
                is_noted: false,
            });
            page += count;
        }
        self.objects.sort_by_key(|object| object.first);
    }

    fn distrust(&mut self) {
        self.rewrite(false);
        self.rewrite(false);
        let objects = &mut self.objects;
        // SAFETY: there are no borrowers.
        unsafe {
            self.frames.distrust_all(|| {
                objects
                    .iter_mut()
                    .for_each(|object| object.is_noted = false);
            });
        }
    }

    fn cool(&mut self) {
        let objects = &mut self.objects;
        self.frames.cool(|first, count| {
            for object in objects.iter_mut() {
                // As with one bit for the first page.
                object.is_noted &= !(first..first + count).contains(&object.first);
            }
        });
    }

    fn check(&self) {
        let table = lock(&self.frames.table);
        table.assert_consistent();
        let resident = table.resident_count() * PAGE as u64;
        assert_eq!(self.frames.counters().resident_bytes, resident);
        for object in self.objects.iter().filter(|object| object.is_noted) {
            let mut pages = object.first..object.first + object.count;
            assert!(pages.all(|page| table.is_hot(page)), "{object:?}");
        }
        for page in 0..Self::PAGES {
            let is_absent = table.content(page) == FrameContent::Absent;
            assert!(!is_absent || self.frames.bytes(page)[0] == 0);
        }
    }
}

#[test]
fn random_operations_agree_with_a_model() {
    let seeds = if cfg!(miri) { 0..1 } else { 0..24 };
    for seed in seeds {
        println!("seed {seed}");
        let rng = fastrand::Rng::with_seed(seed);
        let mut frames = frames(Model::PAGES, 24);
        frames.granule = frames.granule.max(1 << (seed % 3));
        let object = |first| Object {
            first,
            count: 1,
            version: 0,
            is_noted: false,
        };
        let mut model = Model {
            frames,
            objects: (0..Model::PAGES).map(object).collect(),
            version: 0,
            rng,
        };
        for _ in 0..400 {
            match model.rng.u32(..16) {
                0..10 => model.read(),
                10 | 11 => model.rewrite(true),
                12 if model.rng.u32(..4) == 0 => model.distrust(),
                13 | 14 => model.cool(),
                _ => model.frames.discard_all(),
            }
            model.check();
        }
        assert!(model.frames.counters().discarded > 0);
    }
}

/// The part of the caller: bits, and the announcements of borrowers.
struct Shared {
    frames: Frames,
    bits: Vec<AtomicBool>,
    /// Odd while the thread borrows.
    announced: Vec<AtomicUsize>,
}

impl Shared {
    const PAGES: u32 = 40;
    const READERS: usize = 3;

    fn clear(&self, first: u32, count: u32) {
        for bit in &self.bits[first as usize..(first + count) as usize] {
            bit.store(false, Release);
        }
    }

    fn borrow(&self, page: u32) -> &[u8] {
        let bit = &self.bits[page as usize];
        if !bit.load(Acquire) {
            self.frames.load_version(page, 1, 1);
            self.frames
                .note_if_hot(page, 1, || bit.store(true, Release));
        }
        self.frames.bytes(page)
    }

    fn read(&self, reader: usize, rounds: usize) {
        let mut rng = fastrand::Rng::with_seed(reader as u64);
        for _ in 0..rounds {
            self.announced[reader].fetch_add(1, SeqCst);
            fence(SeqCst);
            let pages: Vec<_> = (0..6).map(|_| rng.u32(..Self::PAGES)).collect();
            let slices: Vec<_> = pages.iter().map(|page| self.borrow(*page)).collect();
            for (page, bytes) in pages.iter().zip(slices) {
                let byte = pattern(*page, 1);
                assert!(bytes.iter().all(|there| *there == byte), "page {page}");
            }
            self.announced[reader].fetch_add(1, SeqCst);
        }
    }

    fn cool(&self) {
        if !self.frames.cool(|first, count| self.clear(first, count)) {
            return;
        }
        fence(SeqCst);
        for announced in &self.announced {
            let before = announced.load(SeqCst);
            while before % 2 == 1 && announced.load(SeqCst) == before {
                thread::yield_now();
            }
        }
        self.frames.discard_all();
    }

    /// Changes pages that nobody reads, and now and then distrusts all, which did not change.
    fn write(&self, round: u32) {
        let page = Self::PAGES + round % 4;
        self.frames.forget_pages(page, 1);
        self.frames.store_version(page, 1, round);
        if round.is_multiple_of(64) {
            // SAFETY: no page that is borrowed has changed.
            unsafe { self.frames.distrust_all(|| self.clear(0, Self::PAGES)) };
        }
    }
}

#[test]
fn borrowed_bytes_do_not_change_while_threads_cool_and_discard() {
    let rounds = if cfg!(miri) { 20 } else { 3000 };
    let shared = Shared {
        frames: frames(Shared::PAGES + 4, 24),
        bits: (0..Shared::PAGES + 4)
            .map(|_| AtomicBool::new(false))
            .collect(),
        announced: (0..Shared::READERS).map(|_| AtomicUsize::new(0)).collect(),
    };
    let running = AtomicUsize::new(Shared::READERS);
    let start = Barrier::new(Shared::READERS + 2);
    let (shared, running, start) = (&shared, &running, &start);
    thread::scope(|scope| {
        for reader in 0..Shared::READERS {
            scope.spawn(move || {
                start.wait();
                shared.read(reader, rounds);
                running.fetch_sub(1, SeqCst);
            });
        }
        scope.spawn(|| {
            start.wait();
            while running.load(SeqCst) > 0 {
                shared.cool();
                thread::yield_now();
            }
        });
        start.wait();
        (0..rounds as u32).for_each(|round| shared.write(round));
    });
    lock(&shared.frames.table).assert_consistent();
    assert!(cfg!(miri) || shared.frames.counters().discarded > 0);
}
