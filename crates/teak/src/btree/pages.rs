//! The pages that two forests of trees do not share, by page numbers. Both belong to states that
//! are held, so a page that both lead to is unchanged.
//!
//! The comparison goes down level by level. A page is on the same level in all trees that contain
//! it, and the pages it refers to belong to all of them. So on each level only the pages that one
//! forest has and the other does not are read: as many as have changed.
//!
//! Nested trees, whose roots are in leaves, begin on higher levels again: they are compared in a
//! second round. A nested page has one leaf around it in each state. If that leaf is the same in
//! both, neither forest reaches the page; otherwise both do, in the same round. The exception is a
//! nested tree whose key was removed since, so that it is a tree of its own and belongs to the
//! first round. Both forests then reach its pages in different rounds, which is detected after the
//! last one.

use super::{
    PageSource, TreeRoot, checksums::ChecksummedExtent, enter, visit, visit_inner, visit_leaf,
};
use crate::{
    Checksum, Error, Extent, PageNumber, Result, TransactionId,
    page::{PageDamage, header::Header, value::ValueKind},
};

const COMPARING: &str = "comparing states";

/// A page that a forest leads to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct ForestPage {
    page: PageNumber,
    checksum: u64,
    /// Whether leaves of its tree refer to large values.
    has_values: bool,
    /// Whether they refer to nested trees.
    has_nested: bool,
}

/// A page or a large value that only one of the forests has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unshared {
    pub(crate) birth: TransactionId,
    pub(crate) checksummed: ChecksummedExtent,
}

impl Unshared {
    fn start(&self) -> PageNumber {
        self.checksummed.extent.start
    }
}

/// The trees of a state.
#[derive(Debug)]
pub(crate) struct Forest {
    state: TransactionId,
    levels: Vec<Vec<ForestPage>>,
    values: Vec<Unshared>,
    /// Pages that only this forest has.
    only_here: Vec<Unshared>,
}

impl Forest {
    /// Creates a forest without trees.
    pub(crate) fn new(state: TransactionId) -> Self {
        Self {
            state,
            levels: Vec::new(),
            values: Vec::new(),
            only_here: Vec::new(),
        }
    }

    /// Checks the birth of a page: the state has no page that was born later.
    fn refuse_younger(&self, birth: TransactionId) -> Result<(), PageDamage> {
        match birth <= self.state {
            true => Ok(()),
            false => Err(PageDamage("it has a page of a transaction to come")),
        }
    }

    pub(crate) fn add(&mut self, root: &TreeRoot) {
        let step = ForestPage {
            page: root.page,
            checksum: root.checksum.0,
            has_values: root.value_pages > 0,
            has_nested: root.is_multi(),
        };
        if let Some(level) = root.depth.checked_sub(1) {
            self.level(level.into()).push(step);
        }
    }

    fn level(&mut self, level: usize) -> &mut Vec<ForestPage> {
        if self.levels.len() <= level {
            self.levels.resize_with(level + 1, Vec::new);
        }
        &mut self.levels[level]
    }

    fn take(&mut self, level: usize) -> Vec<ForestPage> {
        let mut steps = self
            .levels
            .get_mut(level)
            .map(std::mem::take)
            .unwrap_or_default();
        steps.sort_unstable();
        // A forged page refers to another one twice.
        steps.dedup_by_key(|step| step.page);
        steps
    }

    /// Adds a page that the other forest does not have, and the pages it refers to.
    fn visit<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        level: usize,
        step: ForestPage,
    ) -> Result<()> {
        let number = step.page;
        enter::page(source, number, Checksum(step.checksum), COMPARING)?;
        let (page, _) = visit(source, number, level as u8, COMPARING)?;
        let birth = Header::read(page).birth;
        (self.refuse_younger(birth)).map_err(|damage| damage.at(number, COMPARING))?;
        self.only_here.push(Unshared {
            birth,
            checksummed: ChecksummedExtent {
                extent: Extent::new(number.0, 1),
                len_bytes: source.page_size() as u64,
                checksum: Checksum(step.checksum),
                is_value: false,
            },
        });
        if level > 0 {
            let inner = visit_inner(source, number, level as u8, COMPARING)?;
            for index in 0..inner.count() {
                let child = inner
                    .child(index)
                    .and_then(|child| Ok((child, inner.checksum(index)?)));
                let (page, checksum) = child.map_err(|damage| damage.at(number, COMPARING))?;
                let checksum = checksum.0;
                self.level(level - 1).push(ForestPage {
                    page,
                    checksum,
                    ..step
                });
            }
        } else if step.has_nested {
            self.add_nested(source, number)?;
        } else if step.has_values {
            let leaf = visit_leaf(source, number, COMPARING)?;
            for index in 0..leaf.count() {
                let extent = leaf.node(index).and_then(|node| node.value.as_extent());
                let extent = extent.and_then(|extent| match extent {
                    Some(extent) => Ok(Some(Unshared {
                        birth: self.refuse_younger(extent.birth).map(|()| extent.birth)?,
                        checksummed: ChecksummedExtent {
                            extent: extent.pages(source.page_size())?,
                            len_bytes: extent.len_bytes,
                            checksum: extent.checksum,
                            is_value: true,
                        },
                    })),
                    None => Ok(None),
                });
                self.values
                    .extend(extent.map_err(|damage| damage.at(number, COMPARING))?);
            }
        }
        Ok(())
    }
}

