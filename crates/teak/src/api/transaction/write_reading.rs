//! Reading in a write transaction. The changes of a whole one are in its pages, those of a small
//! one beside the pages of the state that it has begun with.

// The traits use types of lower layers, which users cannot name.
#![allow(private_interfaces)]

use super::{Transaction, write::WriteTxn};
use crate::api::sealed::Sealed;
use crate::{
    Checksum, PageNumber, Result, TransactionId,
    api::{
        ExpiringTable, Marks, MultiTable, Table, codec::Codec, expiring::open_expiring,
        open_table::open_table, table_info::TableInfo,
    },
    btree::{
        PageSource, RootRef,
        reading::{Faults, IoWaitEstimator},
    },
    instance::engine::Engine,
    page::value::ValueExtent,
    read::frame_eviction::Borrower,
    types::TypeNames,
    write::small::SmallTransaction,
};
use std::sync::Arc;

/// Evaluates an expression with the source of pages of a [`WriteTxn`].
macro_rules! of_source {
    ($txn:expr, $source:ident => $use:expr) => {
        match ($txn.whole.get(), &$txn.small) {
            (Some(whole), _) => {
                let $source = whole.pages();
                $use
            }
            (None, Some(small)) => {
                let $source = small.state();
                $use
            }
            (None, None) => unreachable!("a transaction begins as a whole or small one"),
        }
    };
}

impl Sealed for WriteTxn {
    fn engine(&self) -> &Arc<Engine> {
        match (self.whole.get(), &self.small) {
            (Some(whole), _) => whole.engine(),
            (None, Some(small)) => small.engine(),
            (None, None) => unreachable!("a transaction begins as a whole or small one"),
        }
    }

    #[inline]
    fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>> {
        match self.small() {
            Some(small) if !small.is_changed(handle) => small.root_of(handle, name),
            _ => self.whole()?.root_of(handle, name),
        }
    }

    fn now_ms(&self) -> Result<u64> {
        Ok(self.whole()?.now_ms())
    }

    fn types_of(&self, name: &[u8]) -> Result<TypeNames<'_>> {
        match self.small() {
            Some(small) => small.types_of(name),
            None => self.whole()?.types_of(name),
        }
    }

    #[inline]
    fn source(&self) -> &(impl PageSource + Sync) {
        self
    }

    fn version_of(&self, handle: usize) -> Option<(u64, u64)> {
        match self.whole.get() {
            Some(whole) => whole.version_of(handle),
            None => self.small.as_ref()?.version_of(handle),
        }
    }

    #[inline]
    fn committed(&self) -> Option<(u64, TransactionId)> {
        None
    }

    fn borrower(&self) -> Option<Borrower> {
        match (self.whole.get(), &self.small) {
            (Some(whole), _) => Borrower::writer(&whole.base, whole.tables.unique_id),
            (None, Some(small)) => Borrower::writer(small.state(), small.unique_id),
            (None, None) => None,
        }
    }

    #[inline]
    fn is_buffered(&self) -> bool {
        self.small().is_some()
    }

    fn has_buffered(&self, handle: usize) -> bool {
        self.small().is_some_and(|small| small.is_changed(handle))
    }

    #[inline(never)]
    fn get_buffered(
        &self,
        handle: usize,
        name: &[u8],
        key: &[u8],
    ) -> Result<Option<Option<&[u8]>>> {
        match self.small() {
            Some(small) => small.get(handle, name, key),
            None => Ok(None),
        }
    }
}

impl Transaction for WriteTxn {
    fn id(&self) -> TransactionId {
        match (self.whole.get(), &self.small) {
            (Some(whole), _) => whole.id(),
            (None, Some(small)) => small.id(),
            (None, None) => unreachable!("a transaction begins as a whole or small one"),
        }
    }

    fn open_table<K: Codec, V: Codec>(&self, name: impl AsRef<[u8]>) -> Result<Table<K, V>> {
        match self.small() {
            Some(small) => open_table(&Catalog(small), name.as_ref()),
            None => open_table(self, name.as_ref()),
        }
    }

