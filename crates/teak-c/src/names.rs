//! State that the handles of one opening of a database share: its tables, and the current writer.

use crate::{expiry::RawExpiringTable, failure::Failure, options::Comparisons};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};
use teak::{MultiTable, Table, codec::Raw};

/// The bits of a table's number: a mark that no other kind of handle has, the opening, and the
/// table.
const TABLE_BITS: u32 = 24;
const KIND: u64 = 4 << 60;
/// The mark of tables whose records expire.
const EXPIRING_KIND: u64 = 5 << 60;
/// The length of the first array of tables. Each further array is twice as long.
const FIRST_LEN: usize = 16;
const ARRAYS: usize = 21;

/// The engine's handle.
#[derive(Debug)]
pub(crate) enum TableHandle {
    Plain(Table<Raw, Raw>),
    Multi(MultiTable<Raw, Raw>),
}

/// One opening of a database.
pub(crate) struct OpenDatabase {
    number: u64,
    pub(crate) comparisons: Comparisons,
    tables: [OnceLock<Box<[OnceLock<TableHandle>]>>; ARRAYS],
    numbers: Mutex<HashMap<(Vec<u8>, bool), usize>>,
    /// Tables whose records expire, by their numbers.
    expiring: Mutex<Vec<Arc<RawExpiringTable>>>,
    /// The number of write transactions whose end has not returned.
    writers: AtomicUsize,
    /// The thread that began the current write transaction; 0 if there is none.
    writing_thread: AtomicU64,
}

/// A number that no other thread has.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static OWN: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    OWN.with(|own| *own)
}

fn locate(table: usize) -> (usize, usize) {
    let shifted = table + FIRST_LEN;
    let array = (shifted.ilog2() - FIRST_LEN.ilog2()) as usize;
    (array, shifted - (FIRST_LEN << array))
}

impl OpenDatabase {
    pub(crate) fn new(comparisons: Comparisons) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            number: (KIND >> TABLE_BITS) + NEXT.fetch_add(1, Ordering::Relaxed),
            comparisons,
            tables: [const { OnceLock::new() }; ARRAYS],
            numbers: Mutex::default(),
            expiring: Mutex::default(),
            writers: AtomicUsize::new(0),
            writing_thread: AtomicU64::new(0),
        }
    }

    /// The number of a table, which is assigned on the first request.
    pub(crate) fn number_of(&self, table: TableHandle) -> Result<u64, Failure> {
        let key = match &table {
            TableHandle::Plain(table) => (table.name().to_vec(), false),
            TableHandle::Multi(table) => (table.name().to_vec(), true),
        };
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let next = numbers.len();
        if next >> TABLE_BITS != 0 {
            return Err(Failure::too_many("table"));
        }
        let number = *numbers.entry(key).or_insert_with(|| {
            let (array, offset) = locate(next);
            let array = self.tables[array]
                .get_or_init(|| (0..FIRST_LEN << array).map(|_| OnceLock::new()).collect());
            array[offset].get_or_init(|| table);
            next
        });
        Ok(self.number << TABLE_BITS | number as u64)
    }

    /// The table of a number.
    #[inline]
    pub(crate) fn table(&self, number: u64) -> Result<&TableHandle, Failure> {
        if number >> TABLE_BITS != self.number {
            return Err(match number >> 60 == KIND >> 60 {
                true => Failure::wrong_database("table"),
                false => Failure::invalid_handle("table", number),
            });
        }
        let (array, offset) = locate((number & ((1 << TABLE_BITS) - 1)) as usize);
        let table = self.tables[array]
            .get()
            .and_then(|array| array[offset].get());
        table.ok_or_else(|| Failure::invalid_handle("table", number))
    }

    /// The number of a table whose records expire, which is assigned on the first request.
    pub(crate) fn number_of_expiring(&self, table: RawExpiringTable) -> Result<u64, Failure> {
        let mut tables = self.expiring.lock().unwrap_or_else(PoisonError::into_inner);
        let known = tables.iter().position(|known| known.name() == table.name());
        let number = known.unwrap_or(tables.len());
        if number >> TABLE_BITS != 0 {
            return Err(Failure::too_many("table"));
        }
        if known.is_none() {
            tables.push(Arc::new(table));
        }
        Ok(self.expiring_start() | number as u64)
    }

    /// The table whose records expire of a number.
    pub(crate) fn expiring_table(&self, number: u64) -> Result<Arc<RawExpiringTable>, Failure> {
        if number >> TABLE_BITS != self.expiring_start() >> TABLE_BITS {
            return Err(match number >> 60 == EXPIRING_KIND >> 60 {
                true => Failure::wrong_database("table"),
                false => Failure::invalid_handle("table", number),
            });
        }
        let tables = self.expiring.lock().unwrap_or_else(PoisonError::into_inner);
        let table = tables.get((number & ((1 << TABLE_BITS) - 1)) as usize);
        let table = table.ok_or_else(|| Failure::invalid_handle("table", number));
        table.map(Arc::clone)
    }

    /// The number of the first table whose records expire.
    fn expiring_start(&self) -> u64 {
        (self.number << TABLE_BITS) - KIND + EXPIRING_KIND
    }

    /// Refuses to wait for a write transaction that this thread has begun itself.
    pub(crate) fn refuse_waiting_for_itself(&self) -> Result<(), Failure> {
        match self.writing_thread.load(Ordering::Relaxed) == this_thread() {
            true => Err(Failure::busy(
                "this thread has a write transaction already and would wait for itself; end that one first, or use a timeout",
            )),
            false => Ok(()),
        }
    }

    /// Notes that a write transaction has begun.
    pub(crate) fn note_writer(&self) {
        self.writers.fetch_add(1, Ordering::Relaxed);
        self.writing_thread.store(this_thread(), Ordering::Relaxed);
    }

    /// Notes that the write transaction is about to end and let the next one begin.
    pub(crate) fn note_end(&self) {
        self.writing_thread.store(0, Ordering::Relaxed);
    }

    /// Notes that the write transaction has ended.
    pub(crate) fn forget_writer(&self) {
        self.writers.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn has_writer(&self) -> bool {
        self.writers.load(Ordering::Relaxed) > 0
    }
}
