//! The table of an arena's blocks: finds the block of a page by two array lookups.

use crate::{Checksum, Extent, PageNumber};

pub(super) const BLOCK_PAGES: usize = 64;
const GROUP_BLOCKS: usize = 512;
/// Blocks without pages that are kept for the next transaction.
const SPARE_BLOCKS_MAX: usize = 1024;

/// The pages `64 n` to `64 n + 63`.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) written: u64,
    pub(super) fresh: u64,
    pub(super) resident: u64,
    /// Pages of mapped extents.
    pub(super) mapped: u64,
    pub(super) checksummed: u64,
    /// The slot of each resident page.
    pub(super) slots: [u32; BLOCK_PAGES],
    /// Checksums of the checksummed pages.
    pub(super) checksums: Option<Box<[Checksum; BLOCK_PAGES]>>,
}

type BlockGroup = [Option<Box<Block>>; GROUP_BLOCKS];

/// The blocks of one write transaction.
#[derive(Default, Debug)]
pub(super) struct BlockTable {
    groups: Vec<Option<Box<BlockGroup>>>,
    /// Blocks in use, in the order of first use.
    used: Vec<u32>,
    #[allow(
        clippy::vec_box,
        reason = "they come from the table and go back to it as they are"
    )]
    spare: Vec<Box<Block>>,
}

/// The index of the block of a page, and the bit of the page in it.
#[inline]
pub(super) fn split(number: PageNumber) -> (u32, usize) {
    (number.0 / BLOCK_PAGES as u32, number.index() % BLOCK_PAGES)
}

impl Block {
    fn empty() -> Box<Self> {
        Box::new(Self {
            written: 0,
            fresh: 0,
            resident: 0,
            mapped: 0,
            checksummed: 0,
            slots: [0; BLOCK_PAGES],
            checksums: None,
        })
    }

    /// Removes all pages and keeps the memory.
    fn clear(&mut self) {
        (self.written, self.fresh, self.resident) = (0, 0, 0);
        (self.mapped, self.checksummed) = (0, 0);
    }
}

impl BlockTable {
    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&Block> {
        let index = index as usize;
        let group = self.groups.get(index / GROUP_BLOCKS)?.as_ref()?;
        group[index % GROUP_BLOCKS].as_deref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Block> {
        let index = index as usize;
        let group = self.groups.get_mut(index / GROUP_BLOCKS)?.as_mut()?;
        group[index % GROUP_BLOCKS].as_deref_mut()
    }

    #[inline]
    pub(super) fn get_or_new(&mut self, index: u32) -> &mut Block {
        let (group, slot) = (index as usize / GROUP_BLOCKS, index as usize % GROUP_BLOCKS);
        if self.groups.len() <= group {
            self.groups.resize_with(group + 1, || None);
        }
        let group =
            self.groups[group].get_or_insert_with(|| Box::new([const { None }; GROUP_BLOCKS]));
        let (used, spare) = (&mut self.used, &mut self.spare);
        group[slot].get_or_insert_with(|| {
            used.push(index);
            spare.pop().unwrap_or_else(Block::empty)
        })
    }

    /// Sorts the blocks, so that [`Self::indices`] ascends.
    pub(super) fn sort(&mut self) {
        self.used.sort_unstable();
    }

    /// The blocks in use.
    pub(super) fn indices(&self) -> &[u32] {
        &self.used
    }

    /// The pages whose bits are set in a word of each block, as sorted extents.
    pub(super) fn extents(&mut self, word: impl Fn(&Block) -> u64) -> Vec<Extent> {
        self.sort();
        let mut extents: Vec<Extent> = Vec::new();
        for &index in &self.used {
            for bit in self.get(index).map(&word).into_iter().flat_map(bits) {
                let number = index * BLOCK_PAGES as u32 + bit;
                match extents.last_mut() {
                    Some(extent) if extent.end() == u64::from(number) => extent.len += 1,
                    _ => extents.push(Extent::new(number, 1)),
                }
            }
        }
        extents
    }

    /// Removes all blocks. Some are kept for the next transaction.
    pub(super) fn clear(&mut self) {
        for index in std::mem::take(&mut self.used) {
            let (group, slot) = (index as usize / GROUP_BLOCKS, index as usize % GROUP_BLOCKS);
            let group = self.groups[group].as_mut();
            if let Some(mut block) = group.and_then(|group| group[slot].take())
                && self.spare.len() < SPARE_BLOCKS_MAX
            {
                block.clear();
                self.spare.push(block);
            }
        }
    }
}

/// The set bits, lowest first.
#[inline]
pub(super) fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(bit)
    })
}
