//! Multiple steps, and the number of steps between two positions.

use super::{PathStep, Position, PositionState, lost};
use crate::{
    Result,
    btree::{
        PageSource, TreeRoot,
        count::{self, Ends},
    },
};
use std::cmp::Ordering;

impl Position {
    /// Whether the position is after the last record.
    pub(crate) fn is_after_last(&self) -> bool {
        self.state == PositionState::After
    }

    /// Moves to record `number`, counted from 0, in a counted tree; after the last one if there are
    /// not that many.
    pub(crate) fn seek_nth<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        number: u64,
    ) -> Result<bool> {
        let found = count::nth(source, root, number);
        let found = self.invalidate_on_error(found)?;
        let is_found = found.is_some();
        *self = found.map_or(Self::beyond(PositionState::After), |(position, _)| position);
        Ok(is_found)
    }

    fn beyond(state: PositionState) -> Self {
        Self {
            state,
            ..Self::default()
        }
    }

    /// Does the same as `steps` calls of [`Position::next`], or of [`Position::prev`] if `steps` is
    /// negative; returns whether the position is on a record then. In a tree that is not counted,
    /// it passes all leaves on the way.
    pub(crate) fn skip<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        steps: i64,
    ) -> Result<bool> {
        if self.state == PositionState::Lost {
            return Err(lost());
        }
        let mut left = steps.unsigned_abs();
        while left > 0 {
            left -= self.skip_in_leaf(steps > 0, left);
            if left == 0 {
                break;
            }
            if root.counted {
                return self.skip_counted(source, root, steps > 0, left);
            }
            left -= 1;
            let is_found = match steps > 0 {
                true => self.next_leaf(source, root)?.is_some(),
                false => self.prev_leaf(source, root)?.is_some(),
            };
            if !is_found {
                return Ok(false);
            }
        }
        Ok(self.state == PositionState::On)
    }

    /// Moves within the leaf, by `most` records if it has that many; returns by how many.
    fn skip_in_leaf(&mut self, is_forward: bool, most: u64) -> u64 {
        let Some(leaf) = self.path.last_mut() else {
            return 0;
        };
        let room = match is_forward {
            true => leaf.count.saturating_sub(leaf.index + 1),
            false => leaf.index,
        };
        let steps = most.min(room as u64);
        match is_forward {
            true => leaf.index += steps as usize,
            false => leaf.index -= steps as usize,
        }
        steps
    }

    fn skip_counted<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        is_forward: bool,
        steps: u64,
    ) -> Result<bool> {
        let from = match self.state {
            PositionState::On => {
                let before = count::before(source, root, &self.path);
                i128::from(self.invalidate_on_error(before)?)
            }
            PositionState::After => i128::from(root.records),
            PositionState::Unset if !is_forward => i128::from(root.records),
            _ => -1,
        };
        let steps = i128::from(steps);
        let to = if is_forward {
            from + steps
        } else {
            from - steps
        };
        match u64::try_from(to) {
            Ok(number) => self.seek_nth(source, root, number),
            Err(_) => {
                *self = Self::beyond(if is_forward {
                    PositionState::After
                } else {
                    PositionState::Before
                });
                Ok(false)
            }
        }
    }

    /// Returns the number of steps forward from here to another position; negative if that is
    /// before this one. An unset position is before the first record. In a tree that is not
    /// counted, it passes all leaves in between.
    pub(crate) fn distance<S: PageSource + ?Sized>(
        &self,
        other: &Self,
        source: &S,
        root: &TreeRoot,
    ) -> Result<i64> {
        let (from, from_before) = self.as_path(source, root)?;
        let (to, to_before) = other.as_path(source, root)?;
        let (low, high, sign) = match count::order(&from, &to) {
            Ordering::Greater => (to, from, -1),
            _ => (from, to, 1),
        };
        let records = count::between(source, root, &Ends { low, high })?;
        // The leaves of a damaged tree may claim any number. Roots claim at most 2^48.
        if records > root.records {
            return Err(count::out_of_order(root));
        }
        Ok(sign * records as i64 + from_before - to_before)
    }

    /// A path that leads here, or to the first record, and how far before that record the position
    /// is.
    fn as_path<S: PageSource + ?Sized>(
        &self,
        source: &S,
        root: &TreeRoot,
    ) -> Result<(Vec<PathStep>, i64)> {
        let mut edge = Self::default();
        match self.state {
            PositionState::On => Ok((self.path.clone(), 0)),
            PositionState::Lost => Err(lost()),
            PositionState::Unset | PositionState::Before => {
                edge.first(source, root)?;
                Ok((edge.path, 1))
            }
            PositionState::After => {
                edge.last(source, root)?;
                if let Some(leaf) = edge.path.last_mut() {
                    leaf.index += 1;
                }
                Ok((edge.path, 0))
            }
        }
    }
}
