//! A page array: maps an index to a page, as a copy-on-write radix tree of array pages.
//!
//! An array of `count` elements has the least depth `d` with `F^d >= count`, F being the fanout of
//! [`crate::page::array`]. At depth 0 the root points to the single element, or to nothing. At
//! depth `d` it points to a node of level `d`. A node of level `l > 1` points to nodes of the level
//! below, one of level 1 to elements. Node `i` of a level has the pointers `i F` up to `(i + 1) F`
//! of the level below, so all nodes of a level except the last are full.
//!
//! All pointers are kept in memory, level by level. A change is first planned (the nodes to be
//! written, the pages that die), and carried out once pages for it have been found.

use crate::alloc::{array_entry::ArrayEntry, checked_pages::CheckedPages, writer::PageWriter};
use crate::{
    Error, Result,
    page::{
        array::{self, Pointer},
        header::PageKind,
    },
    types::{Checksum, PageNumber, TransactionId},
};

/// The root of an array, in its form in the commit record (24 bytes there).
///
/// | offset | size | field |
/// |---|---|---|
/// | 0 | 4 | page: of the root node, or of the single element; 0 if there is none |
/// | 4 | 4 | info |
/// | 8 | 8 | checksum |
/// | 16 | 4 | count of elements |
/// | 20 | 1 | depth |
/// | 21 | 3 | zero |
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ArrayRoot {
    pub(crate) page: PageNumber,
    pub(crate) info: u32,
    pub(crate) checksum: Checksum,
    pub(crate) depth: u8,
    pub(crate) count: u32,
}

/// The roots of both arrays, in their form in the commit record.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SpaceRoots {
    /// Element `i` is the bitmap page of the i-th section of the file; info: set bits.
    pub(crate) bitmaps: ArrayRoot,
    /// The segments in no order; info: deaths.
    pub(crate) deaths: ArrayRoot,
}

/// An array with all its pointers in memory.
#[derive(Debug)]
pub(super) struct PageArray {
    fanout: usize,
    /// The elements, then the nodes above them, level by level. There is more than one level only
    /// if there is more than one element; then the last level has one node.
    levels: Vec<Vec<ArrayEntry>>,
}

/// The nodes that must be written for a change of elements.
#[derive(Default, Debug)]
pub(super) struct NodePlan {
    len: usize,
    /// The nodes to be written for each level from 1 up, ascending.
    nodes: Vec<Vec<u32>>,
    /// The pages of nodes that are replaced or no longer needed, with their births.
    pub(super) dead: Vec<(PageNumber, TransactionId)>,
}

impl NodePlan {
    pub(super) fn page_count(&self) -> usize {
        self.nodes.iter().map(Vec::len).sum()
    }
}

impl PageArray {
    pub(super) fn new(fanout: usize) -> Self {
        Self {
            fanout,
            levels: vec![Vec::new()],
        }
    }

    pub(super) fn elements(&self) -> &[ArrayEntry] {
        &self.levels[0]
    }

    pub(super) fn elements_mut(&mut self) -> &mut Vec<ArrayEntry> {
        &mut self.levels[0]
    }

    /// All pages of the array, elements and nodes.
    pub(super) fn pages(&self) -> impl Iterator<Item = PageNumber> {
        self.levels
            .iter()
            .flatten()
            .filter_map(ArrayEntry::page)
            .map(|(page, _)| page)
    }

    /// Returns the elements whose page, or whose first node above, is one of the wanted pages:
    /// rewriting the elements rewrites these pages. Ascending on each level.
    pub(super) fn elements_above(
        &self,
        is_wanted: impl Fn(PageNumber) -> bool,
    ) -> impl Iterator<Item = u32> {
        let mut below = 1;
        self.levels
            .iter()
            .enumerate()
            .flat_map(move |(level, slots)| {
                if level > 0 {
                    below *= self.fanout;
                }
                let wanted =
                    |slot: &ArrayEntry| slot.page().is_some_and(|(page, _)| is_wanted(page));
                let found: Vec<u32> = (slots.iter().enumerate())
                    .filter(|(_, slot)| wanted(slot))
                    .map(|(index, _)| (index * below) as u32)
                    .collect();
                found
            })
    }

    pub(super) fn root(&self) -> ArrayRoot {
        let top = self.levels.last().and_then(|level| level.first());
        let Pointer {
            page,
            info,
            checksum,
        } = top.copied().unwrap_or_default().pointer;
        let depth = (self.levels.len() - 1) as u8;
        ArrayRoot {
            page,
            info,
            checksum,
            depth,
            count: self.levels[0].len() as u32,
        }
    }

