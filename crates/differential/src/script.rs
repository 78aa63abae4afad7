//! Random scripts.
//!
//! An episode has several tables, a small set of keys, so that they are repeated, and periods of
//! growing and shrinking.

use crate::{
    engine::Setup,
    kind::{BytesForm, KINDS, Order},
    operation::{
        CopyMode, CursorMove, Direction, Operation, PutMode, ReadView, RecordPart, TableIndex,
        TransactionEnd,
    },
    runner::{READER_COUNT, SLOT_COUNT},
};
use fastrand::Rng;
use std::collections::VecDeque;

/// The maximum length of a key, and of a value in a multi-value table, that LMDB allows.
const LEN_MAX: usize = 511;
/// The maximum number of operations in a period of growing or shrinking.
const TIDE_MAX: usize = 1500;

/// The source of operations.
pub(crate) struct Script {
    rng: Rng,
    tables: Vec<TableIndex>,
    key_count: u64,
    value_count: u64,
    key_len_max: usize,
    value_len_max: usize,
    run_len_max: usize,
    /// The last table that each cursor was opened for.
    opened: [Option<TableIndex>; SLOT_COUNT],
    /// Operations to return before random ones.
    queue: VecDeque<Operation>,
    /// The remaining operations of the period, and the percentage of changes that insert.
    tide: (usize, u32),
}

