//! How full a leaf is, and whether its records lie where they should.

use super::{change::value_range, format::LeafArrays, view::Leaf};
use crate::page::{PageDamage, fixed, header::Header};

/// Whether the nodes are disjoint and in the heap, and leave exactly the garbage that the header
/// states: changes of the page rely on this.
pub(crate) fn is_laid_out_well(leaf: &Leaf<'_>, header: &Header) -> Result<bool, PageDamage> {
    if header.is_fixed_leaf() {
        return Ok(true);
    }
    let mut nodes = Vec::with_capacity(leaf.count());
    for index in 0..leaf.count() {
        let start = leaf.node_offset(index).unwrap_or_default();
        nodes.push(start..value_range(leaf, index, &leaf.node(index)?).end);
    }
    nodes.sort_unstable_by_key(|node| node.start);
    let heap_len = usize::from(header.heap_len);
    let mut end = leaf.page.len().saturating_sub(heap_len);
    let mut used_len = usize::from(header.garbage_len);
    for node in nodes {
        if node.start < end {
            return Ok(false);
        }
        end = node.end;
        used_len += node.len();
    }
    Ok(used_len <= heap_len)
}

/// Bytes of the page that its records use, without garbage.
pub(crate) fn used_len(header: &Header) -> usize {
    if header.is_fixed_leaf() {
        return fixed::used_len(header);
    }
    LeafArrays::of(header).end
        + usize::from(header.heap_len).saturating_sub(usize::from(header.garbage_len))
}

/// The gap between the arrays of a leaf and its heap.
pub(crate) fn gap(page: &[u8], header: &Header) -> (usize, usize) {
    if header.is_fixed_leaf() {
        return (fixed::used_len(header).min(page.len()), page.len());
    }
    let heap = page.len().saturating_sub(header.heap_len.into());
    (LeafArrays::of(header).end.min(heap), heap)
}
