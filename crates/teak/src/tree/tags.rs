//! The tags of a tree's pages, as what points to them keeps them. Leaves are read only where values of their own pages may hang
//! on them: the tags of all others stand in inner pages, which are few.

use super::{PageSource, TreeRoot, enter, visit_inner, visit_leaf};
use crate::{PageNumber, Result, Run, Tag};

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
        has_values: root.value_pages > 0,
        visit,
    };
    match root.depth.checked_sub(1) {
        Some(level) => walk.page(root.page, root.tag, level),
        None => Ok(()),
    }
}

struct Walk<'w, S: ?Sized> {
    source: &'w S,
    has_values: bool,
    visit: &'w mut dyn FnMut(Tagged) -> Result<bool>,
}

impl<S: PageSource + ?Sized> Walk<'_, S> {
    fn page(&mut self, number: PageNumber, tag: Tag, level: u8) -> Result<()> {
        let page = Tagged {
            run: Run::new(number.0, 1),
            len_bytes: self.source.page_size() as u64,
            tag,
            is_value: false,
        };
        if !(self.visit)(page)? || (level == 0 && !self.has_values) {
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
            let run = leaf.node(index).and_then(|node| node.value.as_run());
            let Some(value) = run.map_err(|damage| damage.at(number, READING))? else {
                continue;
            };
            let pages = value.pages(self.source.page_size());
            (self.visit)(Tagged {
                run: pages.map_err(|damage| damage.at(number, READING))?,
                len_bytes: value.len_bytes,
                tag: value.tag,
                is_value: true,
            })?;
        }
        Ok(())
    }
}