impl Script {
    /// The script of an episode, and the options of Teak's database.
    pub(crate) fn new(seed: u64, episode: u64) -> (Self, Setup) {
        let mut rng = Rng::with_seed(seed ^ episode.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut tables: Vec<TableIndex> = (0..KINDS.len()).collect();
        rng.shuffle(&mut tables);
        tables.truncate(rng.usize(1..=4));
        let setup = Setup {
            page_size: [4096, 4096, 8192, 65536][rng.usize(..4)],
            write_memory_bytes: [1 << 16, 1 << 20, 64 << 20][rng.usize(..3)],
        };
        let mut queue: VecDeque<_> = tables
            .iter()
            .map(|&table| Operation::Create { table })
            .collect();
        queue.push_back(Operation::End(TransactionEnd::Commit));
        let script = Self {
            tables,
            key_count: [1, 3, 20, 150, 1200, 20_000][rng.usize(..6)],
            value_count: [2, 8, 60, 800, 10_000][rng.usize(..5)],
            key_len_max: [4, 20, 120, LEN_MAX][rng.usize(..4)],
            value_len_max: [4, 20, 120, LEN_MAX][rng.usize(..4)],
            run_len_max: [50, 200, 200, 2000][rng.usize(..4)],
            opened: [None; SLOT_COUNT],
            queue,
            tide: (0, 50),
            rng,
        };
        (script, setup)
    }

    /// The next operation.
    pub(crate) fn next(&mut self) -> Operation {
        if let Some(operation) = self.queue.pop_front() {
            return operation;
        }
        if self.tide.0 == 0 {
            let inserts = [10, 35, 60, 80, 95][self.rng.usize(..5)];
            self.tide = (self.rng.usize(1..TIDE_MAX), inserts);
        }
        self.tide.0 -= 1;
        let table = self.tables[self.rng.usize(..self.tables.len())];
        match self.rng.u32(..1000) {
            ..420 => self.change(table),
            420..560 => self.by_cursor(table),
            560..700 => self.walk(table),
            700..850 => Operation::Get {
                view: self.view(),
                table,
                key: self.key(table),
            },
            850..855 => self.comparison(table),
            855..880 => Operation::Stat {
                view: self.view(),
                table,
            },
            880..920 => self.packed(table),
            920..930 => self.run_of_puts(table),
            930..935 => Operation::CompareAll(self.view()),
            935..938 => self.run_of_deletes(table),
            938..990 => self.of_transactions(),
            990..993 => self.odd(table),
            993..996 => match self.rng.u32(..6) {
                0 => Operation::Clear { table },
                1 | 2 => Operation::Drop { table },
                _ => Operation::Create { table },
            },
            _ => self.reopen(),
        }
    }

    fn view(&mut self) -> ReadView {
        match self.rng.usize(..READER_COUNT * 2) {
            reader if reader < READER_COUNT => ReadView::Reader(reader),
            _ => ReadView::Writer,
        }
    }

    fn key(&mut self, table: TableIndex) -> Vec<u8> {
        let index = self.rng.u64(..self.key_count);
        item(KINDS[table].keys, index, self.key_len_max)
    }

    /// A possible value for keys of a table; any bytes for a table with one value per key.
    fn value(&mut self, table: TableIndex) -> Vec<u8> {
        match KINDS[table].values {
            Some(values) => {
                let index = self.rng.u64(..self.value_count);
                item(values, index, self.value_len_max)
            }
            None => self.plain_value(),
        }
    }

    fn plain_value(&mut self) -> Vec<u8> {
        let len = match self.rng.u32(..40) {
            0 => self.rng.usize(..3 * 4096 + 100),
            1..4 => self.rng.usize(..2100),
            4..14 => self.rng.usize(..120),
            _ => self.rng.usize(..12),
        };
        let first = self.rng.u8(..);
        (0..len).map(|at| first.wrapping_add(at as u8)).collect()
    }

    fn draw_put_mode(&mut self) -> PutMode {
        match self.rng.u32(..16) {
            0 | 1 => PutMode::NewKey,
            2 | 3 => PutMode::NewPair,
            4 => PutMode::Append,
            5 | 6 => PutMode::AppendValue,
            7 | 8 => PutMode::Reserve,
            _ => PutMode::Upsert,
        }
    }

    fn change(&mut self, table: TableIndex) -> Operation {
        let key = self.key(table);
        if self.rng.u32(..100) >= self.tide.1 {
            let is_of_value = KINDS[table].is_multi() && self.rng.u32(..4) > 0;
            let value = is_of_value.then(|| self.value(table));
            return Operation::Delete { table, key, value };
        }
        if KINDS[table].is_packed() && self.rng.u32(..6) == 0 {
            let count_max = [2, 10, 300][self.rng.usize(..3)];
            let count = self.rng.usize(1..count_max);
            let values = (0..count).map(|_| self.value(table)).collect();
            return Operation::PutMany { table, key, values };
        }
        Operation::Put {
            table,
            key,
            value: self.value(table),
            mode: self.draw_put_mode(),
        }
    }

    /// Puts many records, with several consecutive ones of equal keys.
    fn run_of_puts(&mut self, table: TableIndex) -> Operation {
        let (is_one_key, key) = (self.rng.bool(), self.key(table));
        for _ in 0..self.rng.usize(..self.run_len_max) {
            let key = match is_one_key {
                true => key.clone(),
                false => self.key(table),
            };
            let (value, mode) = (self.value(table), PutMode::Upsert);
            let put = Operation::Put {
                table,
                key,
                value,
                mode,
            };
            self.queue.push_back(put);
        }
        self.walk(table)
    }

    /// Removes consecutive records from some position on, using a cursor.
    fn run_of_deletes(&mut self, table: TableIndex) -> Operation {
        let slot = self.rng.usize(..SLOT_COUNT);
        let to = CursorMove::SetRange(self.key(table));
        self.queue.push_back(Operation::Move { slot, to });
        for _ in 0..self.rng.usize(..100) {
            let is_whole_key = self.rng.u32(..8) == 0;
            let to = match self.rng.u32(..5) {
                0 => CursorMove::Prev,
                _ => CursorMove::Next,
            };
            let delete = Operation::DeleteAt { slot, is_whole_key };
            self.queue.extend([delete, Operation::Move { slot, to }]);
        }
        self.open(slot, table)
    }

    fn by_cursor(&mut self, table: TableIndex) -> Operation {
        let slot = self.rng.usize(..SLOT_COUNT);
        // Keys and values must belong to the table of the cursor.
        let of_cursor = self.opened[slot].unwrap_or(table);
        match self.rng.u32(..20) {
            0..3 => self.open(slot, table),
            3..5 => Operation::DeleteAt {
                slot,
                is_whole_key: self.rng.u32(..4) == 0,
            },
            5..7 => {
                let put = self.put_at(slot, table);
                let to = self.begin(table);
                self.queue.extend([Operation::Move { slot, to }, put]);
                self.open(slot, table)
            }
            7..9 => self.put_at(slot, of_cursor),
            9..12 => {
                let to = self.search(of_cursor);
                Operation::Move { slot, to }
            }
            _ => {
                let to = self.step();
                Operation::Move { slot, to }
            }
        }
    }

    fn open(&mut self, slot: usize, table: TableIndex) -> Operation {
        self.opened[slot] = Some(table);
        Operation::Open { slot, table }
    }

    fn put_at(&mut self, slot: usize, table: TableIndex) -> Operation {
        let mode = match self.rng.u32(..3) {
            0 => self.draw_put_mode(),
            1 => PutMode::Upsert,
            _ => PutMode::Current,
        };
        let (key, value) = (self.key(table), self.value(table));
        Operation::PutAt {
            slot,
            key,
            value,
            mode,
        }
    }

    /// A movement from no position to a record.
    fn begin(&mut self, table: TableIndex) -> CursorMove {
        match self.rng.u32(..3) {
            0 => CursorMove::First,
            1 => CursorMove::Last,
            _ => CursorMove::SetRange(self.key(table)),
        }
    }

    /// A movement that needs no key.
    fn step(&mut self) -> CursorMove {
        match self.rng.u32(..24) {
            0 => CursorMove::First,
            1 => CursorMove::Last,
            2..7 => CursorMove::Next,
            7..12 => CursorMove::Prev,
            12 => CursorMove::NextKey,
            13 => CursorMove::PrevKey,
            14..16 => CursorMove::NextValue,
            16..18 => CursorMove::PrevValue,
            18 => CursorMove::FirstValue,
            19 => CursorMove::LastValue,
            20 | 21 => CursorMove::Count,
            _ => CursorMove::Current,
        }
    }

    fn search(&mut self, table: TableIndex) -> CursorMove {
        let key = self.key(table);
        match self.rng.u32(..6) {
            0 => CursorMove::Set(key),
            1 => CursorMove::SetKey(key),
            2 | 3 => CursorMove::SetRange(key),
            4 => CursorMove::GetBoth(key, self.value(table)),
            _ => CursorMove::GetBothRange(key, self.value(table)),
        }
    }

    fn walk(&mut self, table: TableIndex) -> Operation {
        let count_max = [4, 12, 40][self.rng.usize(..3)];
        let count = self.rng.usize(1..count_max);
        let is_multi = KINDS[table].is_multi();
        let moves = (0..count).map(|_| match self.rng.u32(..4) {
            0 => self.search(table),
            _ => self.step(),
        });
        let moves: Vec<_> = moves
            .filter(|to: &CursorMove| is_multi || !to.is_of_values())
            .collect();
        let view = self.view();
        Operation::Walk { view, table, moves }
    }

    fn comparison(&mut self, table: TableIndex) -> Operation {
        let is_of_values = KINDS[table].is_multi() && self.rng.bool();
        let (of, one, other) = match is_of_values {
            true => (RecordPart::Values, self.value(table), self.value(table)),
            false => (RecordPart::Keys, self.key(table), self.key(table)),
        };
        Operation::Compare {
            view: self.view(),
            table,
            of,
            one,
            other,
        }
    }

    fn packed(&mut self, table: TableIndex) -> Operation {
        Operation::Packed {
            view: self.view(),
            table,
            key: self.key(table),
            direction: match self.rng.bool() {
                true => Direction::Forward,
                false => Direction::Back,
            },
        }
    }

    fn of_transactions(&mut self) -> Operation {
        let end = match self.rng.u32(..3) {
            0 => TransactionEnd::Abort,
            _ => TransactionEnd::Commit,
        };
        match self.rng.u32(..13) {
            12 => Operation::RenewReader(self.rng.usize(..READER_COUNT)),
            0..3 => Operation::BeginNested,
            3..7 => Operation::EndNested(end),
            7 | 8 => Operation::End(end),
            9 | 10 => Operation::OpenReader(self.rng.usize(..READER_COUNT)),
            _ => Operation::CloseReader(self.rng.usize(..READER_COUNT)),
        }
    }

    /// Sizes that LMDB refuses, and perhaps Teak.
    fn odd(&mut self, table: TableIndex) -> Operation {
        let lens = [0, LEN_MAX + 1, 2000, 5000, 70_000];
        let odd = vec![1; lens[self.rng.usize(..lens.len())]];
        let kind = &KINDS[table];
        let is_of_key = kind.keys.size.is_none() && self.rng.bool();
        let is_of_value = kind.values.is_some_and(|values| values.size.is_none());
        let (key, value) = (self.key(table), self.value(table));
        match (is_of_key, is_of_value) {
            (true, _) => Operation::PutOdd {
                table,
                key: odd,
                value,
            },
            (false, true) if !odd.is_empty() => Operation::PutOdd {
                table,
                key,
                value: odd,
            },
            _ => Operation::Get {
                view: ReadView::Writer,
                table,
                key,
            },
        }
    }

    fn reopen(&mut self) -> Operation {
        let ends = [TransactionEnd::Commit; 4].map(Operation::EndNested);
        self.queue.extend(ends);
        let readers = (0..READER_COUNT).map(Operation::CloseReader);
        self.queue.extend(readers);
        self.queue.push_back(Operation::End(TransactionEnd::Commit));
        // Tables are created or dropped only while nothing else is open.
        for table in self.tables.clone() {
            if self.rng.u32(..4) > 0 {
                self.queue.push_back(Operation::Create { table });
            }
        }
        self.queue.push_back(Operation::End(TransactionEnd::Commit));
        Operation::Reopen {
            copied: [None, None, Some(CopyMode::Whole), Some(CopyMode::Dense)][self.rng.usize(..4)],
        }
    }
}

/// The key or value with this number. Equal numbers give equal bytes.
fn item(form: BytesForm, index: u64, len_max: usize) -> Vec<u8> {
    let mut rng = Rng::with_seed(index);
    match (form.order, form.size) {
        (Order::Integer, Some(size)) => {
            let number = match rng.u32(..4) {
                0 => rng.u64(..),
                _ => index,
            };
            // In native byte order. Both engines run on the same machine.
            let bytes = match size {
                4 => (number as u32).to_ne_bytes().to_vec(),
                _ => number.to_ne_bytes().to_vec(),
            };
            debug_assert_eq!(bytes.len(), size, "integers have 4 or 8 bytes");
            bytes
        }
        (order, size) => {
            let len = size.unwrap_or_else(|| rng.usize(1..=len_max));
            // Few different letters, so that keys have long common prefixes.
            let mut bytes: Vec<u8> = match rng.bool() {
                true => vec![b'a'; len],
                false => (0..len).map(|_| b'a' + rng.u8(..3)).collect(),
            };
            let digits = index.to_be_bytes();
            for (target, digit) in bytes.iter_mut().rev().zip(digits.iter().rev()) {
                *target = *digit;
            }
            if order == Order::Reverse {
                bytes.reverse();
            }
            bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_depends_only_on_its_seed() {
        let operations = |seed, episode| -> Vec<_> {
            let (mut script, _) = Script::new(seed, episode);
            (0..500).map(|_| script.next()).collect()
        };
        assert_eq!(operations(1, 2), operations(1, 2));
        assert_ne!(operations(1, 2), operations(1, 3));
        assert_ne!(operations(1, 2), operations(2, 2));
    }

    #[test]
    fn items_have_the_size_of_their_kind_and_are_never_empty() {
        for kind in KINDS {
            for form in [Some(kind.keys), kind.values].into_iter().flatten() {
                for index in 0..300 {
                    let len = item(form, index, LEN_MAX).len();
                    assert!(
                        form.size
                            .map_or((1..=LEN_MAX).contains(&len), |size| len == size)
                    );
                }
            }
        }
    }
}
