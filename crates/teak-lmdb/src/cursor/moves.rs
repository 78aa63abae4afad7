//! Where cursors go.

use super::{Cursor, CursorPosition, CursorState, ResolvedPosition};
use crate::{
    border::Value,
    codes::{self, CallResult, Code},
    compare::ComparisonScope,
    flags::{self, Operation},
    handles::MAIN,
    orders::SoughtValue,
    put::of_size,
    transaction::Transaction,
    untracked_cursor::UntrackedCursor,
};
use std::ffi::c_uint;

/// The target of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepUnit {
    Record,
    Value,
    Key,
}

/// An end of a table, or of the values of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RangeEnd {
    First,
    Last,
}

/// Where a walk is after a step that led nowhere.
enum MissedStep {
    /// Where it was.
    Stays,
    /// Off the records; it was on the value, where a key has several.
    Left(Option<&'static [u8]>),
}

/// Where the walk is if the step did not lead to a record.
fn missed(is_there: bool, step: StepUnit, value: Option<&'static [u8]>) -> Option<MissedStep> {
    match (is_there, step) {
        (true, _) => None,
        (false, StepUnit::Value) => Some(MissedStep::Stays),
        (false, _) => Some(MissedStep::Left(value)),
    }
}

const NOT_FOUND: Code = Code::NOT_FOUND;

impl StepUnit {
    /// Where a key has one value, LMDB goes from it to that of another key.
    fn by(self, walk: &UntrackedCursor) -> Self {
        match walk {
            UntrackedCursor::Multi(_) => self,
            _ => Self::Record,
        }
    }
}

impl Cursor {
    /// Goes from a record of a plain table that is read to the next one, which is what most calls ask for; `None` if there is more to be done, and it
    /// has not gone anywhere.
    ///
    /// # Safety
    ///
    /// No other function of its transaction runs that changes it.
    #[inline(always)]
    pub(crate) unsafe fn next_of_reader(
        &self,
        key: Option<&mut Value>,
        data: Option<&mut Value>,
    ) -> Option<CallResult> {
        let mut inner = self.0.try_borrow_mut().ok()?;
        let inner = &mut *inner;
        // SAFETY: a cursor's transaction is null or lives, and the caller promises the rest.
        let is_blocked = unsafe { inner.transaction.as_ref() }?
            .refuse_blocked()
            .is_err();
        if is_blocked || inner.is_of_writer {
            return None;
        }
        let Some(UntrackedCursor::Plain(cursor)) = &mut inner.walk else {
            return None;
        };
        let done = match cursor.next() {
            Ok(true) => {
                inner.is_without_value = false;
                inner.is_at_end = false;
                return Some(give_plain_record(cursor, key, data));
            }
            Ok(false) => Ok(Some(MissedStep::Left(None))),
            Err(error) => Err(error.into()),
        };
        Some(inner.settle(done, RangeEnd::Last))
    }
}

/// Tells the record that a walk is on.
#[inline(always)]
fn give_plain_record(
    cursor: &teak::Cursor<'static>,
    key: Option<&mut Value>,
    data: Option<&mut Value>,
) -> CallResult {
    if let Some(data) = data {
        *data = Value::new(cursor.value()?);
    }
    if let Some(key) = key {
        *key = Value::new(cursor.key());
    }
    Ok(())
}

impl CursorState {
    /// Does what is asked, and tells the record in `key` and `data`, where they are wanted.
    pub(crate) fn get(
        &mut self,
        txn: &mut Transaction,
        key: Option<&mut Value>,
        data: Option<&mut Value>,
        operation: Operation,
    ) -> CallResult {
        use Operation as Op;
        match operation {
            Op::First => self.go_to_end(txn, RangeEnd::First)?,
            Op::Last => self.go_to_end(txn, RangeEnd::Last)?,
            Op::Next => self.next(txn, StepUnit::Record)?,
            Op::NextDup => self.next(txn, StepUnit::Value)?,
            Op::NextNodup => self.next(txn, StepUnit::Key)?,
            Op::Prev => self.prev(txn, StepUnit::Record)?,
            Op::PrevDup => self.prev(txn, StepUnit::Value)?,
            Op::PrevNodup => self.prev(txn, StepUnit::Key)?,
            Op::GetCurrent => self.stay(txn)?,
            Op::Set | Op::SetKey | Op::SetRange => {
                let key = key.ok_or(Code::INVALID_ARGUMENT)?;
                self.set(txn, key, operation)?;
                let key = (operation != Op::Set).then_some(key);
                return self.give_record(key, data);
            }
            Op::GetBoth | Op::GetBothRange => {
                let data = data.ok_or(Code::INVALID_ARGUMENT)?;
                self.set_both(txn, key, data, operation)?;
                return self.give_record(None, Some(data));
            }
            Op::FirstDup => return self.go_to_value(txn, (key, data), RangeEnd::First),
            Op::LastDup => return self.go_to_value(txn, (key, data), RangeEnd::Last),
            Op::GetMultiple | Op::NextMultiple | Op::PrevMultiple => {
                let data = data.ok_or(Code::INVALID_ARGUMENT)?;
                return self.several(txn, (key, data), operation);
            }
        }
        self.give_record(key, data)
    }

