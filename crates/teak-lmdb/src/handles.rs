//! Handles of databases: numbers within an environment, and the databases that transactions have
//! opened under them.

use crate::{
    codes::{self, CallResult, Code},
    compare::{self, ComparisonScope},
    flags,
    orders::ClientOrder,
};
use std::{
    cmp::Ordering as Compared,
    collections::HashMap,
    ffi::{c_uint, c_void},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicPtr, Ordering},
    },
};
use teak::{MultiTable, Table, codec::Raw};

/// The handle of the database of free pages.
pub(crate) const FREE: c_uint = 0;
/// The handle of the main database.
pub(crate) const MAIN: c_uint = 1;
/// The first handle of a named database.
pub(crate) const FIRST_NAMED: c_uint = 2;

/// The engine's handle.
#[derive(Clone, Debug)]
pub(crate) enum TableHandle {
    /// A key has one value.
    Plain(Table<Raw, Raw>),
    /// A key has several.
    Multi(MultiTable<Raw, Raw>),
}

/// An open database.
#[derive(Debug)]
pub(crate) struct OpenDatabase {
    pub(crate) flags: c_uint,
    pub(crate) tables: TableHandle,
    /// The client's orders of keys and of values, if it has set them.
    orders: [OnceLock<&'static ClientOrder>; 2],
    is_closed: AtomicBool,
    /// The pointer that a client has attached.
    pub(crate) relocation: AtomicPtr<c_void>,
}

impl OpenDatabase {
    pub(crate) fn new(flags: c_uint, tables: TableHandle) -> Arc<Self> {
        Arc::new(Self {
            flags,
            tables,
            orders: [OnceLock::new(), OnceLock::new()],
            is_closed: AtomicBool::new(false),
            relocation: AtomicPtr::default(),
        })
    }

    /// The name; empty for the main database.
    pub(crate) fn name(&self) -> &[u8] {
        match &self.tables {
            TableHandle::Plain(table) => table.name(),
            TableHandle::Multi(table) => table.name(),
        }
    }

    pub(crate) fn is_multi(&self) -> bool {
        matches!(self.tables, TableHandle::Multi(_))
    }

    pub(crate) fn has(&self, flag: c_uint) -> bool {
        self.flags & flag != 0
    }

    /// The client's order, if the table has one.
    pub(crate) fn order(&self, of: ComparisonScope) -> Option<&'static ClientOrder> {
        self.orders[of as usize].get().copied()
    }

    /// Notes that the table is in an order of the client's.
    pub(crate) fn set_order(&self, given: &'static ClientOrder) {
        // A table has one order of keys and one of values, so later calls set the same.
        let _ = self.orders[given.of() as usize].set(given);
    }

    pub(crate) fn compare_keys(&self, a: &[u8], b: &[u8]) -> Compared {
        match self.order(ComparisonScope::Keys) {
            Some(given) => given.compare(a, b),
            None => compare::keys(self.flags, a, b),
        }
    }

    pub(crate) fn compare_values(&self, a: &[u8], b: &[u8]) -> Compared {
        match self.order(ComparisonScope::Values) {
            Some(given) => given.compare(a, b),
            None => compare::values(self.flags, a, b),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }
}

/// The named databases that a transaction knew when it began, by their handles less
/// [`FIRST_NAMED`].
pub(crate) type KnownDatabases = Arc<[Option<Arc<OpenDatabase>>]>;

/// The handles of an environment.
#[derive(Debug)]
pub(crate) struct Handles {
    /// The handles that all transactions know.
    known: KnownDatabases,
    /// Handles that open transactions have reserved, and the databases that they have opened under
    /// them.
    reserved: HashMap<c_uint, Option<Arc<OpenDatabase>>>,
    max: usize,
}

impl Handles {
    /// No handles yet. There can be `max` named databases.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            known: Arc::new([]),
            reserved: HashMap::new(),
            max,
        }
    }

    pub(crate) fn known(&self) -> KnownDatabases {
        Arc::clone(&self.known)
    }

    /// Reserves the lowest free number.
    pub(crate) fn reserve(&mut self) -> CallResult<c_uint> {
        let is_taken = |handle: &c_uint| {
            let index = (handle - FIRST_NAMED) as usize;
            self.reserved.contains_key(handle) || matches!(self.known.get(index), Some(Some(_)))
        };
        let mut numbers = (FIRST_NAMED..).take(self.max);
        let free = numbers.find(|handle| !is_taken(handle));
        let handle = free.ok_or(Code(codes::DBS_FULL))?;
        self.reserved.insert(handle, None);
        Ok(handle)
    }

    /// Notes the database that a transaction has opened under a handle it has reserved.
    pub(crate) fn note(&mut self, handle: c_uint, open: &Arc<OpenDatabase>) {
        self.reserved.insert(handle, Some(Arc::clone(open)));
    }

    /// Releases a handle whose transaction has ended. If it was closed before, the number may
    /// belong to another database by now.
    fn release(&mut self, handle: c_uint, open: &Arc<OpenDatabase>) {
        let reserved = self.reserved.get(&handle).and_then(Option::as_ref);
        if reserved.is_some_and(|reserved| Arc::ptr_eq(reserved, open)) {
            self.reserved.remove(&handle);
        }
    }

    /// Releases a number after the database could not be opened.
    pub(crate) fn give_back(&mut self, handle: c_uint) {
        self.reserved.remove(&handle);
    }

    /// Releases the handles of a transaction that was aborted.
    pub(crate) fn forget(&mut self, handles: &[(c_uint, Arc<OpenDatabase>)]) {
        for (handle, open) in handles {
            self.release(*handle, open);
            open.close();
        }
    }

    /// Makes handles known to all transactions.
    pub(crate) fn publish(&mut self, handles: &[(c_uint, Arc<OpenDatabase>)]) {
        let mut known = self.known.to_vec();
        for (handle, open) in handles {
            self.release(*handle, open);
            if open.is_closed() {
                continue;
            }
            let index = (handle - FIRST_NAMED) as usize;
            if known.len() <= index {
                known.resize(index + 1, None);
            }
            known[index] = Some(Arc::clone(open));
        }
        self.known = known.into();
    }

    /// Closes a handle for all transactions, even if the one that opened it has not ended.
    pub(crate) fn close(&mut self, handle: c_uint) {
        if let Some(Some(open)) = self.reserved.get(&handle) {
            open.close();
            self.reserved.remove(&handle);
            return;
        }
        let Some(index) = handle.checked_sub(FIRST_NAMED) else {
            return;
        };
        let Some(Some(open)) = self.known.get(index as usize) else {
            return;
        };
        open.close();
        let mut known = self.known.to_vec();
        known[index as usize] = None;
        self.known = known.into();
    }
}

/// Refuses flags that no database has.
pub(crate) fn check_flags(asked: c_uint) -> CallResult {
    match asked & !(flags::PERSISTENT | flags::CREATE) {
        0 => Ok(()),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}
