//! The writing side of a transaction, which nested transactions share.

use crate::{
    codes::CallResult, environment::OpenEnvironment, read_view::ReadView,
    reserved_value::ReservedValue,
};
use std::{collections::HashSet, ffi::c_uint, sync::Arc};
use teak::WriteTxn;

/// The first application mark of databases that this library wrote. The second mark is the flags of
/// the main database.
const MARK: u64 = u64::from_le_bytes(*b"lmdb-0.9");

/// The engine's transaction, and state about it.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) txn: WriteTxn,
    /// Whether there is anything to commit.
    pub(crate) is_changed: bool,
    pub(crate) reserved: Option<ReservedValue>,
    /// The names of the named databases, once many have been looked up.
    named: Option<HashSet<Vec<u8>>>,
    /// The number of keys looked up without them.
    lookup_count: usize,
    /// The limit in the file, if that is larger than this environment's: it stays there, as in
    /// LMDB.
    larger_limit: Option<u64>,
}

/// After this many lookups among the tables one by one, the names of all are read. Most
/// transactions write few records to the main database.
const LOOKUPS_MAX: usize = 16;

impl Writer {
    /// Begins to write, within the limit that was set.
    pub(crate) fn begin(opened: &Arc<OpenEnvironment>) -> CallResult<Self> {
        let mut txn = opened.database.begin_write()?;
        txn.set_durability(opened.durability());
        let mut larger_limit = None;
        if let Some(limit) = opened.limit() {
            let in_file = txn.info().limit_bytes;
            if in_file != limit {
                set_limit(&mut txn, opened, limit)?;
            }
            larger_limit = (in_file > limit).then_some(in_file);
        }
        Ok(Self {
            larger_limit,
            txn,
            is_changed: false,
            reserved: None,
            named: None,
            lookup_count: 0,
        })
    }

    /// Commits, if there is anything to commit.
    pub(crate) fn commit(mut self, opened: &OpenEnvironment) -> CallResult {
        if !self.is_changed {
            return Ok(());
        }
        if let Some(limit) = self.larger_limit {
            set_limit(&mut self.txn, opened, limit)?;
        }
        self.txn.set_durability(opened.durability());
        self.txn.commit()?;
        Ok(())
    }

    /// Whether this key of the main database names a database.
    pub(crate) fn is_database(&mut self, opened: &OpenEnvironment, key: &[u8]) -> CallResult<bool> {
        if self.named.is_none() {
            if self.lookup_count < LOOKUPS_MAX {
                self.lookup_count += 1;
                return Ok(ReadView::Write(&self.txn)
                    .find(&opened.database, key)?
                    .is_some());
            }
            let names = ReadView::Write(&self.txn).names()?;
            self.named = Some(names.into_iter().filter(|name| !name.is_empty()).collect());
        }
        Ok(self.named.as_ref().is_some_and(|named| named.contains(key)))
    }

    /// Forgets the names of the databases, so that they are read again when needed.
    pub(crate) fn forget_names(&mut self) {
        self.named = None;
    }

    /// Notes the flags of the main database.
    pub(crate) fn set_main_flags(&mut self, flags: c_uint) -> teak::Result<()> {
        self.txn.set_marks([MARK, flags.into(), 0])
    }
}

fn set_limit(txn: &mut WriteTxn, opened: &OpenEnvironment, limit: u64) -> CallResult {
    let geometry = opened.geometry()?;
    txn.set_geometry(
        geometry
            .upper_limit_bytes(limit)
            .lower_limit_bytes(geometry.lower_limit_bytes.min(limit)),
    )?;
    Ok(())
}

/// The flags of the main database, if they were ever noted.
pub(crate) fn main_flags(view: ReadView<'_>) -> Option<c_uint> {
    match view.marks() {
        [MARK, flags, _] => c_uint::try_from(flags).ok(),
        _ => None,
    }
}
