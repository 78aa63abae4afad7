//! One of the two trees that [`differences`](super::differences) walks along: how far the walk has
//! come in it, and the next item there. This is a record, or a whole subtree of which nothing has
//! been read.

use super::{PageSource, TreeRoot, enter, visit_inner, visit_leaf};
use crate::{
    Checksum, PageNumber, Result,
    page::{PageDamage, inner::Inner, leaf::Leaf, value::StoredValue},
};
use std::ops::Bound;

/// The operation name in errors.
const OPERATION: &str = "differences";

/// The next item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WalkItem {
    /// A page that has not been entered, with everything below it.
    Subtree {
        number: PageNumber,
        level: u8,
        checksum: Checksum,
    },
    /// A record.
    Record,
    End,
}

#[derive(Clone, Copy, Debug)]
enum EnteredPage<'s> {
    Inner(Inner<'s>),
    Leaf(Leaf<'s>),
}

/// A page that was entered, and the entry in it that is next or leads to the next item.
#[derive(Clone, Copy, Debug)]
struct SideStep<'s> {
    number: PageNumber,
    level: u8,
    /// The checksum stored with the pointer to the page.
    checksum: Checksum,
    page: EnteredPage<'s>,
    count: usize,
    /// The entry at which the page was entered.
    start: usize,
    index: usize,
}

/// The state of a walk in one tree.
#[derive(Debug)]
pub(super) struct DifferenceSide<'s, S: ?Sized> {
    source: &'s S,
    root: TreeRoot,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    path: Vec<SideStep<'s>>,
    item: WalkItem,
    /// Whether the walk is still descending to the beginning of the range.
    is_on_edge: bool,
    /// A lower bound of the keys in the next subtree, if it was determined; the inner value is
    /// `None` if it is the first of all.
    low: Option<Option<Vec<u8>>>,
    /// The lower bound of the last entered subtree that was not the first of its page.
    last_low: Option<Vec<u8>>,
    /// The key of the next record.
    key: Vec<u8>,
    value: StoredValue<'s>,
    has_read: bool,
    /// The key of the record that was read before it, or empty.
    last_key: Vec<u8>,
}

impl<'s, S: PageSource + ?Sized> DifferenceSide<'s, S> {
    pub(super) fn new(
        source: &'s S,
        root: TreeRoot,
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
    ) -> Self {
        let item = match root.depth.checked_sub(1) {
            None => WalkItem::End,
            Some(level) => WalkItem::Subtree {
                number: root.page,
                level,
                checksum: root.checksum,
            },
        };
        Self {
            source,
            root,
            from,
            to,
            path: Vec::new(),
            item,
            is_on_edge: true,
            low: None,
            last_low: None,
            key: Vec::new(),
            value: StoredValue::inline(&[]),
            has_read: false,
            last_key: Vec::new(),
        }
    }