    /// Tells the record that the cursor is on.
    #[inline(always)]
    fn give_record(&self, key: Option<&mut Value>, data: Option<&mut Value>) -> CallResult {
        let walk = self.walk.as_ref().ok_or(NOT_FOUND)?;
        if let Some(data) = data {
            *data = Value::new(walk.value()?);
        }
        if let Some(key) = key {
            *key = Value::new(walk.key());
        }
        Ok(())
    }

    fn go_to_end(&mut self, txn: &mut Transaction, side: RangeEnd) -> CallResult {
        self.is_at_end = side == RangeEnd::Last;
        let mut walk = self.any_walk(txn)?;
        let is_there = match side {
            RangeEnd::First => walk.first()?,
            RangeEnd::Last => walk.last()?,
        };
        match is_there {
            true => {
                self.be_on(walk);
                Ok(())
            }
            false => {
                self.reset();
                Err(NOT_FOUND)
            }
        }
    }

    fn next(&mut self, txn: &mut Transaction, step: StepUnit) -> CallResult {
        if self.walk.is_some() {
            return self.next_in_place(step);
        }
        let is_without_value = self.is_without_value;
        match self.find(txn)? {
            ResolvedPosition::Nowhere => self.go_to_end(txn, RangeEnd::First),
            ResolvedPosition::After => {
                self.is_at_end = true;
                Err(NOT_FOUND)
            }
            ResolvedPosition::On(walk) => {
                self.be_on(walk);
                self.is_without_value = is_without_value;
                self.next_in_place(step)
            }
            ResolvedPosition::Gap(mut walk, key, value) => {
                let is_of_key = walk.is_on_record() && walk.key() == key;
                let is_there = match step {
                    StepUnit::Record => walk.is_on_record(),
                    StepUnit::Value => is_of_key,
                    StepUnit::Key if is_of_key => walk.next_key()?,
                    StepUnit::Key => walk.is_on_record(),
                };
                if is_there {
                    self.is_at_end = false;
                    self.be_on(walk);
                    return Ok(());
                }
                if step == StepUnit::Key {
                    self.be_at(&key, &value);
                } else {
                    self.leave_gap(walk, &key, &value)?;
                }
                Err(NOT_FOUND)
            }
        }
    }

    /// Goes from a gap to the record after it, of the same key if that still exists. Otherwise the
    /// cursor stays in the gap. `walk` is where [`Self::find`] has left it.
    fn leave_gap(&mut self, walk: UntrackedCursor, key: &[u8], value: &[u8]) -> CallResult<bool> {
        let is_of_key = walk.is_on_record() && walk.key() == key;
        let has_key = matches!(walk, UntrackedCursor::Multi(_)) && walk.clone().seek_exact(key)?;
        let is_left = walk.is_on_record() && (is_of_key || !has_key);
        if is_left {
            self.be_on(walk);
        } else {
            self.be_at(key, value);
        }
        Ok(is_left)
    }

