//! Where cursors go.

use super::{Cursor, Inner, Place, Spot};
use crate::{
    border::Value,
    codes::{self, Code, Outcome},
    flags::{self, Operation},
    handles::MAIN,
    orders::{Of, Sought},
    put::of_size,
    transaction::Transaction,
    walk::Walk,
};
use std::ffi::c_uint;

/// What a step goes to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Record,
    Value,
    Key,
}

/// An end of a table, or of the values of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    First,
    Last,
}

/// Where a walk is after a step that led nowhere.
enum Missed {
    /// Where it was.
    Stays,
    /// Off the records; it was on the value, where a key has several.
    Left(Option<&'static [u8]>),
}

/// Where the walk is if the step did not lead to a record.
fn missed(is_there: bool, step: Step, value: Option<&'static [u8]>) -> Option<Missed> {
    match (is_there, step) {
        (true, _) => None,
        (false, Step::Value) => Some(Missed::Stays),
        (false, _) => Some(Missed::Left(value)),
    }
}

const NOT_FOUND: Code = Code::NOT_FOUND;

impl Step {
    /// Where a key has one value, LMDB goes from it to that of another key.
    fn by(self, walk: &Walk) -> Self {
        match walk {
            Walk::Multi(_) => self,
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
    ) -> Option<Outcome> {
        let mut inner = self.0.try_borrow_mut().ok()?;
        let inner = &mut *inner;
        // SAFETY: a cursor's transaction is null or lives, and the caller promises the rest.
        let is_blocked = unsafe { inner.transaction.as_ref() }?
            .refuse_blocked()
            .is_err();
        if is_blocked || inner.is_of_writer {
            return None;
        }
        let Some(Walk::Plain(cursor)) = &mut inner.walk else {
            return None;
        };
        let done = match cursor.next() {
            Ok(true) => {
                inner.is_without_value = false;
                inner.is_at_end = false;
                return Some(tell_plain(cursor, key, data));
            }
            Ok(false) => Ok(Some(Missed::Left(None))),
            Err(error) => Err(error.into()),
        };
        Some(inner.settle(done, Side::Last))
    }
}

/// Tells the record that a walk is on.
#[inline(always)]
fn tell_plain(
    cursor: &teak::Cursor<'static>,
    key: Option<&mut Value>,
    data: Option<&mut Value>,
) -> Outcome {
    if let Some(data) = data {
        *data = Value::new(cursor.value()?);
    }
    if let Some(key) = key {
        *key = Value::new(cursor.key());
    }
    Ok(())
}

impl Inner {
    /// Does what is asked, and tells the record in `key` and `data`, where they are wanted.
    pub(crate) fn get(
        &mut self,
        txn: &mut Transaction,
        key: Option<&mut Value>,
        data: Option<&mut Value>,
        operation: Operation,
    ) -> Outcome {
        use Operation as Op;
        match operation {
            Op::First => self.go_to_end(txn, Side::First)?,
            Op::Last => self.go_to_end(txn, Side::Last)?,
            Op::Next => self.next(txn, Step::Record)?,
            Op::NextDup => self.next(txn, Step::Value)?,
            Op::NextNodup => self.next(txn, Step::Key)?,
            Op::Prev => self.prev(txn, Step::Record)?,
            Op::PrevDup => self.prev(txn, Step::Value)?,
            Op::PrevNodup => self.prev(txn, Step::Key)?,
            Op::GetCurrent => self.stay(txn)?,
            Op::Set | Op::SetKey | Op::SetRange => {
                let key = key.ok_or(Code::INVALID_ARGUMENT)?;
                self.set(txn, key, operation)?;
                let key = (operation != Op::Set).then_some(key);
                return self.tell(key, data);
            }
            Op::GetBoth | Op::GetBothRange => {
                let data = data.ok_or(Code::INVALID_ARGUMENT)?;
                self.set_both(txn, key, data, operation)?;
                return self.tell(None, Some(data));
            }
            Op::FirstDup => return self.go_to_value(txn, (key, data), Side::First),
            Op::LastDup => return self.go_to_value(txn, (key, data), Side::Last),
            Op::GetMultiple | Op::NextMultiple | Op::PrevMultiple => {
                let data = data.ok_or(Code::INVALID_ARGUMENT)?;
                return self.several(txn, (key, data), operation);
            }
        }
        self.tell(key, data)
    }

    /// Tells the record that the cursor is on.
    #[inline(always)]
    fn tell(&self, key: Option<&mut Value>, data: Option<&mut Value>) -> Outcome {
        let walk = self.walk.as_ref().ok_or(NOT_FOUND)?;
        if let Some(data) = data {
            *data = Value::new(walk.value()?);
        }
        if let Some(key) = key {
            *key = Value::new(walk.key());
        }
        Ok(())
    }