    /// Returns what must be written if the array gets `len` elements of which `changed` (ascending,
    /// below `len`) are new or have changed.
    pub(super) fn plan(&self, len: usize, changed: &[u32]) -> NodePlan {
        assert!(
            changed.is_sorted() && changed.last().is_none_or(|last| (*last as usize) < len),
            "changed elements ascend, and are elements afterwards"
        );
        let mut plan = NodePlan {
            len,
            ..NodePlan::default()
        };
        let mut touched = changed.to_vec();
        let (mut below_old, mut below_new) = (self.levels[0].len(), len);
        for level in 1.. {
            let old = self.levels.get(level).map_or(&[][..], Vec::as_slice);
            let count = if below_new > 1 {
                below_new.div_ceil(self.fanout)
            } else {
                0
            };
            if count == 0 && old.is_empty() {
                break;
            }
            touched.extend(borders(below_old, below_new));
            touched
                .iter_mut()
                .for_each(|index| *index /= self.fanout as u32);
            touched.extend(old.len() as u32..count as u32);
            touched.retain(|index| (*index as usize) < count);
            touched.sort_unstable();
            touched.dedup();
            let replaced = touched.iter().filter_map(|index| old.get(*index as usize));
            plan.dead.extend(
                replaced
                    .chain(old.iter().skip(count))
                    .filter_map(ArrayEntry::page),
            );
            if count > 0 {
                plan.nodes.push(touched.clone());
            }
            (below_old, below_new) = (old.len(), count);
        }
        assert!(
            plan.nodes.last().is_none_or(|top| top.len() <= 1),
            "the highest level has one node"
        );
        plan
    }

    /// Writes the nodes of a plan. There are as many elements as planned, in their positions.
    pub(super) fn write_nodes(&mut self, plan: &NodePlan, writer: &mut PageWriter) {
        assert_eq!(
            self.levels[0].len(),
            plan.len,
            "the elements are those that were planned"
        );
        self.levels.truncate(plan.nodes.len() + 1);
        for (below, nodes) in plan.nodes.iter().enumerate() {
            if self.levels.len() == below + 1 {
                self.levels.push(Vec::new());
            }
            let (lower, upper) = self.levels.split_at_mut(below + 1);
            let (children, level) = (&lower[below], &mut upper[0]);
            level.resize(children.len().div_ceil(self.fanout), ArrayEntry::default());
            for &node in nodes {
                let first = node as usize * self.fanout;
                let last = children.len().min(first + self.fanout);
                let pointers = children[first..last].iter().map(|slot| slot.pointer);
                let info = sum(pointers.clone());
                level[node as usize] = writer.write(info, |page_size, number, birth| {
                    array::build(page_size, number, birth, below as u8 + 1, pointers)
                });
            }
        }
        debug_assert!(
            self.levels[1..]
                .iter()
                .flatten()
                .all(|node| node.page().is_some()),
            "every node of an array that was written has a page"
        );
    }

    /// Reads the nodes below a root. The elements get their births when they are read themselves.
    pub(super) fn read(
        fanout: usize,
        root: &ArrayRoot,
        pages: &mut CheckedPages<'_>,
    ) -> Result<Self> {
        let mut counts = vec![root.count as usize];
        while counts[counts.len() - 1] > 1 {
            counts.push(counts[counts.len() - 1].div_ceil(fanout));
        }
        if counts.len() - 1 != usize::from(root.depth) {
            return Err(damaged(
                root.page,
                "its depth is not that of its count of elements",
            ));
        }
        let ArrayRoot {
            page,
            info,
            checksum,
            ..
        } = *root;
        let top = ArrayEntry {
            pointer: Pointer {
                page,
                info,
                checksum,
            },
            birth: TransactionId::default(),
        };
        if root.count == 0 && top.pointer != Pointer::default() {
            return Err(damaged(page, "it has no elements, and yet a root"));
        }
        let mut levels = vec![vec![top; usize::from(root.count > 0)]];
        for level in (1..counts.len()).rev() {
            let mut children = Vec::new();
            pages.announce(levels.last().into_iter().flatten());
            for (index, node) in levels.last_mut().into_iter().flatten().enumerate() {
                let expected = fanout.min(counts[level - 1] - index * fanout);
                read_node(node, level as u8, expected, pages, &mut children)?;
            }
            levels.push(children);
        }
        levels.reverse();
        Ok(Self { fanout, levels })
    }
}

fn read_node(
    node: &mut ArrayEntry,
    level: u8,
    expected: usize,
    pages: &mut CheckedPages<'_>,
    children: &mut Vec<ArrayEntry>,
) -> Result<()> {
    let number = node.pointer.page;
    let (page, header) = pages.read(node.pointer.page, node.pointer.checksum, PageKind::Array)?;
    if header.level != level || usize::from(header.count) != expected {
        return Err(damaged(
            number,
            "it is another node than the one looked for",
        ));
    }
    if sum(array::pointers(page)) != node.pointer.info {
        return Err(damaged(
            number,
            "its sum differs from the one in its parent",
        ));
    }
    node.birth = header.birth;
    children.extend(array::pointers(page).map(|pointer| ArrayEntry {
        pointer,
        ..ArrayEntry::default()
    }));
    Ok(())
}

fn damaged(page: PageNumber, detail: &str) -> Error {
    Error::corrupted(page, "reading a page array", detail)
}

/// The old and the new end of a level: the number of children changes in the nodes above them.
fn borders(old: usize, new: usize) -> impl Iterator<Item = u32> {
    [old, new]
        .into_iter()
        .filter(move |len| *len > 0 && old != new)
        .map(|len| len as u32 - 1)
}

fn sum(pointers: impl Iterator<Item = Pointer>) -> u32 {
    pointers.fold(0, |sum, pointer| sum.saturating_add(pointer.info))
}
