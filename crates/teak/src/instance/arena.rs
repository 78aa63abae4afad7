//! The arena: where a write transaction builds its pages.
//!
//! The file is divided into blocks of 64 pages. A block is found by page number through a two-level
//! table, so that finding a page takes arithmetic and three loads, without a search or a hash. This
//! holds whether the transaction's pages are contiguous or fragmented. The bytes of a page are at
//! its final position if that is mapped for writing, and otherwise in slabs that are kept from one
//! transaction to the next. Each block has bits for the state of its pages:
//!
//! - *written*: written by this transaction.
//! - *fresh*: written since the innermost savepoint, or put aside for it. The page may be changed
//!   in place.
//! - *resident*: built here, and not written early to its final position.
//! - *checksummed*: unchanged since its checksum was computed.
//!
//! Invariants:
//!
//! - Fresh and resident pages are written pages.
//! - A resident page has a slab slot of its own, or is in a mapped extent.
//! - A page of a mapped extent stays in it.
//! - A page is checksummed if it was written early, or if it is built at its final position and was
//!   taken out of memory.

use crate::instance::block_table::{BLOCK_PAGES, Block, BlockTable, bits, split};
use crate::{Checksum, Extent, PageNumber, io::WritableExtent};

/// Pages in a slab of memory.
const SLAB_PAGES: usize = 64;
/// Alignment of pages in slabs: the largest one of values. The usable bytes of an encrypted page
/// are no multiple of it.
const PAGE_ALIGN: usize = 16;
/// Bytes of slabs that are kept for the next transaction.
const KEPT_BYTES_MAX: usize = 64 << 20;
/// Words of the filter over the written pages.
const FILTER_WORDS: usize = 16;

/// A slot with this bit is the index of a mapped extent.
const MAPPED: u32 = 1 << 31;

/// The pages of one write transaction.
#[derive(Debug)]
pub(crate) struct Arena {
    page_size: usize,
    /// Words from one page of a slab to the next.
    slot_words: usize,
    blocks: BlockTable,
    /// One bit for each written page, selected by the low bits of its number. For a small
    /// transaction it usually shows at once that a page was not written.
    filter: [u64; FILTER_WORDS],
    slabs: Vec<Box<[u64]>>,
    free_slots: Vec<u32>,
    /// Number of resident pages in slabs, and (below) in mapped extents.
    resident_count: usize,
    mapped_count: usize,
    mapped: Vec<MappedExtent>,
}

/// Pages that are built at their final position.
#[derive(Debug)]
struct MappedExtent {
    pages: Extent,
    bytes: WritableExtent,
}

/// Where a resident page is.
enum PageLocation {
    /// Index of a slab, and the words in it.
    Slab(usize, std::ops::Range<usize>),
    /// Index of a mapped extent, and the bytes in it.
    Mapped(usize, std::ops::Range<usize>),
}

/// The fresh bits of all blocks at one time, in the order of blocks.
#[derive(Debug)]
pub(crate) struct FreshBits(Vec<(u32, u64)>);

impl FreshBits {
    /// Whether a page was fresh at that time.
    pub(crate) fn contains(&self, number: PageNumber) -> bool {
        let (index, bit) = split(number);
        let found = self.0.binary_search_by_key(&index, |(index, _)| *index);
        found.is_ok_and(|position| self.0[position].1 >> bit & 1 != 0)
    }
}

/// The word and the bit of a page in [`Arena::filter`].
fn filter_bit(number: PageNumber) -> (usize, usize) {
    (number.index() / 64 % FILTER_WORDS, number.index() % 64)
}

impl Arena {
    pub(crate) fn new(page_size: usize) -> Self {
        Self {
            page_size,
            slot_words: page_size.next_multiple_of(PAGE_ALIGN) / 8,
            blocks: BlockTable::default(),
            filter: [0; FILTER_WORDS],
            slabs: Vec::new(),
            free_slots: Vec::new(),
            resident_count: 0,
            mapped_count: 0,
            mapped: Vec::new(),
        }
    }

