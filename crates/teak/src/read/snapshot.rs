//! A committed state, as a reader sees it.

use crate::{
    Checksum, Error, Geometry, PageNumber, Result, TransactionId,
    alloc::{FIRST_PAGE, Space, SpacePages},
    btree::{
        PageSource, RootRef, TreeRoot,
        reading::{Faults, IoWaitEstimator, reading, reading_twice},
    },
    io::{Mapping, Pinned},
    page::{comparison::Comparisons, page_len, value::ValueExtent},
    record::{FlushLimits, Record},
    types::TypeNames,
};
use crate::{
    io::file_reads::into_extents,
    read::{
        catalog,
        roots::KnownRoots,
        verified_bitmap::{Verification, VerifiedBitmap},
    },
    record::durability::Durability,
};
use std::sync::Arc;

/// A committed state: its record, and the mapping through which its pages are read. None of its
/// pages is reused while a reader or writer pins the state, and only a [`PinnedSnapshot`] reads
/// them.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) record: Record,
    pub(crate) mapping: Arc<Mapping>,
    /// The usable bytes of a page.
    usable_len: usize,
    page_shift: u32,
    /// One past the last page that trees may point to.
    pages_end: u64,
    /// The pages whose checksums were verified.
    pub(crate) verified: VerifiedBitmap,
    /// The comparisons that tables may name.
    pub(crate) comparisons: Comparisons,
    pub(crate) catalog: TreeRoot,
    roots: KnownRoots,
    /// Whether the free-space map that the record leads to belongs to a later state. `true` for
    /// named snapshots.
    pub(crate) is_past: bool,
    /// Free and pending pages at this commit, if they were counted.
    counts: Option<[u64; 2]>,
}

impl Snapshot {
    /// A state with the bitmap of verified pages, the application's comparisons, and the table
    /// roots that are known already.
    pub(crate) fn new(
        record: Record,
        mapping: Arc<Mapping>,
        verified: VerifiedBitmap,
        comparisons: Comparisons,
        roots: KnownRoots,
    ) -> Result<Self> {
        let catalog = TreeRoot::decode_of_names(&record.catalog_root)
            .map_err(|fault| fault.at(PageNumber(record.slot.into()), "open", "the catalog"))?;
        Ok(Self {
            usable_len: record.usable_page_len(),
            page_shift: record.page_size.trailing_zeros(),
            pages_end: record.page_count,
            verified,
            comparisons,
            catalog,
            roots,
            is_past: false,
            counts: None,
            record,
            mapping,
        })
    }

    /// A state whose pages are not verified when they are read.
    pub(crate) fn unchecked(record: Record, mapping: Arc<Mapping>) -> Result<Self> {
        let verified = VerifiedBitmap::new(Verification::Off, 0);
        Self::new(
            record,
            mapping,
            verified,
            Comparisons::default(),
            KnownRoots::default(),
        )
    }

    /// Sets the comparisons of the application.
    pub(crate) fn with_comparisons(self, comparisons: Comparisons) -> Self {
        Self {
            comparisons,
            ..self
        }
    }

    /// Notes how much space is free.
    pub(crate) fn note_counts_of(&mut self, space: &Space) {
        self.counts = Some([space.free_count(), space.pending_count()]);
    }

    /// Sets the counts that another process determined.
    pub(crate) fn with_counts(self, counts: Option<[u64; 2]>) -> Self {
        Self { counts, ..self }
    }

    pub(crate) fn known_counts(&self) -> Option<[u64; 2]> {
        self.counts
    }

    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    #[inline]
    pub(crate) fn transaction(&self) -> TransactionId {
        self.record.transaction
    }

    /// The default durability and flush limits stored in the file.
    pub(crate) fn defaults(&self) -> (Durability, FlushLimits) {
        let durability = Durability::from_byte(self.record.default_durability);
        (durability, self.record.flush_limits)
    }

    /// Whether this state was opened by the name of a snapshot.
    pub(crate) fn is_named(&self) -> bool {
        self.is_past
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.record.geometry
    }

    pub(crate) fn page_count(&self) -> u64 {
        self.record.page_count
    }

    /// How often the file could not be read through this state's mapping.
    pub(crate) fn read_faults(&self) -> u64 {
        self.mapping.faults().count_after_reading()
    }

    pub(crate) fn comparisons(&self) -> &Comparisons {
        &self.comparisons
    }

    pub(crate) fn catalog(&self) -> &TreeRoot {
        &self.catalog
    }

    pub(crate) fn known_roots(&self) -> &KnownRoots {
        &self.roots
    }

    /// A root that is known already. The inner value is `None` for a table that does not exist.
    #[inline]
    pub(crate) fn known_root(&self, handle: usize) -> Option<Option<&TreeRoot>> {
        self.roots.get(handle)
    }

    pub(crate) fn set_root(&self, handle: usize, root: Option<TreeRoot>) {
        self.roots.note(handle, root);
    }

    /// The present commit record in a slot, as readable text.
    pub(crate) fn describe_record(&self, slot: u8) -> String {
        let mut bytes = vec![0; self.record.page_size as usize];
        let offset = u64::from(slot) << self.page_shift;
        if !self.mapping.copy(offset, &mut bytes) {
            return "the file ends before this record\n".to_owned();
        }
        match Record::decode(&self.mapping.opened_record(bytes), slot) {
            Ok(record) => format!("{record:#?}\n"),
            Err(fault) => format!("{fault}\n"),
        }
    }
}

/// A state whose pages stay while it is borrowed, and can be read.
pub(crate) type PinnedSnapshot = Pinned<Snapshot>;

