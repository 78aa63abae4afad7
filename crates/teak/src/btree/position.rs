//! Positions in a tree: a path of page numbers and indices. A [`Position`] holds no reference, so
//! that it can be stored next to the owner of the pages; each step takes the source.

pub(super) mod descend;
mod steps;

use super::{PageSource, TreeRoot, enter, visit_inner, visit_leaf};
use crate::{
    Error, PageNumber, Result,
    page::{inner::Inner, leaf::Leaf},
};

/// One level of a path: a page, the index of the entry taken in it, and its number of entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PathStep {
    pub(crate) page: PageNumber,
    pub(crate) index: usize,
    pub(crate) count: usize,
}

impl PathStep {
    /// Whether it is the last entry of its page.
    pub(super) fn is_last(&self) -> bool {
        self.index + 1 == self.count
    }
}

/// The state of a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum PositionState {
    /// Unset: a step forward goes to the first record, a step back to the last.
    #[default]
    Unset,
    /// Before the first record.
    Before,
    /// On a record: the last step of the path.
    On,
    /// After the last record.
    After,
    /// Lost, because an error occurred on the way.
    Lost,
}

/// A position in a tree. The path is empty unless the position is on a record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Position {
    path: Vec<PathStep>,
    state: PositionState,
    /// How many leaves were entered one after the other since the last search: forwards or, if
    /// negative, backwards. A tree has only a limited number. In a damaged tree whose pages share
    /// their children a walk would not end otherwise.
    passed: i64,
    /// How many records were passed since the last search: all of each leaf that was entered,
    /// except for the one of a search.
    passed_records: i64,
}

/// The leaf that a step led to.
pub(super) struct EnteredLeaf<'s> {
    pub(super) number: PageNumber,
    pub(super) leaf: Leaf<'s>,
    /// The next two leaves, as far as they have the same parent.
    pub(super) after: [Option<PageNumber>; 2],
}

/// The direction in which a cursor moves.
///
/// ```
/// # use teak::{Database, Direction, MultiTableDef, TableOptions, ValueSize};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let options = TableOptions::new().value_size(ValueSize::Bytes(4));
/// let lines = MultiTableDef::<&str, u32>::new("lines").options(options).create(&mut txn)?;
/// lines.insert_values(&mut txn, "teak", &[3, 5, 12])?;
/// let mut cursor = lines.cursor(&txn)?;
/// cursor.last()?;
/// let values = cursor.read_packed(Direction::Backward)?;
/// assert_eq!(values.map(<[u8]>::len), Some(12));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Towards the last record.
    Forward,
    /// Towards the first record.
    Backward,
}

impl Direction {
    pub(crate) fn opposite(self) -> Self {
        match self {
            Self::Backward => Self::Forward,
            Self::Forward => Self::Backward,
        }
    }

    /// The index of the entry `distance` after `index` in this direction.
    fn after(self, index: usize, distance: usize) -> Option<usize> {
        match self {
            Self::Forward => Some(index + distance),
            Self::Backward => index.checked_sub(distance),
        }
    }
}

impl Position {
    /// A position on the record that a path leads to.
    pub(crate) fn on(path: Vec<PathStep>) -> Self {
        Self {
            path,
            state: PositionState::On,
            passed: 0,
            passed_records: 0,
        }
    }

    /// The leaf and the index in it, if the position is on a record.
    #[inline]
    pub(crate) fn record(&self) -> Option<(PageNumber, usize)> {
        match self.state {
            PositionState::On => self.path.last().map(|step| (step.page, step.index)),
            _ => None,
        }
    }

