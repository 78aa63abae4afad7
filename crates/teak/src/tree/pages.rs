//! The pages of a tree by their numbers, without reading what need not be read: leaves only where they may lead to large values.

use super::{PageSource, TreeRoot, enter, visit, visit_inner, visit_leaf};
use crate::{
    Error, PageNumber, Result, Run, TransactionId,
    page::{header::Header, value::ValueRun},
};

const ROLLING_BACK: &str = "rolling back";

/// Whoever wants to know of the pages of a tree.
pub(crate) trait PageVisitor {
    /// Pages of the tree; `false` says that what is below them is not wanted. The birth is that of a large value, which no
    /// page tells.
    fn enter(&mut self, run: Run, value_birth: Option<TransactionId>) -> Result<bool>;
    /// Whether leaves are read, and [`Self::birth`] is told, in any case.
    const READS_ALL: bool;
    /// The birth of a page that was entered and read.
    fn birth(&mut self, _page: PageNumber, _birth: TransactionId) {}
}

/// Tells the visitor of each page of a tree that can be reached by those it enters.
pub(crate) fn visit_pages<S: PageSource + ?Sized, V: PageVisitor>(
    source: &S,
    root: &TreeRoot,
    visitor: &mut V,
) -> Result<()> {
    let Some(level) = root.depth.checked_sub(1) else {
        return Ok(());
    };
    let reads_leaves = V::READS_ALL || root.value_pages > 0;
    if visitor.enter(single(root.page), None)? && (level > 0 || reads_leaves) {
        enter::root(source, root, ROLLING_BACK)?;
        below(source, root.page, level, reads_leaves, visitor)?;
    }
    Ok(())
}

fn below<S: PageSource + ?Sized, V: PageVisitor>(
    source: &S,
    number: PageNumber,
    level: u8,
    reads_leaves: bool,
    visitor: &mut V,
) -> Result<()> {
    let (page, _) = visit(source, number, level, ROLLING_BACK)?;
    visitor.birth(number, Header::read(page).birth);
    if level == 0 {
        return values(source, number, visitor);
    }
    let inner = visit_inner(source, number, level, ROLLING_BACK)?;
    for index in 0..inner.count() {
        let child = inner.child(index);
        let child = child.map_err(|damage| damage.at(number, ROLLING_BACK))?;
        if visitor.enter(single(child), None)? && (level > 1 || reads_leaves) {
            enter::child(source, &inner, number, index, ROLLING_BACK)?;
            below(source, child, level - 1, reads_leaves, visitor)?;
        }
    }
    Ok(())
}

fn values<S: PageSource + ?Sized, V: PageVisitor>(
    source: &S,
    number: PageNumber,
    visitor: &mut V,
) -> Result<()> {
    let leaf = visit_leaf(source, number, ROLLING_BACK)?;
    for index in 0..leaf.count() {
        let run: Result<Option<ValueRun>, _> =
            leaf.node(index).and_then(|node| node.value.as_run());
        let Some(run) = run.map_err(|damage| damage.at(number, ROLLING_BACK))? else {
            continue;
        };
        let pages = run.pages(source.page_size());
        let pages = pages.map_err(|damage| damage.at(number, ROLLING_BACK))?;
        visitor.enter(pages, Some(run.birth))?;
    }
    Ok(())
}

fn single(start: PageNumber) -> Run {
    Run { start, len: 1 }
}

/// A set of pages of a file.
#[derive(Debug)]
pub(crate) struct PageSet(Vec<bool>);

impl PageSet {
    /// None, of a file of so many pages.
    pub(crate) fn new(page_count: u64) -> Self {
        Self(vec![false; page_count.min(1 << 32) as usize])
    }

    pub(crate) fn contains(&self, page: PageNumber) -> bool {
        self.0.get(page.index()).is_some_and(|is_in| *is_in)
    }

    /// Adds pages; `false` if the first was there already.
    pub(crate) fn add(&mut self, run: Run) -> Result<bool> {
        let pages = self.0.get_mut(run.start.index()..run.end() as usize);
        let Some(pages) = pages.filter(|pages| !pages.is_empty()) else {
            let detail = "it is used, and lies behind the end of the database";
            return Err(Error::corrupted(run.start, ROLLING_BACK, detail));
        };
        if pages[0] {
            return Ok(false);
        }
        // Whoever forges a file makes runs overlap, and would have them filled again and again.
        if pages.contains(&true) {
            let detail = "it is used twice";
            return Err(Error::corrupted(run.start, ROLLING_BACK, detail));
        }
        pages.fill(true);
        Ok(true)
    }
}

/// All pages go into a set, each looked at once.
impl PageVisitor for PageSet {
    const READS_ALL: bool = false;

    fn enter(&mut self, run: Run, _: Option<TransactionId>) -> Result<bool> {
        self.add(run)
    }
}
