//! Borrowers of decoded pages, while pages cool and their memory is given back.

use crate::{
    frame_table::{FrameContent, FrameTable},
    words::{fence, without_fences},
};
use loom::{
    cell::UnsafeCell,
    model::Builder,
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release, SeqCst},
        },
    },
    thread,
};

const PAGE: u32 = 3;
/// The decoded bytes. An absent frame has 0.
const BYTES: u64 = 7;

/// One page, and the part of a caller of frames.
struct World {
    table: Mutex<FrameTable>,
    frame: UnsafeCell<u64>,
    /// The page may be borrowed without the lock.
    bit: AtomicBool,
    /// Odd while the borrower borrows.
    announced: [AtomicU64; 2],
}

// SAFETY: the test shows that the frame is not written while it is read. `loom` observes each
// access, and fails if two collide.
unsafe impl Send for World {}
// SAFETY: the test shows that no thread writes to the frame while another one reads it. `loom`
// observes each access, and fails if two collide.
unsafe impl Sync for World {}

impl World {
    /// The page is hot, and its bit is set.
    fn new() -> Arc<Self> {
        let world = Self {
            table: Mutex::default(),
            frame: UnsafeCell::new(0),
            bit: AtomicBool::new(false),
            announced: Default::default(),
        };
        world.load();
        Arc::new(world)
    }

    fn load(&self) {
        let pages = PAGE..PAGE + 1;
        let mut table = self.table.lock().expect("no panic");
        if !table.revive(&pages) {
            let load = table.begin_load(pages.clone());
            drop(table);
            table = self.table.lock().expect("no panic");
            let is_current = table.end_load(load);
            if table.content(PAGE) == FrameContent::Absent {
                self.frame.with_mut(|frame| {
                    // SAFETY: no other thread reads, or `loom` fails.
                    unsafe { *frame = BYTES };
                });
            }
            table.fill(&pages, is_current);
        }
        if table.join_if_hot(&pages) {
            self.bit.store(true, Release);
        }
    }

    fn borrow(&self, borrower: usize) {
        let announced = &self.announced[borrower];
        let before = announced.load(Relaxed);
        announced.store(before + 1, Relaxed);
        fence(SeqCst);
        if !self.bit.load(Acquire) {
            self.load();
        }
        let found = self.frame.with(|frame| {
            // SAFETY: no other thread writes, or `loom` fails.
            unsafe { *frame }
        });
        assert_eq!(found, BYTES, "the frame has the bytes of the page");
        announced.store(before + 2, Release);
    }

    /// Cools the page. Gives its memory back if it finds no borrower that it had to wait for.
    fn cool(&self) {
        let mut table = self.table.lock().expect("no panic");
        if !table.cool(0, |_, _| self.bit.store(false, Relaxed)) {
            return;
        }
        drop(table);
        fence(SeqCst);
        if (self.announced.iter()).any(|announced| announced.load(Acquire) % 2 == 1) {
            return;
        }
        let mut table = self.table.lock().expect("no panic");
        for pages in table.take_cooled(usize::MAX) {
            assert_eq!(pages, PAGE..PAGE + 1);
            self.frame.with_mut(|frame| {
                // SAFETY: no other thread reads, or `loom` fails.
                unsafe { *frame = 0 };
            });
        }
    }
}

/// Borrowers that borrow `borrows` times, while the page cools twice.
fn explore(borrowers: usize, borrows: usize, preemptions: Option<usize>) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(move || {
        let world = World::new();
        let threads: Vec<_> = (0..borrowers)
            .map(|borrower| {
                let world = Arc::clone(&world);
                thread::spawn(move || (0..borrows).for_each(|_| world.borrow(borrower)))
            })
            .collect();
        world.cool();
        world.cool();
        for thread in threads {
            thread.join().expect("a borrower does not panic");
        }
    });
}

#[test]
fn one_borrower_while_the_page_cools() {
    explore(1, 1, None);
}

#[test]
fn a_borrower_that_borrows_twice() {
    explore(1, 2, Some(4));
}

#[test]
fn two_borrowers_while_the_page_cools() {
    explore(2, 1, Some(3));
}

#[test]
#[should_panic]
fn fences_are_needed_for_frames() {
    without_fences(|| explore(1, 1, None));
}