    /// Whether both are on the same record, or both on none.
    #[inline]
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        // In a damaged tree several paths lead to one leaf.
        self.record() == other.record() && self.path == other.path
    }

    /// How many steps in a direction lead to records of this leaf, and neither to `end` nor beyond.
    pub(crate) fn run_to(&self, end: &Self, direction: Direction) -> usize {
        let Some((leaf, above)) = self.path.split_last() else {
            return 0;
        };
        let end_index = match end.path.split_last() {
            Some((other, other_above)) if other.page == leaf.page && other_above == above => {
                Some(other.index)
            }
            _ => None,
        };
        let (from, to) = match direction {
            Direction::Forward => (leaf.index + 1, end_index.unwrap_or(leaf.count)),
            Direction::Backward => (end_index.map_or(0, |index| index + 1), leaf.index),
        };
        to.saturating_sub(from)
    }

    /// The path from the root to the leaf.
    pub(crate) fn path(&self) -> &[PathStep] {
        &self.path
    }

    pub(super) fn into_path(self) -> Vec<PathStep> {
        self.path
    }

    pub(crate) fn first<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
    ) -> Result<bool> {
        Ok(self.edge(source, root, Direction::Forward)?.is_some())
    }

    pub(crate) fn last<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
    ) -> Result<bool> {
        Ok(self.edge(source, root, Direction::Backward)?.is_some())
    }

    fn edge<'s, S: PageSource + ?Sized>(
        &mut self,
        source: &'s S,
        root: &TreeRoot,
        direction: Direction,
    ) -> Result<Option<EnteredLeaf<'s>>> {
        source.refuse_cancelled()?;
        (self.passed, self.passed_records) = (0, 0);
        self.path.clear();
        if root.is_empty() {
            self.state = match direction {
                Direction::Forward => PositionState::After,
                Direction::Backward => PositionState::Before,
            };
            return Ok(None);
        }
        self.state = PositionState::On;
        let entered = enter::root(source, root, "scan")
            .and_then(|page| self.enter(source, page, root.depth - 1, [None; 2], direction));
        let entered = self.invalidate_on_error(entered)?;
        self.pass_leaf_records(root, direction)?;
        Ok(Some(entered))
    }

    /// Invalidates the position after an error: an incomplete path leads nowhere.
    fn invalidate_on_error<T>(&mut self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.invalidate();
        }
        result
    }

    /// Marks the position as lost.
    pub(crate) fn invalidate(&mut self) {
        self.path.clear();
        self.state = PositionState::Lost;
    }

    /// Extends the path from `number` down to a leaf, along one edge.
    fn enter<'s, S: PageSource + ?Sized>(
        &mut self,
        source: &'s S,
        mut number: PageNumber,
        mut level: u8,
        mut after: [Option<PageNumber>; 2],
        direction: Direction,
    ) -> Result<EnteredLeaf<'s>> {
        while level > 0 {
            let inner = visit_inner(source, number, level, "scan")?;
            let index = self.push_edge(number, inner.count(), direction);
            after = following_leaves(&inner, index, direction);
            number = enter::child(source, &inner, number, index, "scan")?;
            level -= 1;
        }
        let leaf = visit_leaf(source, number, "scan")?;
        let count = leaf.count();
        if count == 0 {
            return Err(empty_leaf(number, "scan"));
        }
        self.push_edge(number, count, direction);
        Ok(EnteredLeaf {
            number,
            leaf,
            after,
        })
    }

    /// Adds a page that has entries to the path, at one of its ends; returns the index.
    fn push_edge(&mut self, page: PageNumber, count: usize, direction: Direction) -> usize {
        let index = match direction {
            Direction::Forward => 0,
            Direction::Backward => count - 1,
        };
        self.path.push(PathStep { page, index, count });
        index
    }

    #[inline]
    pub(crate) fn next<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
    ) -> Result<bool> {
        if self.next_in_leaf().is_some() {
            return Ok(true);
        }
        Ok(self.next_leaf(source, root)?.is_some())
    }

    /// Moves to the next record of the same leaf, if there is one, and returns its index.
    #[inline]
    pub(super) fn next_in_leaf(&mut self) -> Option<usize> {
        let leaf = self.path.last_mut()?;
        if leaf.index + 1 >= leaf.count {
            return None;
        }
        leaf.index += 1;
        Some(leaf.index)
    }

    /// Moves to the neighbouring record, if it is in the same leaf.
    #[inline]
    pub(crate) fn step_in_leaf(&mut self, direction: Direction) -> bool {
        let index = match direction {
            Direction::Forward => self.next_in_leaf(),
            Direction::Backward => self.prev_in_leaf(),
        };
        index.is_some()
    }

    /// Moves to another record of the same leaf.
    #[inline]
    pub(super) fn move_to_index(&mut self, index: usize) {
        if let Some(leaf) = self.path.last_mut() {
            debug_assert!(index < leaf.count, "the leaf has the record");
            leaf.index = index;
        }
    }

    /// Moves to the first record of the next leaf, if there is one, and returns that leaf.
    pub(super) fn next_leaf<'s, S: PageSource + ?Sized>(
        &mut self,
        source: &'s S,
        root: &TreeRoot,
    ) -> Result<Option<EnteredLeaf<'s>>> {
        self.leave_leaf(source, root, Direction::Forward)
    }

    #[inline]
    pub(crate) fn prev<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
    ) -> Result<bool> {
        if self.prev_in_leaf().is_some() {
            return Ok(true);
        }
        Ok(self.prev_leaf(source, root)?.is_some())
    }

    /// Moves to the previous record of the same leaf, if there is one, and returns its index.
    #[inline]
    pub(super) fn prev_in_leaf(&mut self) -> Option<usize> {
        let leaf = self.path.last_mut()?;
        leaf.index = leaf.index.checked_sub(1)?;
        Some(leaf.index)
    }

    /// Moves to the last record of the previous leaf, if there is one, and returns that leaf.
    pub(super) fn prev_leaf<'s, S: PageSource + ?Sized>(
        &mut self,
        source: &'s S,
        root: &TreeRoot,
    ) -> Result<Option<EnteredLeaf<'s>>> {
        self.leave_leaf(source, root, Direction::Backward)
    }

    /// Moves to the nearest record of the next leaf in a direction.
    fn leave_leaf<'s, S: PageSource + ?Sized>(
        &mut self,
        source: &'s S,
        root: &TreeRoot,
        direction: Direction,
    ) -> Result<Option<EnteredLeaf<'s>>> {
        source.refuse_cancelled()?;
        match (self.state, direction) {
            (PositionState::Unset | PositionState::Before, Direction::Forward)
            | (PositionState::Unset | PositionState::After, Direction::Backward) => {
                return self.edge(source, root, direction);
            }
            (PositionState::After, Direction::Forward)
            | (PositionState::Before, Direction::Backward) => {
                return Ok(None);
            }
            (PositionState::Lost, _) => return Err(lost()),
            (PositionState::On, _) => {}
        }
        while self.path.pop().is_some() {
            let Some(step) = self.path.last_mut() else {
                break;
            };
            if let Some(index) = direction.after(step.index, 1)
                && index < step.count
            {
                step.index = index;
                let number = step.page;
                self.pass_leaves(source, root, 1, direction)?;
                let entered = self.enter_child(source, root, number, index, direction);
                let entered = self.invalidate_on_error(entered)?;
                self.pass_leaf_records(root, direction)?;
                return Ok(Some(entered));
            }
        }
        self.state = match direction {
            Direction::Forward => PositionState::After,
            Direction::Backward => PositionState::Before,
        };
        Ok(None)
    }

    /// Counts leaves that were entered in a direction. If there are more than the tree can have,
    /// fails and marks the position as lost.
    fn pass_leaves<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        count: u32,
        direction: Direction,
    ) -> Result<()> {
        self.passed = match direction {
            Direction::Forward => self.passed.max(0) + i64::from(count),
            Direction::Backward => self.passed.min(0) - i64::from(count),
        };
        // One more was entered by the search.
        let most = u64::from(root.leaf_pages).min(source.page_limit());
        if self.passed.unsigned_abs() >= most {
            return self.invalidate_on_error(Err(too_many_leaves(root)));
        }
        Ok(())
    }

    /// Counts the records of a leaf that was entered in a direction.
    fn pass_leaf_records(&mut self, root: &TreeRoot, direction: Direction) -> Result<()> {
        let count = self.path.last().map_or(0, |leaf| leaf.count);
        self.pass_records(root, count as u64, direction)
    }

    fn pass_records(&mut self, root: &TreeRoot, count: u64, direction: Direction) -> Result<()> {
        let count = count as i64;
        self.passed_records = match direction {
            Direction::Forward => self.passed_records.max(0).saturating_add(count),
            Direction::Backward => self.passed_records.min(0).saturating_sub(count),
        };
        if self.passed_records.unsigned_abs() > root.records {
            return self.invalidate_on_error(Err(too_many_records(root)));
        }
        Ok(())
    }

    /// Sets the direction of the next step. The counts of the other direction are reset, so that
    /// stepping back and forth over one record does not count as a walk through the tree.
    pub(super) fn set_direction(&mut self, direction: Direction) {
        (self.passed, self.passed_records) = match direction {
            Direction::Forward => (self.passed.max(0), self.passed_records.max(0)),
            Direction::Backward => (self.passed.min(0), self.passed_records.min(0)),
        };
    }

    /// Counts the leaves and records of a nested tree too, at a record that a step led to, which
    /// was counted with its leaf.
    pub(super) fn pass_nested<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        nested: &TreeRoot,
        direction: Direction,
    ) -> Result<()> {
        self.pass_leaves(source, root, nested.leaf_pages, direction)?;
        self.pass_records(root, nested.records.saturating_sub(1), direction)
    }

    /// The next two leaves after the one of the record, as far as they have the same parent.
    pub(super) fn following_leaves<S: PageSource + ?Sized>(
        &self,
        source: &S,
    ) -> [Option<PageNumber>; 2] {
        let [.., parent, _] = &*self.path else {
            return [None; 2];
        };
        match visit_inner(source, parent.page, 1, "scan") {
            Ok(inner) => following_leaves(&inner, parent.index, Direction::Forward),
            Err(_) => [None; 2],
        }
    }

    /// Descends from the last step of the path into its child `index`.
    fn enter_child<'s, S: PageSource + ?Sized>(
        &mut self,
        source: &'s S,
        root: &TreeRoot,
        number: PageNumber,
        index: usize,
        direction: Direction,
    ) -> Result<EnteredLeaf<'s>> {
        let level = root.depth - self.path.len() as u8;
        let inner = visit_inner(source, number, level, "scan")?;
        let after = following_leaves(&inner, index, direction);
        let child = enter::child(source, &inner, number, index, "scan")?;
        self.enter(source, child, level - 1, after, direction)
    }
}

/// The next two children after `index` in a direction.
fn following_leaves(
    inner: &Inner<'_>,
    index: usize,
    direction: Direction,
) -> [Option<PageNumber>; 2] {
    [1, 2].map(|distance| inner.child(direction.after(index, distance)?).ok())
}

#[cold]
fn lost() -> Error {
    Error::InvalidArgument("an earlier error left the cursor without a position; seek again".into())
}

#[cold]
fn too_many_leaves(root: &TreeRoot) -> Error {
    let detail = "its pages lead to more leaves than it has: some are below several pages";
    Error::corrupted(root.page, "scan", detail)
}

#[cold]
fn too_many_records(root: &TreeRoot) -> Error {
    let detail = "its pages lead to more records than it has: some are below several pages";
    Error::corrupted(root.page, "scan", detail)
}

#[cold]
fn empty_leaf(page: PageNumber, operation: &'static str) -> Error {
    Error::corrupted(page, operation, "a leaf of a tree is empty")
}