    fn open_multi_table<K: Codec, V: Codec>(
        &self,
        name: impl AsRef<[u8]>,
    ) -> Result<MultiTable<K, V>> {
        match self.small() {
            Some(small) => open_table(&Catalog(small), name.as_ref()),
            None => open_table(self, name.as_ref()),
        }
    }

    fn open_expiring_table<K: Codec, V: Codec>(
        &self,
        name: impl AsRef<[u8]>,
    ) -> Result<ExpiringTable<K, V>> {
        match self.small() {
            Some(small) => open_expiring(&Catalog(small), name.as_ref()),
            None => open_expiring(self, name.as_ref()),
        }
    }

    fn marks(&self) -> Marks {
        match (self.whole.get(), &self.small) {
            (None, Some(small)) => small.state().marks(),
            (Some(whole), _) => whole.marks(),
            (None, None) => Marks::default(),
        }
    }

    fn tables(&self) -> Result<Vec<TableInfo>> {
        let mut tables = Vec::new();
        self.whole()?.for_each_table(|name, entry, types| {
            tables.push(TableInfo::new(name, &entry, types));
            Ok(())
        })?;
        Ok(tables)
    }
}

/// The pages that the transaction reads: those of a whole one, or of the state that a small one has
/// begun with.
impl PageSource for WriteTxn {
    #[inline]
    fn page_size(&self) -> usize {
        self.engine().usable_page_len()
    }

    #[inline]
    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        of_source!(self, source => source.page(number))
    }

    #[inline]
    fn page_limit(&self) -> u64 {
        of_source!(self, source => source.page_limit())
    }

    #[inline]
    fn value(&self, extent: &ValueExtent) -> Result<&[u8]> {
        of_source!(self, source => source.value(extent))
    }

    #[inline]
    fn prefetch(&self, number: PageNumber, offset: usize, lines: usize) {
        of_source!(self, source => source.prefetch(number, offset, lines));
    }

    #[inline]
    fn io_wait(&self) -> &IoWaitEstimator {
        of_source!(self, source => source.io_wait())
    }

    #[inline]
    fn announce(&self, pages: &mut [PageNumber]) {
        of_source!(self, source => source.announce(pages));
    }

    #[inline]
    fn faults(&self) -> &'static Faults {
        of_source!(self, source => source.faults())
    }

    #[inline]
    fn refuse_lost(&self) -> Result<()> {
        of_source!(self, source => source.refuse_lost())
    }

    #[inline]
    fn refuse_cancelled(&self) -> Result<()> {
        of_source!(self, source => source.refuse_cancelled())
    }

    #[inline]
    fn needs_check(&self, number: PageNumber) -> bool {
        of_source!(self, source => source.needs_check(number))
    }

    #[inline]
    fn check_page(
        &self,
        number: PageNumber,
        checksum: Checksum,
        written: TransactionId,
        operation: &'static str,
    ) -> Result<()> {
        of_source!(self, source => source.check_page(number, checksum, written, operation))
    }

    #[inline]
    fn check_value(&self, extent: &ValueExtent) -> Result<()> {
        of_source!(self, source => source.check_value(extent))
    }
}

/// The catalog that a small transaction has begun with. It changes no tables.
pub(super) struct Catalog<'t>(pub(super) &'t SmallTransaction);

impl Sealed for Catalog<'_> {
    fn engine(&self) -> &Arc<Engine> {
        self.0.engine()
    }

    fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>> {
        self.0.root_of(handle, name)
    }

    fn now_ms(&self) -> Result<u64> {
        Ok(self.0.engine().expiry.take())
    }

    fn types_of(&self, name: &[u8]) -> Result<TypeNames<'_>> {
        self.0.types_of(name)
    }

    fn source(&self) -> &(impl PageSource + Sync) {
        self.0.state()
    }

    fn version_of(&self, _handle: usize) -> Option<(u64, u64)> {
        None
    }

    fn committed(&self) -> Option<(u64, TransactionId)> {
        None
    }

    fn borrower(&self) -> Option<Borrower> {
        Borrower::writer(self.0.state(), self.0.unique_id)
    }
}
