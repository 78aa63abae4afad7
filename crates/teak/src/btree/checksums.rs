//! The checksums of a tree's pages, as stored with the pointers to them. Leaves are read only if
//! their values may refer to extents or nested trees: the checksums of all other pages are in inner
//! pages, which are few.

use super::{PageSource, TreeRoot, enter, visit_inner, visit_leaf};
use crate::{
    Checksum, Extent, PageNumber, Result,
    page::{PageDamage, leaf::Node, value::ValueKind},
};

const READING: &str = "reading the checksums of pages";

/// A page of a tree, or a large value, and its expected checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ChecksummedExtent {
    pub(crate) extent: Extent,
    /// Bytes from the first page on that the checksum covers.
    pub(crate) len_bytes: u64,
    pub(crate) checksum: Checksum,
    pub(crate) is_value: bool,
}

/// Calls `visit` with each page and each large value. If it returns `false`, nothing below is
/// visited.
pub(crate) fn for_each<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    visit: &mut dyn FnMut(ChecksummedExtent) -> Result<bool>,
) -> Result<()> {
    let mut walk = ChecksumWalk {
        source,
        has_more: root.value_pages > 0 || root.is_multi(),
        visit,
    };
    walk.tree(root)
}

struct ChecksumWalk<'w, S: ?Sized> {
    source: &'w S,
    /// Whether leaves refer to further pages.
    has_more: bool,
    visit: &'w mut dyn FnMut(ChecksummedExtent) -> Result<bool>,
}

impl<S: PageSource + ?Sized> ChecksumWalk<'_, S> {
    fn tree(&mut self, root: &TreeRoot) -> Result<()> {
        match root.depth.checked_sub(1) {
            Some(level) => self.page(root.page, root.checksum, level),
            None => Ok(()),
        }
    }

    fn page(&mut self, number: PageNumber, checksum: Checksum, level: u8) -> Result<()> {
        let page = ChecksummedExtent {
            extent: Extent::new(number.0, 1),
            len_bytes: self.source.page_size() as u64,
            checksum,
            is_value: false,
        };
        if !(self.visit)(page)? || (level == 0 && !self.has_more) {
            return Ok(());
        }
        enter::page(self.source, number, checksum, READING)?;
        match level {
            0 => self.values(number),
            _ => self.children(number, level),
        }
    }

    fn children(&mut self, number: PageNumber, level: u8) -> Result<()> {
        let inner = visit_inner(self.source, number, level, READING)?;
        for index in 0..inner.count() {
            let child = inner
                .child(index)
                .and_then(|c| Ok((c, inner.checksum(index)?)));
            let (child, checksum) = child.map_err(|damage| damage.at(number, READING))?;
            self.page(child, checksum, level - 1)?;
        }
        Ok(())
    }

    fn values(&mut self, number: PageNumber) -> Result<()> {
        let leaf = visit_leaf(self.source, number, READING)?;
        for index in 0..leaf.count() {
            let referenced = leaf.node(index).and_then(|node| self.referenced(&node));
            match referenced.map_err(|damage| damage.at(number, READING))? {
                Referenced::Nothing => {}
                Referenced::Value(value) => {
                    (self.visit)(value)?;
                }
                Referenced::Tree(root) => {
                    // Nesting is one level deep, whatever a forged root claims.
                    self.has_more = false;
                    let walked = self.tree(&root);
                    self.has_more = true;
                    walked?;
                }
            }
        }
        Ok(())
    }

    fn referenced(&self, node: &Node<'_>) -> Result<Referenced, PageDamage> {
        Ok(match node.value.kind {
            ValueKind::Tree => Referenced::Tree(TreeRoot::decode_inner(node.value.bytes)?),
            _ => match node.value.as_extent()? {
                Some(value) => Referenced::Value(ChecksummedExtent {
                    extent: value.pages(self.source.page_size())?,
                    len_bytes: value.len_bytes,
                    checksum: value.checksum,
                    is_value: true,
                }),
                None => Referenced::Nothing,
            },
        })
    }
}

/// The target of a reference in a leaf.
enum Referenced {
    Nothing,
    Value(ChecksummedExtent),
    Tree(TreeRoot),
}