    /// A step from the record of the walk, which stays where it is: scans go this way.
    fn next_in_place(&mut self, step: StepUnit) -> CallResult {
        let was_at_end = self.is_at_end;
        let is_without_value = self.is_without_value;
        let done = self.walk.as_mut().map_or(Ok(None), |walk| {
            let step = step.by(walk);
            if is_without_value && step != StepUnit::Key && walk.count() > 1 {
                return walk.first_value().map(|_| None);
            }
            let value = walk.value_of_several();
            if was_at_end && value.is_some() && !walk.clone().next_key()? {
                return Ok(Some(MissedStep::Stays));
            }
            let is_there = match step {
                StepUnit::Record => walk.next()?,
                StepUnit::Value => walk.next_value()?,
                StepUnit::Key => walk.next_key()?,
            };
            Ok(missed(is_there, step, value))
        });
        self.settle(done, RangeEnd::Last)
    }

    fn prev_in_place(&mut self, step: StepUnit) -> CallResult {
        let is_without_value = self.is_without_value;
        let done = self.walk.as_mut().map_or(Ok(None), |walk| {
            let step = step.by(walk);
            if is_without_value && step != StepUnit::Key && walk.count() > 1 {
                return walk.last_value().map(|_| None);
            }
            let value = walk.value_of_several();
            let is_there = match step {
                StepUnit::Record => walk.prev()?,
                StepUnit::Value => walk.prev_value()?,
                StepUnit::Key => walk.prev_key()?,
            };
            Ok(missed(is_there, step, value))
        });
        self.settle(done, RangeEnd::First)
    }

    /// After a step towards `side`. An error leaves the cursor nowhere.
    #[inline]
    fn settle(&mut self, done: CallResult<Option<MissedStep>>, side: RangeEnd) -> CallResult {
        self.is_without_value = false;
        if let Ok(None) = done {
            self.is_at_end = false;
            return Ok(());
        }
        self.settle_missed(done, side)
    }

    fn settle_missed(
        &mut self,
        done: CallResult<Option<MissedStep>>,
        side: RangeEnd,
    ) -> CallResult {
        match done {
            Ok(None | Some(MissedStep::Stays)) => {}
            Ok(Some(MissedStep::Left(value))) => {
                self.is_at_end = side == RangeEnd::Last;
                if let Some(walk) = self.walk.take() {
                    self.position = CursorPosition::Nowhere;
                    self.come_back(walk, value, side)?;
                }
            }
            Err(code) => {
                self.reset();
                return Err(code);
            }
        }
        Err(NOT_FOUND)
    }

    fn prev(&mut self, txn: &mut Transaction, step: StepUnit) -> CallResult {
        if self.walk.is_some() {
            return self.prev_in_place(step);
        }
        let is_without_value = self.is_without_value;
        let (mut walk, gap) = match self.find(txn)? {
            ResolvedPosition::Nowhere | ResolvedPosition::After => {
                self.go_to_end(txn, RangeEnd::Last)?;
                self.is_at_end = false;
                return Ok(());
            }
            ResolvedPosition::On(walk) => {
                self.be_on(walk);
                self.is_without_value = is_without_value;
                return self.prev_in_place(step);
            }
            ResolvedPosition::Gap(walk, key, value) => (walk, (key, value)),
        };
        let (key, value) = gap;
        let step = step.by(&walk);
        let after = walk.clone();
        let mut is_there = match walk.is_on_record() {
            true => walk.prev()?,
            false => walk.last()?,
        };
        if is_there && step != StepUnit::Record && (walk.key() == key) == (step == StepUnit::Key) {
            is_there = step == StepUnit::Key && walk.prev_key()?;
        }
        if !is_there {
            // As in LMDB, where such a step forgets the deletion.
            self.is_at_end = false;
            self.leave_gap(after, &key, &value)?;
            return Err(NOT_FOUND);
        }
        self.is_at_end = false;
        self.be_on(walk);
        Ok(())
    }