    pub(super) fn source(&self) -> &'s S {
        self.source
    }

    pub(super) fn root(&self) -> &TreeRoot {
        &self.root
    }

    pub(super) fn item(&self) -> WalkItem {
        self.item
    }

    /// The key of the next record.
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The value of the next record, as its leaf holds it.
    pub(super) fn stored_value(&self) -> StoredValue<'s> {
        self.value
    }

    /// The bytes of that value.
    pub(super) fn value(&self) -> Result<&'s [u8]> {
        let leaf = self.path.last().map_or(self.root.page, |step| step.number);
        super::lookup::load(self.source, leaf, self.value)
    }

    /// A lower bound of the keys in the next subtree: the separator before it; `None` if it is the
    /// first of all.
    pub(super) fn low(&mut self) -> Result<Option<&[u8]>> {
        if self.low.is_none() {
            let above = self.path.iter().rev().find(|step| step.index > 0);
            self.low = Some(match above {
                Some(SideStep {
                    number,
                    page: EnteredPage::Inner(inner),
                    index,
                    ..
                }) => Some(
                    inner
                        .separator(*index)
                        .map_err(|damage| damage.at(*number, OPERATION))?,
                ),
                _ => None,
            });
        }
        Ok(self.low.as_ref().and_then(Option::as_deref))
    }

    /// Enters the next subtree: its first item is the next one then.
    pub(super) fn enter(&mut self) -> Result<()> {
        let WalkItem::Subtree {
            number,
            level,
            checksum,
        } = self.item
        else {
            return Ok(());
        };
        match self.path.last() {
            Some(SideStep {
                number: parent,
                page: EnteredPage::Inner(inner),
                index,
                ..
            }) => enter::child(self.source, inner, *parent, *index, OPERATION)?,
            _ => enter::root(self.source, &self.root, OPERATION)?,
        };
        self.refuse_disorder()?;
        let page = match level {
            0 => EnteredPage::Leaf(visit_leaf(self.source, number, OPERATION)?),
            _ => EnteredPage::Inner(visit_inner(self.source, number, level, OPERATION)?),
        };
        let count = match &page {
            EnteredPage::Leaf(leaf) => leaf.count(),
            EnteredPage::Inner(inner) => inner.count(),
        };
        if count == 0 {
            return Err(PageDamage("a page of a tree is empty").at(number, OPERATION));
        }
        let start = match self.is_on_edge {
            true => self
                .edge(&page)
                .map_err(|damage| damage.at(number, OPERATION))?,
            false => 0,
        };
        self.path.push(SideStep {
            number,
            level,
            checksum,
            page,
            count,
            start,
            index: start,
        });
        match start < count {
            true => self.settle(),
            false => self.pass(),
        }
    }

    /// The entry of a page at which the range begins; past the last of a leaf, if the range begins
    /// after it.
    fn edge(&self, page: &EnteredPage<'s>) -> Result<usize, PageDamage> {
        let (Bound::Included(key) | Bound::Excluded(key)) = &self.from else {
            return Ok(0);
        };
        match page {
            EnteredPage::Inner(inner) => inner.search(self.root.order, key),
            EnteredPage::Leaf(leaf) => Ok(match leaf.search(self.root.order, key)? {
                Ok(index) => index + usize::from(matches!(self.from, Bound::Excluded(_))),
                Err(index) => index,
            }),
        }
    }

    /// Checks that the subtrees that are entered ascend. So no page of a damaged tree is entered
    /// again and again.
    fn refuse_disorder(&mut self) -> Result<()> {
        let parent = match self.path.last() {
            Some(step) if step.index > 0 => step.number,
            _ => return Ok(()),
        };
        self.low()?;
        let low = self.low.as_ref().and_then(Option::as_deref);
        let low = low.unwrap_or_default();
        let last = self.last_low.as_deref();
        if last.is_some_and(|last| self.root.order.compare(last, low).is_ge()) {
            let damage = PageDamage("its separators are not in ascending order");
            return Err(damage.at(parent, OPERATION));
        }
        let last = self.last_low.get_or_insert_default();
        last.clear();
        last.extend_from_slice(low);
        Ok(())
    }

    /// Passes the next item, without entering it if it is a subtree.
    pub(super) fn pass(&mut self) -> Result<()> {
        self.is_on_edge = false;
        while let Some(step) = self.path.last_mut() {
            step.index += 1;
            if step.index < step.count {
                return self.settle();
            }
            self.path.pop();
        }
        self.end();
        Ok(())
    }

    /// How many pages above it were entered, if this subtree was entered and nothing in it has been
    /// passed.
    pub(super) fn is_at_start_of(
        &self,
        number: PageNumber,
        level: u8,
        checksum: Checksum,
    ) -> Option<usize> {
        let matches_page = |step: &SideStep<'_>| {
            (step.number, step.level, step.checksum) == (number, level, checksum)
        };
        let depth = self.path.iter().position(matches_page)?;
        let is_at_start = |step: &SideStep<'_>| step.index == step.start;
        self.path[depth..].iter().all(is_at_start).then_some(depth)
    }

    /// Passes the subtree at this depth.
    pub(super) fn pass_subtree(&mut self, depth: usize) -> Result<()> {
        self.path.truncate(depth);
        self.pass()
    }

    fn end(&mut self) {
        self.path.clear();
        self.item = WalkItem::End;
    }

    /// Determines the next item, at the end of the path.
    fn settle(&mut self) -> Result<()> {
        self.low = None;
        let Some(&step) = self.path.last() else {
            return Ok(());
        };
        match step.page {
            EnteredPage::Leaf(leaf) => self.read(&step, &leaf)?,
            EnteredPage::Inner(inner) => {
                let child = (inner.child(step.index))
                    .and_then(|child| Ok((child, inner.checksum(step.index)?)));
                let (number, checksum) =
                    child.map_err(|damage| damage.at(step.number, OPERATION))?;
                self.item = WalkItem::Subtree {
                    number,
                    level: step.level - 1,
                    checksum,
                };
            }
        }
        if self.is_past_end()? {
            self.end();
        }
        Ok(())
    }

    fn read(&mut self, step: &SideStep<'s>, leaf: &Leaf<'s>) -> Result<()> {
        let node = leaf
            .node(step.index)
            .map_err(|damage| damage.at(step.number, OPERATION))?;
        std::mem::swap(&mut self.last_key, &mut self.key);
        self.key.clear();
        leaf.append_key(step.index, &node, &mut self.key);
        self.value = node.value;
        self.item = WalkItem::Record;
        let is_first = !std::mem::replace(&mut self.has_read, true);
        match is_first || self.root.order.compare(&self.last_key, &self.key).is_lt() {
            true => Ok(()),
            false => {
                Err(PageDamage("its keys are not in ascending order").at(step.number, OPERATION))
            }
        }
    }

    /// Whether the next item is after the range.
    fn is_past_end(&mut self) -> Result<bool> {
        if self.to == Bound::Unbounded {
            return Ok(false);
        }
        let order = self.root.order;
        if self.item != WalkItem::Record {
            self.low()?;
        }
        let first = match (self.item, &self.low) {
            (WalkItem::Record, _) => &self.key,
            (_, Some(Some(low))) => low,
            _ => return Ok(false),
        };
        Ok(match &self.to {
            Bound::Unbounded => false,
            Bound::Included(to) => order.stored_to(first, to).is_gt(),
            Bound::Excluded(to) => order.stored_to(first, to).is_ge(),
        })
    }
}
