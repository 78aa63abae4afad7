//! The tags of a tree's pages, as what points to them keeps them. Leaves are read only where values of their own pages or nested
//! trees may hang on them: the tags of all others stand in inner pages, which are few.

use super::{PageSource, TreeRoot, enter, visit_inner, visit_leaf};
use crate::{
    PageNumber, Result, Run, Tag,
    page::{Damage, leaf::Node, value::ValueKind},
};

const READING: &str = "reading the tags of pages";

/// A page of a tree, or a large value, and the tag that it ought to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tagged {
    pub(crate) run: Run,
    /// Bytes from the first page on that the tag is of.
    pub(crate) len_bytes: u64,
    pub(crate) tag: Tag,
    pub(crate) is_value: bool,
}

/// Calls `visit` with each page and each large value. Where it answers `false` nothing below is looked at.
pub(crate) fn for_each<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    visit: &mut dyn FnMut(Tagged) -> Result<bool>,
) -> Result<()> {
    let mut walk = Walk {
        source,
        has_more: root.value_pages > 0 || root.is_multi(),
        visit,
    };
    walk.tree(root)
}

struct Walk<'w, S: ?Sized> {
    source: &'w S,
    /// Whether there is something behind leaves.
    has_more: bool,
    visit: &'w mut dyn FnMut(Tagged) -> Result<bool>,
}

impl<S: PageSource + ?Sized> Walk<'_, S> {
    fn tree(&mut self, root: &TreeRoot) -> Result<()> {
        match root.depth.checked_sub(1) {
            Some(level) => self.page(root.page, root.tag, level),
            None => Ok(()),
        }
    }

    fn page(&mut self, number: PageNumber, tag: Tag, level: u8) -> Result<()> {
        let page = Tagged {
            run: Run::new(number.0, 1),
            len_bytes: self.source.page_size() as u64,
            tag,
            is_value: false,
        };
        if !(self.visit)(page)? || (level == 0 && !self.has_more) {
            return Ok(());
        }
        enter::page(self.source, number, tag, READING)?;
        match level {
            0 => self.values(number),
            _ => self.children(number, level),
        }
    }

    fn children(&mut self, number: PageNumber, level: u8) -> Result<()> {
        let inner = visit_inner(self.source, number, level, READING)?;
        for index in 0..inner.count() {
            let child = inner.child(index).and_then(|c| Ok((c, inner.tag(index)?)));
            let (child, tag) = child.map_err(|damage| damage.at(number, READING))?;
            self.page(child, tag, level - 1)?;
        }
        Ok(())
    }

    fn values(&mut self, number: PageNumber) -> Result<()> {
        let leaf = visit_leaf(self.source, number, READING)?;
        for index in 0..leaf.count() {
            let behind = leaf.node(index).and_then(|node| self.behind(&node));
            match behind.map_err(|damage| damage.at(number, READING))? {
                Behind::Nothing => {}
                Behind::Value(value) => {
                    (self.visit)(value)?;
                }
                Behind::Tree(root) => {
                    // Nesting is one deep, whatever a forged root says.
                    self.has_more = false;
                    let walked = self.tree(&root);
                    self.has_more = true;
                    walked?;
                }
            }
        }
        Ok(())
    }

    fn behind(&self, node: &Node<'_>) -> Result<Behind, Damage> {
        Ok(match node.value.kind {
            ValueKind::Tree => Behind::Tree(TreeRoot::decode_inner(node.value.bytes)?),
            _ => match node.value.as_run()? {
                Some(value) => Behind::Value(Tagged {
                    run: value.pages(self.source.page_size())?,
                    len_bytes: value.len_bytes,
                    tag: value.tag,
                    is_value: true,
                }),
                None => Behind::Nothing,
            },
        })
    }
}

/// What a record of a leaf leads to.
enum Behind {
    Nothing,
    Value(Tagged),
    Tree(TreeRoot),
}