impl PinnedSnapshot {
    /// The mapping, with the right to borrow pages of this state.
    #[inline]
    pub(crate) fn pages(&self) -> &Pinned<Mapping> {
        // SAFETY: `self` is the witness for the pages of the state. Whatever keeps them there keeps
        // them in this mapping, through which the state reads them.
        unsafe { Pinned::assume(&*self.mapping) }
    }

    /// The root of a table, by its handle, or by its name if the handle has no entry in the
    /// snapshot.
    #[inline]
    pub(crate) fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>> {
        match self.known_root(handle) {
            Some(root) => Ok(root.map(RootRef::Kept)),
            None => Ok(self.find_root(handle, name)?.map(RootRef::found)),
        }
    }

    #[cold]
    fn find_root(&self, handle: usize, name: &[u8]) -> Result<Option<TreeRoot>> {
        let root = reading_twice(self, || {
            catalog::find(self, &self.catalog, name, &self.comparisons)
        })?;
        self.set_root(handle, root);
        Ok(root)
    }

    /// The recorded names of a table's types.
    pub(crate) fn types_of(&self, name: &[u8]) -> Result<TypeNames<'_>> {
        reading_twice(self, || catalog::types(self, &self.catalog, name))
    }

    /// Calls `visit` for each table, in the order of names.
    pub(crate) fn for_each_table(
        &self,
        mut visit: impl FnMut(&[u8], catalog::CatalogEntry, TypeNames<'_>) -> Result<()>,
    ) -> Result<()> {
        reading(self, || {
            let (catalog, comparisons) = (&self.catalog, &self.comparisons);
            catalog::for_each(
                self,
                catalog,
                comparisons,
                |name, entry, types| match entry {
                    catalog::CatalogEntry::Dropped(_) => Ok(()),
                    entry if catalog::table_of_index(name, &entry).is_some() => Ok(()),
                    entry => visit(name, entry, types),
                },
            )
        })
    }
}

impl PageSource for PinnedSnapshot {
    #[inline]
    fn page_size(&self) -> usize {
        self.usable_len
    }

    fn page_limit(&self) -> u64 {
        self.pages_end
    }

    #[inline]
    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        let index = u64::from(number.0);
        if (u64::from(FIRST_PAGE)..self.pages_end).contains(&index)
            && let Some(page) = (self.pages()).bytes(index << self.page_shift, self.usable_len)
        {
            return Ok(page);
        }
        Err(outside(&self.mapping, number))
    }

    fn value(&self, extent: &ValueExtent) -> Result<&[u8]> {
        value_in(
            self.pages(),
            self.usable_len,
            self.record.page_count,
            extent,
        )
    }

    #[inline]
    fn prefetch(&self, number: PageNumber, offset: usize, lines: usize) {
        let page = u64::from(number.0) << self.page_shift;
        self.mapping.prefetch(page + offset as u64, lines);
    }

    #[inline]
    fn io_wait(&self) -> &IoWaitEstimator {
        self.mapping.io_wait()
    }

    fn announce(&self, pages: &mut [PageNumber]) {
        let ranges = into_extents(pages).into_iter().map(|extent| {
            let offset = u64::from(extent.start.0) << self.page_shift;
            (offset, u64::from(extent.len) << self.page_shift)
        });
        self.mapping.announce_all(ranges);
    }

    #[inline]
    fn faults(&self) -> &'static Faults {
        self.mapping.faults()
    }

    #[inline]
    fn needs_check(&self, number: PageNumber) -> bool {
        self.verified.is_unverified(number)
    }

    #[cold]
    fn check_page(
        &self,
        number: PageNumber,
        checksum: Checksum,
        written: TransactionId,
        operation: &'static str,
    ) -> Result<()> {
        // A frame that is not filled must not be borrowed.
        if !self.mapping.is_coded() {
            PageSource::page(self, number)?;
        }
        self.verified.compare_page(
            self.pages(),
            self.usable_len,
            (number, checksum),
            written.min(self.transaction()),
            operation,
        )
    }

    #[cold]
    fn check_value(&self, extent: &ValueExtent) -> Result<()> {
        if !self.mapping.is_coded() {
            self.value(extent)?;
        }
        let written = self.transaction();
        (self.verified).compare_value(self.pages(), self.usable_len, extent, written)
    }
}

impl SpacePages for PinnedSnapshot {
    fn page_size(&self) -> usize {
        self.usable_len
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        PageSource::page(self, number)
    }
}

#[cold]
pub(crate) fn outside(mapping: &Mapping, number: PageNumber) -> Error {
    if mapping.is_inherited() {
        return Error::Forked;
    }
    if let Some(failure) = mapping.take_failure() {
        return Error::io("reading the file")(failure);
    }
    Error::corrupted(number, "read", "a page number points outside of the file")
}

/// The bytes of a large value.
pub(crate) fn value_in<'m>(
    mapping: &'m Pinned<Mapping>,
    usable_len: usize,
    page_count: u64,
    extent: &ValueExtent,
) -> Result<&'m [u8]> {
    let pages = extent
        .pages(usable_len)
        .map_err(|damage| damage.at(extent.start, "read"))?;
    let offset = u64::from(extent.start.0) * page_len(usable_len) as u64;
    let len = usize::try_from(extent.len_bytes).map_err(|_| outside(mapping, extent.start))?;
    let is_inside = extent.start.0 >= FIRST_PAGE && pages.end() <= page_count;
    let bytes = is_inside.then(|| mapping.bytes(offset, len)).flatten();
    bytes.ok_or_else(|| outside(mapping, extent.start))
}
