//! Readers begin and end while states become visible and unused states are replaced.

use crate::{
    readers::{ReaderSlot, ReaderTable},
    words::{Memory, without_fences},
};
use loom::{cell::UnsafeCell, model::Builder, sync::Arc, thread};

const BLOCKS: usize = 2;

/// A reader table, and two slots for states: state s is in slot s % 2.
struct World {
    table: ReaderTable,
    cells: [UnsafeCell<u64>; 2],
}

// SAFETY: the test shows that a slot is not written while it is read. `loom` observes each access,
// and fails if two collide.
unsafe impl Send for World {}
// SAFETY: the test shows that no thread writes to a slot while another one reads it. `loom`
// observes each access, and fails if two collide.
unsafe impl Sync for World {}

fn table() -> ReaderTable {
    let memory = std::sync::Arc::new(Memory::new(ReaderTable::len_bytes(BLOCKS)));
    ReaderTable::new(memory, 0, BLOCKS)
}

fn take(table: &ReaderTable, owner: u64) -> Option<std::vec::IntoIter<ReaderSlot>> {
    let taken = table.take_block(owner, |_| Ok(()));
    taken.expect("there is room").map(Vec::into_iter)
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            table: table(),
            cells: [UnsafeCell::new(0), UnsafeCell::new(u64::MAX)],
        })
    }

    fn read(&self, slot: ReaderSlot) {
        let state = self.table.pin(slot);
        let found = self.cells[state as usize % 2].with(|cell| {
            // SAFETY: no other thread writes, or `loom` fails.
            unsafe { *cell }
        });
        assert_eq!(found, state, "the slot holds the pinned state");
        self.table.unpin(slot);
    }

    /// Makes the states up to `last`. Each one replaces the second last state if that has no
    /// readers.
    fn write(&self, last: u64) {
        for state in 1..=last {
            let mut is_held = false;
            let visited = (self.table).for_each_pinned(|pinned| is_held |= pinned + 2 == state);
            visited.unwrap();
            if is_held {
                return;
            }
            self.cells[state as usize % 2].with_mut(|cell| {
                // SAFETY: no other thread reads, or `loom` fails.
                unsafe { *cell = state };
            });
            self.table.publish(state);
        }
    }
}

/// Readers that take their slots, read `reads` times, and release them, with a writer running.
fn explore(readers: u64, reads: usize, states: u64, preemptions: Option<usize>) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(move || {
        let world = World::new();
        let threads: Vec<_> = (1..=readers)
            .map(|owner| {
                let world = Arc::clone(&world);
                thread::spawn(move || {
                    let mut block =
                        take(&world.table, owner).expect("there is a block for each reader");
                    let slot = block.next().expect("a block has slots");
                    (0..reads).for_each(|_| world.read(slot));
                    world.table.give_up_blocks(owner).unwrap();
                })
            })
            .collect();
        world.write(states);
        for thread in threads {
            thread.join().expect("a reader does not panic");
        }
    });
}

#[test]
fn one_reader_during_writes() {
    explore(1, 1, 3, None);
}

#[test]
fn a_reader_that_reads_twice() {
    explore(1, 2, 3, Some(4));
}

#[test]
fn two_readers_during_writes() {
    explore(2, 1, 2, Some(3));
}

#[test]
#[should_panic]
fn fences_are_needed() {
    without_fences(|| explore(1, 1, 3, None));
}

#[test]
fn a_block_has_one_owner() {
    loom::model(|| {
        let table = table();
        let _block = take(&table, 9).expect("all are free");
        let (one, dead) = (table.clone(), table.clone());
        let cleaner = thread::spawn(move || dead.give_up_blocks(9));
        let first = thread::spawn(move || take(&one, 1).map(|mut slots| slots.next()));
        let second = take(&table, 2).map(|mut slots| slots.next());
        let first = first.join().expect("no panic");
        cleaner.join().expect("no panic").unwrap();
        assert!(first.is_none() || second.is_none() || first != second);
        assert!(first.is_some() || second.is_some());
    });
}

#[test]
fn only_the_observed_reader_is_cancelled() {
    loom::model(|| {
        let table = table();
        let slot = take(&table, 1).and_then(|mut slots| slots.next());
        let slot = slot.expect("all are free");
        let begin = |thread| {
            let number = table.note(slot, thread, thread);
            table.pin(slot);
            number
        };
        let first = begin(1);
        let other = table.clone();
        let canceller = thread::spawn(move || {
            let seen = other.readers().unwrap();
            let cancelled = seen.iter().filter(|seen| other.cancel(seen.reader));
            cancelled.map(|seen| seen.thread).collect::<Vec<_>>()
        });
        let is_first = table.is_cancelled(slot, first);
        table.unpin(slot);
        // Pins that state again, through the same slot.
        let second = begin(2);
        let is_second = table.is_cancelled(slot, second);
        let cancelled = canceller.join().expect("no panic");
        assert!(!is_first || cancelled != [2]);
        assert!(!is_second || cancelled == [2]);
        assert_eq!(table.is_cancelled(slot, second), cancelled == [2]);
    });
}
