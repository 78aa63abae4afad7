//! The pages that the newest record of a file leads to, and the offset of each page number.

use crate::{
    btree::TreeRoot,
    page::{
        header::{HEADER_LEN, Header, PageKind},
        inner::Inner,
        leaf::Leaf,
        value::ValueKind,
    },
    record::{Record, SLOT_COUNT, probe::find_page_size},
};
use std::collections::BTreeSet;

/// Bytes of the value of a named snapshot, without and with marks, and where in it the root of the
/// catalog stands. Those of a prepared transaction have its number of pages before.
const STATE_LENS: [usize; 2] = [80, 112];

pub(super) const STATE_ROOT: usize = 16;

/// Where a record has its roots.
const CATALOG_ROOT: usize = 160;

const SNAPSHOTS_ROOT: usize = 224;

pub(super) const ARRAY_ROOTS: [usize; 2] = [320, 344];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// The root of a tree, in a leaf of the catalog or in the record.
    Tree,
    /// A child of an inner page.
    Child,
    /// A large value.
    Value,
    /// A page of the space map.
    Space,
}

/// A place that names a page, as 4 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pointer {
    pub(super) at: usize,
    pub(super) target: Target,
}

/// All that the newest record leads to.
#[derive(Debug)]
pub(super) struct Anatomy {
    pub(super) page_size: usize,
    /// Where the newest record begins.
    pub(super) record: usize,
    pub(super) pointers: Vec<Pointer>,
    /// Where the pages that were reached begin.
    pub(super) pages: BTreeSet<usize>,
    /// Where the roots of named states stand.
    pub(super) states: BTreeSet<usize>,
}

impl Anatomy {
    pub(super) fn of(image: &[u8]) -> Option<Self> {
        let page_size = find_page_size(image).ok()? as usize;
        let slots = 0..SLOT_COUNT;
        let newest = slots
            .filter_map(|slot| {
                let start = usize::from(slot) * page_size;
                Record::decode(image.get(start..)?, slot).ok()
            })
            .max_by_key(|record| record.sequence)?;
        let record = usize::from(newest.slot) * page_size;
        let mut anatomy = Self {
            page_size,
            record,
            pointers: Vec::new(),
            pages: BTreeSet::new(),
            states: BTreeSet::new(),
        };
        anatomy.follow(image, record + CATALOG_ROOT, Target::Tree);
        anatomy.follow(image, record + SNAPSHOTS_ROOT, Target::Tree);
        for root in ARRAY_ROOTS {
            anatomy.follow(image, record + root, Target::Space);
        }
        Some(anatomy)
    }

    fn follow(&mut self, image: &[u8], at: usize, target: Target) {
        let number = u32_at(image, at) as usize;
        if number < usize::from(SLOT_COUNT) {
            return;
        }
        self.pointers.push(Pointer { at, target });
        let start = number * self.page_size;
        let is_page = target != Target::Value && start + self.page_size <= image.len();
        if is_page && self.pages.insert(start) {
            let page = &image[start..start + self.page_size];
            for (within, target) in pointer_offsets(page) {
                self.follow(image, start + within, target);
            }
            for within in state_offsets(page) {
                self.states.insert(start + within);
                self.follow(image, start + within, Target::Tree);
            }
        }
    }

    pub(super) fn of_target(&self, target: Target) -> Vec<usize> {
        let pointers = self.pointers.iter().filter(|p| p.target == target);
        pointers.map(|pointer| pointer.at).collect()
    }
}

/// The places of a page that name other pages.
fn pointer_offsets(page: &[u8]) -> Vec<(usize, Target)> {
    let page = aligned(page);
    let page: &[u8] = bytemuck::cast_slice(&page);
    let header = Header::read(page);
    match header.kind() {
        Some(PageKind::Inner) => Inner::parse(page).map_or_else(
            |_| Vec::new(),
            |inner| {
                let children = 0..inner.count();
                children
                    .map(|index| (inner.child_offset(index), Target::Child))
                    .collect()
            },
        ),
        Some(PageKind::Leaf) => leaf_offsets(page),
        Some(PageKind::Array) => (0..usize::from(header.count))
            .map(|index| (HEADER_LEN + 16 * index, Target::Space))
            .filter(|(at, _)| at + 16 <= page.len())
            .collect(),
        _ => Vec::new(),
    }
}

fn leaf_offsets(page: &[u8]) -> Vec<(usize, Target)> {
    let Ok(leaf) = Leaf::parse(page) else {
        return Vec::new();
    };
    let nodes = (0..leaf.count()).filter_map(|index| leaf.node(index).ok());
    nodes
        .filter_map(|node| {
            let target = match node.value.kind {
                ValueKind::Tree => Target::Tree,
                ValueKind::Extent => Target::Value,
                _ => return None,
            };
            let at = node.value.bytes.as_ptr().addr() - page.as_ptr().addr();
            Some((at, target))
        })
        .collect()
}

/// The places of a leaf where roots of named states stand, as far as values tell: they are as long
/// as such.
pub(in crate::testing) fn state_offsets(page: &[u8]) -> Vec<usize> {
    let page = aligned(page);
    let page: &[u8] = bytemuck::cast_slice(&page);
    let Ok(leaf) = Leaf::parse(page) else {
        return Vec::new();
    };
    let nodes = (0..leaf.count()).filter_map(|index| leaf.node(index).ok());
    nodes
        .filter_map(|node| {
            let value = node.value;
            let is_state =
                value.kind == ValueKind::Inline && STATE_LENS.contains(&value.bytes.len());
            let root = value.bytes.get(STATE_ROOT..STATE_ROOT + 64)?;
            let at = root.as_ptr().addr() - page.as_ptr().addr();
            (is_state && TreeRoot::decode_entry(root).is_ok()).then_some(at)
        })
        .collect()
}

/// A copy of a page where words are aligned.
pub(super) fn aligned(page: &[u8]) -> Vec<u64> {
    let mut words = vec![0u64; page.len().div_ceil(8)];
    bytemuck::cast_slice_mut(&mut words)[..page.len()].copy_from_slice(page);
    words
}

pub(super) fn u32_at(image: &[u8], at: usize) -> u32 {
    let bytes = image.get(at..at + 4).unwrap_or(&[0; 4]);
    u32::from_le_bytes(bytes.try_into().unwrap_or_default())
}