impl Forest {
    /// Adds the nested trees of a leaf.
    fn add_nested<S: PageSource + ?Sized>(&mut self, source: &S, number: PageNumber) -> Result<()> {
        let leaf = visit_leaf(source, number, COMPARING)?;
        for index in 0..leaf.count() {
            let nested = leaf.node(index).and_then(|node| match node.value.kind {
                ValueKind::Tree => TreeRoot::decode_inner(node.value.bytes).map(Some),
                _ => Ok(None),
            });
            if let Some(root) = nested.map_err(|damage| damage.at(number, COMPARING))? {
                // Nesting is one level deep, whatever a forged root claims.
                let step = ForestPage {
                    page: root.page,
                    checksum: root.checksum.0,
                    has_values: false,
                    has_nested: false,
                };
                self.level(usize::from(root.depth) - 1).push(step);
            }
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.levels.iter().all(Vec::is_empty)
    }
}

/// The pages that only `a` and only `b` have, in no order.
pub(crate) fn unshared<S: PageSource + ?Sized>(
    source: &S,
    mut a: Forest,
    mut b: Forest,
) -> Result<[Vec<Unshared>; 2]> {
    let mut rounds = 0;
    while !a.is_empty() || !b.is_empty() {
        rounds += 1;
        for level in (0..a.levels.len().max(b.levels.len())).rev() {
            let (steps_a, steps_b) = (a.take(level), b.take(level));
            refuse_different(&steps_a, &steps_b, |step| (step.page, step.checksum))?;
            for step in only_in(&steps_a, &steps_b, |step| step.page) {
                a.visit(source, level, *step)?;
            }
            for step in only_in(&steps_b, &steps_a, |step| step.page) {
                b.visit(source, level, *step)?;
            }
        }
    }
    for forest in [&mut a, &mut b] {
        if rounds > 1 {
            // A forged nested tree has pages of the tree around it.
            forest.only_here.sort_unstable_by_key(Unshared::start);
            forest.only_here.dedup_by_key(|page| page.start());
        }
        forest.values.sort_unstable_by_key(Unshared::start);
        forest.values.dedup_by_key(|value| value.start());
    }
    let of = |page: &Unshared| (page.start(), page.checksummed.checksum.0);
    refuse_different(&a.values, &b.values, of)?;
    if rounds > 1 {
        refuse_different(&a.only_here, &b.only_here, of)?;
        let both = [&a.only_here, &b.only_here];
        let [only_a, only_b] = [both, [both[1], both[0]]].map(|[one, other]| {
            let only = only_in(one, other, Unshared::start);
            only.copied().collect()
        });
        (a.only_here, b.only_here) = (only_a, only_b);
    }
    a.only_here
        .extend(only_in(&a.values, &b.values, Unshared::start));
    b.only_here
        .extend(only_in(&b.values, &a.values, Unshared::start));
    Ok([a.only_here, b.only_here])
}

/// Refuses a page for which both store different checksums: one state has lost it. Both are sorted
/// by their pages.
fn refuse_different<T>(a: &[T], b: &[T], of: impl Fn(&T) -> (PageNumber, u64)) -> Result<()> {
    let mut left = b;
    for (page, checksum) in a.iter().map(&of) {
        left = &left[left.partition_point(|other| of(other).0 < page)..];
        let other = left.first().map(&of);
        if other.is_some_and(|(other, other_checksum)| other == page && other_checksum != checksum)
        {
            let detail = "two states lead to it, and have different checksums for it";
            return Err(Error::corrupted(page, COMPARING, detail));
        }
    }
    Ok(())
}

/// The items of `a` whose page is not in `b`, both sorted by page.
fn only_in<'a, T>(
    a: &'a [T],
    b: &'a [T],
    page: impl Fn(&T) -> PageNumber,
) -> impl Iterator<Item = &'a T> {
    let mut left = b;
    a.iter().filter(move |item| {
        let wanted = page(item);
        left = &left[left.partition_point(|other| page(other) < wanted)..];
        left.first().is_none_or(|other| page(other) != wanted)
    })
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