    /// Whether no page was written or mapped since the arena was cleared.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.indices().is_empty() && self.mapped.is_empty()
    }

    /// Whether this transaction wrote the page.
    #[inline]
    pub(crate) fn is_written(&self, number: PageNumber) -> bool {
        let (word, bit) = filter_bit(number);
        if self.filter[word] >> bit & 1 == 0 {
            return false;
        }
        let (index, bit) = split(number);
        self.blocks
            .get(index)
            .is_some_and(|block| block.written >> bit & 1 != 0)
    }

    /// Whether the page may be changed in place.
    #[inline]
    pub(crate) fn is_fresh(&self, number: PageNumber) -> bool {
        let (index, bit) = split(number);
        self.blocks
            .get(index)
            .is_some_and(|block| block.fresh >> bit & 1 != 0)
    }

    /// Whether the page is built here.
    #[inline]
    pub(crate) fn is_resident(&self, number: PageNumber) -> bool {
        self.slot(number).is_some()
    }

    /// The slot of a resident page.
    #[inline]
    fn slot(&self, number: PageNumber) -> Option<u32> {
        let (index, bit) = split(number);
        let block = self.blocks.get(index)?;
        (block.resident >> bit & 1 != 0).then(|| block.slots[bit])
    }

    #[inline]
    fn location(&self, number: PageNumber) -> Option<PageLocation> {
        let slot = self.slot(number)?;
        if slot & MAPPED != 0 {
            let index = (slot & !MAPPED) as usize;
            let pages = self.mapped[index].pages;
            debug_assert!(
                pages.start <= number && u64::from(number.0) < pages.end(),
                "a page of a mapped extent stays in it"
            );
            let first = pages.start.0;
            let at = (number.0 - first) as usize * self.page_size;
            return Some(PageLocation::Mapped(index, at..at + self.page_size));
        }
        let at = slot as usize % SLAB_PAGES * self.slot_words;
        Some(PageLocation::Slab(
            slot as usize / SLAB_PAGES,
            at..at + self.page_size / 8,
        ))
    }

    /// The bytes of a resident page.
    #[inline]
    pub(crate) fn page(&self, number: PageNumber) -> Option<&[u8]> {
        Some(match self.location(number)? {
            PageLocation::Slab(slab, words) => bytemuck::cast_slice(&self.slabs[slab][words]),
            PageLocation::Mapped(index, bytes) => &self.mapped[index].bytes[bytes],
        })
    }

    /// Whether `bytes` belong to a resident page.
    pub(crate) fn holds(&self, bytes: &[u8]) -> bool {
        let start = bytes.as_ptr();
        let slabs = self.slabs.iter().map(|slab| bytemuck::cast_slice(slab));
        let mapped = self.mapped.iter().map(|extent| &extent.bytes[..]);
        slabs
            .chain(mapped)
            .any(|pages: &[u8]| pages.as_ptr_range().contains(&start))
    }

    /// The mutable bytes of a resident page.
    #[inline]
    pub(crate) fn page_mut(&mut self, number: PageNumber) -> Option<&mut [u8]> {
        let (index, bit) = split(number);
        self.blocks.get_mut(index)?.checksummed &= !(1 << bit);
        Some(match self.location(number)? {
            PageLocation::Slab(slab, words) => {
                bytemuck::cast_slice_mut(&mut self.slabs[slab][words])
            }
            PageLocation::Mapped(index, bytes) => &mut self.mapped[index].bytes[bytes],
        })
    }

    /// Builds the pages of an extent at their final position from now on, in `bytes`.
    pub(crate) fn map(&mut self, pages: Extent, bytes: WritableExtent) {
        let slot = self.mapped.len() as u32 | MAPPED;
        let mut at = u64::from(pages.start.0);
        while at < pages.end() {
            let (index, bit) = split(PageNumber(at as u32));
            let len = (BLOCK_PAGES - bit).min((pages.end() - at) as usize);
            let block = self.blocks.get_or_new(index);
            let mask = u64::MAX >> (BLOCK_PAGES - len) << bit;
            debug_assert!(
                (block.mapped | block.resident) & mask == 0,
                "a page has one place: no two mapped extents overlap"
            );
            block.mapped |= mask;
            block.slots[bit..bit + len].fill(slot);
            at += len as u64;
        }
        self.mapped.push(MappedExtent { pages, bytes });
    }

    /// Whether a page is or was built at its final position.
    pub(crate) fn is_mapped(&self, number: PageNumber) -> bool {
        let (index, bit) = split(number);
        self.blocks
            .get(index)
            .is_some_and(|block| block.mapped >> bit & 1 != 0)
    }

    /// The extents whose pages are built at their final position.
    pub(crate) fn mapped_extents(&self) -> impl Iterator<Item = Extent> {
        self.mapped.iter().map(|extent| extent.pages)
    }

    /// Makes a page resident, with undefined bytes. A new page becomes fresh.
    pub(crate) fn make_resident(&mut self, number: PageNumber) -> &mut [u8] {
        let (index, bit) = split(number);
        let block = self.blocks.get_or_new(index);
        let mask = 1 << bit;
        let is_new = block.written & mask == 0;
        let was_resident = block.resident & mask != 0;
        let is_mapped = block.mapped & mask != 0;
        block.written |= mask;
        block.fresh |= if is_new { mask } else { 0 };
        block.resident |= mask;
        self.note_in_filter(number);
        if is_mapped {
            self.mapped_count += usize::from(!was_resident);
        } else if !was_resident {
            let slot = self.take_slot();
            self.resident_count += 1;
            self.blocks.get_or_new(index).slots[bit] = slot;
        }
        self.page_mut(number).expect("the page was made resident")
    }

    fn note_in_filter(&mut self, number: PageNumber) {
        let (word, bit) = filter_bit(number);
        self.filter[word] |= 1 << bit;
    }

    fn take_slot(&mut self) -> u32 {
        if self.free_slots.is_empty() {
            let first = (self.slabs.len() * SLAB_PAGES) as u32;
            self.slabs
                .push(vec![0; SLAB_PAGES * self.slot_words].into_boxed_slice());
            self.free_slots
                .extend((first..first + SLAB_PAGES as u32).rev());
        }
        self.free_slots.pop().expect("a slab has slots")
    }

    /// Notes pages that were written to their final position without being built here.
    pub(crate) fn add_written(&mut self, extent: Extent) {
        for number in extent.pages() {
            let (index, bit) = split(number);
            let block = self.blocks.get_or_new(index);
            block.written |= 1 << bit;
            block.fresh |= 1 << bit;
            self.note_in_filter(number);
        }
    }

    /// Forgets a page that is not used after all.
    pub(crate) fn forget(&mut self, number: PageNumber) {
        self.give_up(number);
        let (index, bit) = split(number);
        let Some(block) = self.blocks.get_mut(index) else {
            return;
        };
        block.written &= !(1 << bit);
        block.fresh &= !(1 << bit);
        block.checksummed &= !(1 << bit);
    }

    /// Releases the memory of a page, if it is resident.
    fn give_up(&mut self, number: PageNumber) {
        let Some(slot) = self.slot(number) else {
            return;
        };
        let (index, bit) = split(number);
        if let Some(block) = self.blocks.get_mut(index) {
            block.resident &= !(1 << bit);
        }
        if slot & MAPPED != 0 {
            self.mapped_count -= 1;
            return;
        }
        self.free_slots.push(slot);
        self.resident_count -= 1;
    }

    /// Bytes of the pages in slabs.
    pub(crate) fn resident_bytes(&self) -> usize {
        self.resident_count * self.page_size
    }

    /// Bytes of the pages that are built at their final position.
    pub(crate) fn mapped_bytes(&self) -> usize {
        self.mapped_count * self.page_size
    }

    /// The checksum of a page, if it was computed and the page has not changed since.
    #[inline]
    pub(crate) fn checksum(&self, number: PageNumber) -> Option<Checksum> {
        let (index, bit) = split(number);
        let block = self.blocks.get(index)?;
        if block.checksummed >> bit & 1 == 0 {
            return None;
        }
        block.checksums.as_ref().map(|checksums| checksums[bit])
    }

    /// Notes the checksum of a page that will hardly change any more.
    pub(crate) fn set_checksum(&mut self, number: PageNumber, checksum: Checksum) {
        let (index, bit) = split(number);
        let block = self.blocks.get_or_new(index);
        debug_assert!(
            block.written >> bit & 1 != 0,
            "only pages of this transaction get a checksum here"
        );
        let checksums = block
            .checksums
            .get_or_insert_with(|| Box::new([Checksum::default(); BLOCK_PAGES]));
        checksums[bit] = checksum;
        block.checksummed |= 1 << bit;
    }

    /// Notes that a resident page was written to its final position, and releases its memory.
    pub(crate) fn note_early_write(&mut self, number: PageNumber, checksum: Checksum) {
        debug_assert!(
            self.is_resident(number),
            "a page is built here before it is written early"
        );
        self.set_checksum(number, checksum);
        self.give_up(number);
    }

    /// All pages that this transaction wrote, as sorted extents.
    pub(crate) fn written_extents(&mut self) -> Vec<Extent> {
        self.blocks.extents(|block| block.written)
    }

    /// Calls `visit` for each page that still has to be written to its final position, in order.
    pub(crate) fn for_each_unwritten<'a>(&'a mut self, visit: impl FnMut(PageNumber, &'a [u8])) {
        self.blocks.sort();
        self.for_each(|block| block.resident & !block.mapped, visit);
    }

    /// Calls `visit` for each resident page that is built at its final position.
    pub(crate) fn for_each_mapped<'a>(&'a self, visit: impl FnMut(PageNumber, &'a [u8])) {
        self.for_each(|block| block.resident & block.mapped, visit);
    }

    fn for_each<'a>(
        &'a self,
        pages: impl Fn(&Block) -> u64,
        mut visit: impl FnMut(PageNumber, &'a [u8]),
    ) {
        for &index in self.blocks.indices() {
            for bit in self
                .blocks
                .get(index)
                .map(&pages)
                .into_iter()
                .flat_map(bits)
            {
                let number = PageNumber(index * BLOCK_PAGES as u32 + bit);
                visit(number, self.page(number).expect("the page is resident"));
            }
        }
    }

    /// Begins a savepoint: no page is fresh from now on. Returns the fresh bits for the end of the
    /// savepoint.
    pub(crate) fn begin_savepoint(&mut self) -> FreshBits {
        let mut saved = Vec::new();
        self.blocks.sort();
        for index in self.blocks.indices().to_vec() {
            let Some(block) = self.blocks.get_mut(index) else {
                continue;
            };
            debug_assert_eq!(
                (block.fresh | block.resident) & !block.written,
                0,
                "fresh and resident pages are written pages"
            );
            if block.fresh != 0 {
                saved.push((index, std::mem::take(&mut block.fresh)));
            }
        }
        FreshBits(saved)
    }

    /// Ends a savepoint whose changes stay: pages that were fresh before are fresh again.
    pub(crate) fn end_savepoint(&mut self, before: FreshBits) {
        for (index, fresh) in before.0 {
            if let Some(block) = self.blocks.get_mut(index) {
                block.fresh |= fresh & block.written;
            }
        }
    }

    /// Sets whether a page that this transaction wrote may be changed in place.
    pub(crate) fn set_fresh(&mut self, number: PageNumber, is_fresh: bool) {
        let (index, bit) = split(number);
        if let Some(block) = self.blocks.get_mut(index) {
            let rest = block.fresh & !(1 << bit);
            debug_assert!(
                !is_fresh || block.written >> bit & 1 != 0,
                "fresh pages are written pages"
            );
            block.fresh = rest | u64::from(is_fresh) << bit;
        }
    }

    /// All fresh pages, as sorted extents.
    pub(crate) fn fresh_extents(&mut self) -> Vec<Extent> {
        self.blocks.extents(|block| block.fresh)
    }

    /// Empties the arena. Some memory is kept for the next transaction.
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        self.filter = [0; FILTER_WORDS];
        self.resident_count = 0;
        self.mapped_count = 0;
        self.mapped.clear();
        self.slabs
            .truncate((KEPT_BYTES_MAX / (SLAB_PAGES * self.page_size)).max(1));
        self.free_slots.clear();
        self.free_slots
            .extend((0..(self.slabs.len() * SLAB_PAGES) as u32).rev());
    }
}
