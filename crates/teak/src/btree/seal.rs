//! Sealing: from the leaves up, each page's checksum is stored in its parent. The root page's
//! checksum is stored in the [`TreeRoot`]; the root of a nested tree is in a leaf of the tree
//! around it.

use super::{PageSink, TreeRoot, visit, visit_inner, visit_leaf};
use crate::{
    Checksum, PageNumber, Result,
    page::{
        PageDamage, inner,
        leaf::{self, Leaf},
        value::{StoredValue, ValueKind},
    },
};

/// Computes the checksums of all pages that this transaction wrote, and of the root.
pub(crate) fn seal<S: PageSink>(sink: &mut S, root: &mut TreeRoot) -> Result<()> {
    root.checksum = match root.depth {
        0 => Checksum::default(),
        depth if sink.is_dirty(root.page) => seal_page(sink, root, root.page, depth - 1)?,
        _ => root.checksum,
    };
    Ok(())
}

fn seal_page<S: PageSink>(
    sink: &mut S,
    root: &TreeRoot,
    number: PageNumber,
    level: u8,
) -> Result<Checksum> {
    if level == 0 && root.is_multi() {
        // A known checksum of such a leaf may be outdated.
        seal_nested(sink, root, number)?;
    }
    if let Some(checksum) = sink.known_checksum(number) {
        return Ok(checksum);
    }
    if level > 0 {
        for (index, child) in dirty_children(sink, number, level)? {
            let checksum = seal_page(sink, root, child, level - 1)?;
            inner::set_checksum(sink.page_mut(number)?, index, checksum);
        }
    }
    let (page, _) = visit(sink, number, level, "commit")?;
    Ok(Checksum::of(page))
}

fn dirty_children<S: PageSink>(
    sink: &S,
    number: PageNumber,
    level: u8,
) -> Result<Vec<(usize, PageNumber)>> {
    let inner = visit_inner(sink, number, level, "commit")?;
    let children = inner.children().enumerate();
    Ok(children
        .filter(|(_, child)| sink.is_dirty(*child))
        .collect())
}

/// Seals the nested trees of a leaf.
fn seal_nested<S: PageSink>(sink: &mut S, root: &TreeRoot, number: PageNumber) -> Result<()> {
    let damaged = |damage: PageDamage| damage.at(number, "commit");
    let leaf = visit_leaf(sink, number, "commit")?;
    if !leaf.has_references() {
        return Ok(());
    }
    for (index, mut nested) in dirty_nested(sink, root, &leaf).map_err(damaged)? {
        let before = nested.checksum;
        seal(sink, &mut nested)?;
        if nested.checksum == before {
            continue;
        }
        let value = StoredValue {
            kind: ValueKind::Tree,
            bytes: &nested.encode(),
        };
        leaf::set_value(sink.page_mut(number)?, index, value).map_err(damaged)?;
    }
    Ok(())
}

/// The nested trees of a leaf with pages that this transaction wrote.
fn dirty_nested<S: PageSink>(
    sink: &S,
    root: &TreeRoot,
    leaf: &Leaf<'_>,
) -> Result<Vec<(usize, TreeRoot)>, PageDamage> {
    let mut dirty = Vec::new();
    for index in 0..leaf.count() {
        let value = leaf.node(index)?.value;
        if value.kind == ValueKind::Tree {
            let nested = root.decode_nested(value.bytes)?;
            if sink.is_dirty(nested.page) {
                dirty.push((index, nested));
            }
        }
    }
    Ok(dirty)
}