    /// Back to where a step from the last key, or the first one, has led nowhere.
    fn come_back(
        &mut self,
        mut walk: UntrackedCursor,
        value: Option<&[u8]>,
        side: RangeEnd,
    ) -> CallResult {
        let mut is_there = match side {
            RangeEnd::First => walk.first()?,
            RangeEnd::Last => walk.last()?,
        };
        if let (true, Some(value)) = (is_there, value) {
            let key = walk.key().to_vec();
            is_there = walk.seek_pair_exact(&key, value)?;
        }
        match is_there {
            true => self.be_on(walk),
            false => self.reset(),
        }
        Ok(())
    }

    /// Stays on its record; from a gap it goes to the one behind it, of the same key if that is there still.
    pub(super) fn stay(&mut self, txn: &mut Transaction) -> CallResult {
        let is_without_value = self.is_without_value;
        let (walk, key, value) = match self.find(txn)? {
            ResolvedPosition::Nowhere => return Err(Code::INVALID_ARGUMENT),
            ResolvedPosition::After => return Err(NOT_FOUND),
            ResolvedPosition::On(walk) => {
                let is_refused = is_without_value && walk.count() > 1;
                self.be_on(walk);
                self.is_without_value = is_refused;
                return match is_refused {
                    true => Err(Code::INVALID_ARGUMENT),
                    false => Ok(()),
                };
            }
            ResolvedPosition::Gap(walk, key, value) => (walk, key, value),
        };
        match self.leave_gap(walk, &key, &value)? {
            true => Ok(()),
            false => Err(NOT_FOUND),
        }
    }

    fn set(&mut self, txn: &mut Transaction, key: &Value, operation: Operation) -> CallResult {
        if key.len == 0 {
            return Err(Code(codes::BAD_VALSIZE));
        }
        // SAFETY: the client gives a key that is there while the function runs.
        let bytes = unsafe { key.bytes() }?;
        let open = self.open(txn)?;
        let _sought = (open.as_ref())
            .and_then(|open| SoughtValue::new(open, ComparisonScope::Keys, key, bytes));
        let mut walk = self.any_walk(txn)?;
        let is_exact = walk.seek_exact(bytes).map_err(of_size)?;
        self.is_at_end = false;
        let is_found = is_exact || operation == Operation::SetRange && walk.is_on_record();
        self.arrive_at(walk)?;
        self.is_without_value = !is_found;
        match is_found {
            true => Ok(()),
            false => Err(NOT_FOUND),
        }
    }

    /// Is on the record that a search has led to, or behind the last one.
    fn arrive_at(&mut self, mut walk: UntrackedCursor) -> CallResult {
        if walk.is_on_record() {
            self.be_on(walk);
        } else if walk.last()? {
            self.be_after();
        } else {
            self.reset();
        }
        Ok(())
    }

    fn set_both(
        &mut self,
        txn: &mut Transaction,
        key: Option<&mut Value>,
        data: &Value,
        operation: Operation,
    ) -> CallResult {
        self.refuse_one_value(txn, flags::DUPSORT)?;
        let key = key.ok_or(Code::INVALID_ARGUMENT)?;
        if key.len == 0 {
            return Err(Code(codes::BAD_VALSIZE));
        }
        let passed = (&*key, data);
        // SAFETY: the client gives a key and a value that are there while the function runs.
        let (key, value) = unsafe { (key.bytes()?, data.bytes()?) };
        let open = self.open(txn)?.ok_or(NOT_FOUND)?;
        let _sought = SoughtValue::new(&open, ComparisonScope::Keys, passed.0, key);
        let _sought_value = SoughtValue::new(&open, ComparisonScope::Values, passed.1, value);
        let mut walk = self.any_walk(txn)?;
        self.is_at_end = false;
        let is_exact = walk.seek_pair_exact(key, value).map_err(of_size)?;
        let is_of_key = walk.is_on_record() && open.compare_keys(key, walk.key()).is_eq();
        let is_found = is_exact || operation == Operation::GetBothRange && is_of_key;
        if !is_of_key && walk.clone().seek_exact(key)? {
            self.be_at(key, value);
        } else {
            self.arrive_at(walk)?;
        }
        match is_found {
            true => Ok(()),
            false => Err(NOT_FOUND),
        }
    }