    fn go_to_end(&mut self, txn: &mut Transaction, side: Side) -> Outcome {
        self.is_at_end = side == Side::Last;
        let mut walk = self.any_walk(txn)?;
        let is_there = match side {
            Side::First => walk.first()?,
            Side::Last => walk.last()?,
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

    fn next(&mut self, txn: &mut Transaction, step: Step) -> Outcome {
        if self.walk.is_some() {
            return self.next_in_place(step);
        }
        let is_without_value = self.is_without_value;
        match self.find(txn)? {
            Spot::Nowhere => self.go_to_end(txn, Side::First),
            Spot::Behind => {
                self.is_at_end = true;
                Err(NOT_FOUND)
            }
            Spot::On(walk) => {
                self.be_on(walk);
                self.is_without_value = is_without_value;
                self.next_in_place(step)
            }
            Spot::Gap(mut walk, key, value) => {
                let is_of_key = walk.is_on_record() && walk.key() == key;
                let is_there = match step {
                    Step::Record => walk.is_on_record(),
                    Step::Value => is_of_key,
                    Step::Key if is_of_key => walk.next_key()?,
                    Step::Key => walk.is_on_record(),
                };
                if !is_there {
                    self.be_at(&key, &value);
                    return Err(NOT_FOUND);
                }
                self.is_at_end = false;
                self.be_on(walk);
                Ok(())
            }
        }
    }

    /// A step from the record of the walk, which stays where it is: scans go this way.
    fn next_in_place(&mut self, step: Step) -> Outcome {
        let was_at_end = self.is_at_end;
        let is_without_value = self.is_without_value;
        let done = self.walk.as_mut().map_or(Ok(None), |walk| {
            let step = step.by(walk);
            if is_without_value && step != Step::Key && walk.count() > 1 {
                return walk.first_value().map(|_| None);
            }
            let value = walk.value_of_several();
            if was_at_end && value.is_some() && !walk.clone().next_key()? {
                return Ok(Some(Missed::Stays));
            }
            let is_there = match step {
                Step::Record => walk.next()?,
                Step::Value => walk.next_value()?,
                Step::Key => walk.next_key()?,
            };
            Ok(missed(is_there, step, value))
        });
        self.settle(done, Side::Last)
    }

    fn prev_in_place(&mut self, step: Step) -> Outcome {
        let is_without_value = self.is_without_value;
        let done = self.walk.as_mut().map_or(Ok(None), |walk| {
            let step = step.by(walk);
            if is_without_value && step != Step::Key && walk.count() > 1 {
                return walk.last_value().map(|_| None);
            }
            let value = walk.value_of_several();
            let is_there = match step {
                Step::Record => walk.prev()?,
                Step::Value => walk.prev_value()?,
                Step::Key => walk.prev_key()?,
            };
            Ok(missed(is_there, step, value))
        });
        self.settle(done, Side::First)
    }

    /// After a step towards `side`. An error leaves the cursor nowhere.
    #[inline]
    fn settle(&mut self, done: Outcome<Option<Missed>>, side: Side) -> Outcome {
        self.is_without_value = false;
        if let Ok(None) = done {
            self.is_at_end = false;
            return Ok(());
        }
        self.settle_missed(done, side)
    }

    fn settle_missed(&mut self, done: Outcome<Option<Missed>>, side: Side) -> Outcome {
        match done {
            Ok(None | Some(Missed::Stays)) => {}
            Ok(Some(Missed::Left(value))) => {
                self.is_at_end = side == Side::Last;
                if let Some(walk) = self.walk.take() {
                    self.place = Place::Nowhere;
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

    fn prev(&mut self, txn: &mut Transaction, step: Step) -> Outcome {
        if self.walk.is_some() {
            return self.prev_in_place(step);
        }
        let is_without_value = self.is_without_value;
        let (mut walk, gap) = match self.find(txn)? {
            Spot::Nowhere | Spot::Behind => {
                self.go_to_end(txn, Side::Last)?;
                self.is_at_end = false;
                return Ok(());
            }
            Spot::On(walk) => {
                self.be_on(walk);
                self.is_without_value = is_without_value;
                return self.prev_in_place(step);
            }
            Spot::Gap(walk, key, value) => (walk, (key, value)),
        };
        let (key, value) = gap;
        let step = step.by(&walk);
        let mut is_there = match walk.is_on_record() {
            true => walk.prev()?,
            false => walk.last()?,
        };
        if is_there && step != Step::Record && (walk.key() == key) == (step == Step::Key) {
            is_there = step == Step::Key && walk.prev_key()?;
        }
        if !is_there {
            self.be_at(&key, &value);
            return Err(NOT_FOUND);
        }
        self.is_at_end = false;
        self.be_on(walk);
        Ok(())
    }

    /// Back to where a step from the last key, or the first one, has led nowhere.
    fn come_back(&mut self, mut walk: Walk, value: Option<&[u8]>, side: Side) -> Outcome {
        let mut is_there = match side {
            Side::First => walk.first()?,
            Side::Last => walk.last()?,
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
    pub(super) fn stay(&mut self, txn: &mut Transaction) -> Outcome {
        let is_without_value = self.is_without_value;
        let (walk, key, value) = match self.find(txn)? {
            Spot::Nowhere => return Err(Code::INVALID_ARGUMENT),
            Spot::Behind => return Err(NOT_FOUND),
            Spot::On(walk) => {
                let is_refused = is_without_value && walk.count() > 1;
                self.be_on(walk);
                self.is_without_value = is_refused;
                return match is_refused {
                    true => Err(Code::INVALID_ARGUMENT),
                    false => Ok(()),
                };
            }
            Spot::Gap(walk, key, value) => (walk, key, value),
        };
        let is_of_key = walk.is_on_record() && walk.key() == key;
        let has_key = matches!(walk, Walk::Multi(_)) && walk.clone().seek_exact(&key)?;
        if walk.is_on_record() && (is_of_key || !has_key) {
            self.be_on(walk);
            return Ok(());
        }
        self.be_at(&key, &value);
        Err(NOT_FOUND)
    }

    fn set(&mut self, txn: &mut Transaction, key: &Value, operation: Operation) -> Outcome {
        if key.len == 0 {
            return Err(Code(codes::BAD_VALSIZE));
        }
        // SAFETY: the client gives a key that is there while the function runs.
        let bytes = unsafe { key.bytes() }?;
        let open = self.open(txn)?;
        let _sought = (open.as_ref()).and_then(|open| Sought::new(open, Of::Keys, key, bytes));
        let mut walk = self.any_walk(txn)?;
        let is_exact = walk.seek_exact(bytes).map_err(of_size)?;
        self.is_at_end = false;
        let is_found = is_exact || operation == Operation::SetRange && walk.is_on_record();
        self.arrive_near(walk)?;
        self.is_without_value = !is_found;
        match is_found {
            true => Ok(()),
            false => Err(NOT_FOUND),
        }
    }

    /// Is on the record that a search has led to, or behind the last one.
    fn arrive_near(&mut self, mut walk: Walk) -> Outcome {
        if walk.is_on_record() {
            self.be_on(walk);
        } else if walk.last()? {
            self.be_behind();
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
    ) -> Outcome {
        self.refuse_one_value(txn, flags::DUPSORT)?;
        let key = key.ok_or(Code::INVALID_ARGUMENT)?;
        if key.len == 0 {
            return Err(Code(codes::BAD_VALSIZE));
        }
        let passed = (&*key, data);
        // SAFETY: the client gives a key and a value that are there while the function runs.
        let (key, value) = unsafe { (key.bytes()?, data.bytes()?) };
        let open = self.open(txn)?.ok_or(NOT_FOUND)?;
        let _sought = Sought::new(&open, Of::Keys, passed.0, key);
        let _sought_value = Sought::new(&open, Of::Values, passed.1, value);
        let mut walk = self.any_walk(txn)?;
        self.is_at_end = false;
        let is_exact = walk.seek_pair_exact(key, value).map_err(of_size)?;
        let is_of_key = walk.is_on_record() && open.compare_keys(key, walk.key()).is_eq();
        let is_found = is_exact || operation == Operation::GetBothRange && is_of_key;
        if !is_of_key && walk.clone().seek_exact(key)? {
            self.be_at(key, value);
        } else {
            self.arrive_near(walk)?;
        }
        match is_found {
            true => Ok(()),
            false => Err(NOT_FOUND),
        }
    }

    /// Refuses a database without a flag of those for several values.
    pub(crate) fn refuse_one_value(&self, txn: &mut Transaction, flag: c_uint) -> Outcome {
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
        side: Side,
    ) -> Outcome {
        if data.is_none() || self.place == Place::Nowhere {
            return Err(Code::INVALID_ARGUMENT);
        }
        self.refuse_one_value(txn, flags::DUPSORT)?;
        self.stay(txn)?;
        self.is_at_end = false;
        let Some(walk) = &mut self.walk else {
            return Err(NOT_FOUND);
        };
        if walk.count() == 1 {
            return self.tell(key, data);
        }
        match side {
            Side::First => walk.first_value()?,
            Side::Last => walk.last_value()?,
        };
        self.tell(None, data)
    }

    /// Values of one size, a page of them at most.
    fn several(
        &mut self,
        txn: &mut Transaction,
        (key, data): (Option<&mut Value>, &mut Value),
        operation: Operation,
    ) -> Outcome {
        if operation == Operation::GetMultiple && self.place == Place::Nowhere {
            return Err(Code::INVALID_ARGUMENT);
        }
        self.refuse_one_value(txn, flags::DUPFIXED)?;
        match operation {
            Operation::NextMultiple => {
                self.next(txn, Step::Value)?;
                self.tell(key, None)?;
            }
            Operation::PrevMultiple if self.place == Place::Nowhere => {
                self.go_to_end(txn, Side::Last)?;
                self.tell(key, None)?;
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
    pub(crate) fn count(&mut self, txn: &mut Transaction) -> Outcome<usize> {
        self.stay(txn)?;
        let walk = self.walk.as_ref().ok_or(NOT_FOUND)?;
        Ok(walk.count() as usize)
    }
}
