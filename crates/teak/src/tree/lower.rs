//! Moving pages from the end of the file to free ones before it, a few at a time, so that the end can be cut off.
//!
//! A page is moved as if it was changed: it and what leads to it are copied, and the original dies. So a walk
//! goes through the tree in the order of keys, from where it left off the last time. Inner pages know the numbers of
//! leaves, which are not read unless they are moved, or the table has large values.

use super::{
    PageSink, enter,
    insert::{RunBytes, Tree},
    position::{Position, Step},
    visit_inner, visit_leaf,
};
use crate::{
    PageNumber, Result,
    page::{
        leaf,
        value::{StoredValue, ValueKind, ValueRun},
    },
};

/// How far a walk may go, and what it did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lowering {
    /// Pages from here on are moved.
    pub(crate) boundary: u64,
    /// So many pages may still be copied.
    pub(crate) pages_left: u64,
    /// So many pages may still be looked at.
    pub(crate) looks_left: u64,
    /// Pages behind the boundary that were moved.
    pub(crate) moved: u64,
}

impl Lowering {
    fn is_high(&self, page: PageNumber) -> bool {
        u64::from(page.0) >= self.boundary
    }

    fn is_spent(&self) -> bool {
        self.pages_left == 0 || self.looks_left == 0
    }
}

impl<S: PageSink> Tree<'_, S> {
    /// Moves pages of the tree from the record `from` on. Returns the key to go on from, or `None` at the end. After an
    /// error the tree is whole, and the rest is where it was.
    pub(crate) fn lower(&mut self, from: &[u8], work: &mut Lowering) -> Result<Option<Vec<u8>>> {
        let mut position = Position::default();
        if position.seek(&*self.sink, self.root, from)?.is_none() {
            return Ok(None);
        }
        loop {
            let path = self.lower_path(position.path().to_vec(), work)?;
            let path = match self.root.value_pages {
                0 => path,
                _ => self.lower_values(path, work)?,
            };
            let Some(next) = self.next_to_lower(path, work)? else {
                return Ok(None);
            };
            position = next;
            if work.is_spent() {
                return self.first_key(&position).map(Some);
            }
        }
    }

    /// Moves what a path leads through, if any of it is too high.
    fn lower_path(&mut self, path: Vec<Step>, work: &mut Lowering) -> Result<Vec<Step>> {
        let is_high = |step: &&Step| work.is_high(step.page) && !self.sink.is_own(step.page);
        let high = path.iter().filter(is_high).count() as u64;
        if high == 0 {
            return Ok(path);
        }
        let before = path.clone();
        let path = self.own_path(path)?;
        let copied = path
            .iter()
            .zip(&before)
            .filter(|(new, old)| new.page != old.page);
        work.pages_left = work.pages_left.saturating_sub(copied.count() as u64);
        work.moved += high;
        Ok(path)
    }

    /// Moves the large values of a leaf that are too high. One that is far larger than what may be copied stays.
    fn lower_values(&mut self, mut path: Vec<Step>, work: &mut Lowering) -> Result<Vec<Step>> {
        let Some(&Step { page, count, .. }) = path.last() else {
            return Ok(path);
        };
        for index in 0..count {
            let leaf = path.last().map_or(page, |step| step.page);
            let Some(run) = self.run_at(leaf, index)? else {
                continue;
            };
            let pages = run.len_bytes.div_ceil(self.sink.page_size() as u64);
            let is_high = u64::from(run.start.0) + pages > work.boundary;
            if !is_high || pages > work.pages_left || self.sink.is_dirty(run.start) {
                continue;
            }
            let value = enter::value(&*self.sink, &run)?.to_vec();
            path = self.own_path(path)?;
            let leaf = path.last().map_or(page, |step| step.page);
            let mut bytes = RunBytes::default();
            self.keep_in_run(&value, &mut bytes)?;
            let kept = StoredValue {
                kind: ValueKind::Run,
                bytes: &bytes,
            };
            leaf::overwrite(self.sink.page_mut(leaf)?, index, kept)
                .map_err(|damage| damage.at(leaf, "compact"))?;
            self.release_run(&run)?;
            work.pages_left -= pages;
            work.moved += pages;
        }
        Ok(path)
    }

    fn run_at(&self, number: PageNumber, index: usize) -> Result<Option<ValueRun>> {
        let leaf = visit_leaf(&*self.sink, number, "compact")?;
        let run = leaf.node(index).and_then(|node| node.value.as_run());
        run.map_err(|damage| damage.at(number, "compact"))
    }

    /// The next leaf that has to be looked at.
    fn next_to_lower(
        &mut self,
        mut path: Vec<Step>,
        work: &mut Lowering,
    ) -> Result<Option<Position>> {
        work.looks_left = work.looks_left.saturating_sub(1);
        let parent = path.len().checked_sub(2);
        if let Some(parent) = parent.filter(|_| self.root.value_pages == 0) {
            let step = path[parent];
            let next = self.next_high_child(&step, work)?;
            path[parent].index = next.map_or(step.count.saturating_sub(1), |index| index - 1);
        }
        if let Some(leaf) = path.last_mut() {
            leaf.index = leaf.count.saturating_sub(1);
        }
        let mut position = Position::on(path);
        let entered = position.next_leaf(&*self.sink, self.root)?.is_some();
        Ok(entered.then_some(position))
    }

    /// The next child of an inner page above leaves that is too high.
    fn next_high_child(&self, step: &Step, work: &Lowering) -> Result<Option<usize>> {
        let inner = visit_inner(&*self.sink, step.page, 1, "compact")?;
        for index in step.index + 1..inner.count() {
            let child = inner.child(index);
            let child = child.map_err(|damage| damage.at(step.page, "compact"))?;
            if work.is_high(child) && !self.sink.is_own(child) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn first_key(&self, position: &Position) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        super::cursor::record_at(&*self.sink, position, &mut key)?;
        Ok(key)
    }
}