    /// Refuses a database without a flag of those for several values.
    pub(crate) fn refuse_one_value(&self, txn: &mut Transaction, flag: c_uint) -> CallResult {
        let found = match self.open(txn)? {
            Some(open) => open.flags,
            None if self.handle == MAIN => txn.main_flags()?,
            None => 0,
        };
        match found & flag {
            0 => Err(Code(codes::INCOMPATIBLE)),
            _ => Ok(()),
        }
    }

    fn go_to_value(
        &mut self,
        txn: &mut Transaction,
        (key, data): (Option<&mut Value>, Option<&mut Value>),
        side: RangeEnd,
    ) -> CallResult {
        if data.is_none() || self.position == CursorPosition::Nowhere {
            return Err(Code::INVALID_ARGUMENT);
        }
        self.refuse_one_value(txn, flags::DUPSORT)?;
        self.stay(txn)?;
        self.is_at_end = false;
        let Some(walk) = &mut self.walk else {
            return Err(NOT_FOUND);
        };
        if walk.count() == 1 {
            return self.give_record(key, data);
        }
        match side {
            RangeEnd::First => walk.first_value()?,
            RangeEnd::Last => walk.last_value()?,
        };
        self.give_record(None, data)
    }

    /// Values of one size, a page of them at most.
    fn several(
        &mut self,
        txn: &mut Transaction,
        (key, data): (Option<&mut Value>, &mut Value),
        operation: Operation,
    ) -> CallResult {
        if operation == Operation::GetMultiple && self.position == CursorPosition::Nowhere {
            return Err(Code::INVALID_ARGUMENT);
        }
        self.refuse_one_value(txn, flags::DUPFIXED)?;
        match operation {
            Operation::NextMultiple => {
                self.next(txn, StepUnit::Value)?;
                self.give_record(key, None)?;
            }
            Operation::PrevMultiple if self.position == CursorPosition::Nowhere => {
                self.go_to_end(txn, RangeEnd::Last)?;
                self.give_record(key, None)?;
            }
            _ => self.stay(txn)?,
        }
        let walk = self.walk.as_mut().ok_or(NOT_FOUND)?;
        if walk.count() == 1 {
            return match operation {
                // The client has the value already.
                Operation::GetMultiple => Ok(()),
                _ => Err(NOT_FOUND),
            };
        }
        if walk.clone().packed()?.is_none() {
            // The table has values of several sizes: one after the other.
            if operation == Operation::PrevMultiple && !walk.prev_value()? {
                return Err(NOT_FOUND);
            }
            *data = Value::new(walk.value()?);
            return Ok(());
        }
        walk.go_to_page_start()?;
        if operation == Operation::PrevMultiple {
            if !walk.prev_value()? {
                return Err(NOT_FOUND);
            }
            walk.go_to_page_start()?;
        }
        *data = Value::new(walk.packed()?.ok_or(NOT_FOUND)?);
        Ok(())
    }

    /// How many values the key has, in a database that is not of those that [`Self::refuse_one_value`] refuses.
    pub(crate) fn count(&mut self, txn: &mut Transaction) -> CallResult<usize> {
        self.stay(txn)?;
        let walk = self.walk.as_ref().ok_or(NOT_FOUND)?;
        Ok(walk.count() as usize)
    }
}
