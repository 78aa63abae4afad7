//! Plays a script on a disk with a fault, and looks at every answer.
//!
//! What is held to be right:
//!
//! 1. A call of the engine under which the disk failed returns the error of the disk. There are two exceptions: growing may go on with
//!    a smaller step, or with what is free; and what a call does for tables that were dropped before may wait for a disk that is not full.
//! 2. A call under which it did not fail succeeds, unless the database is poisoned, the transaction
//!    broken, or a limit of size reached.
//! 3. Poisoned is a database whose commit record or flush failed, and no other.
//! 4. What is read is what was acknowledged last, and for a reader what there was when it began.

use super::{
    cases::Case,
    model::{self, Reader, Tables},
    script::{self, Act, Change, Leave, Script, Step, Work},
};
use std::fmt;
use teak::{
    Database, Durability, Error, Recovery, WriteTxn,
    testing::{self, Call, SimDisk},
};

/// Something that is not as it should be.
pub(super) type Outcome<T = ()> = Result<T, String>;

pub(super) const BOOT: [u8; 16] = [1; 16];
/// The longest file of a script. Memory is used as the file grows. Allocators fill stretches of up to
/// 32 MiB with zeros themselves, and have longer ones from the system.
pub(super) const CAPACITY: usize = 40 << 20;
/// States that are looked at in full behind a failure, for each script.
const LOOKS_MAX: usize = 4;

/// The operations whose failure poisons the database.
const POISONING: [&str; 3] = [
    "writing the commit record",
    "writing to the journal",
    "flushing the file",
];

/// The states that the database may be found in.
#[derive(Clone, Default)]
pub(super) struct Course {
    /// The last state that was acknowledged.
    pub(super) acknowledged: Tables,
    /// The last that was acknowledged as durable.
    pub(super) durable: Tables,
    /// All acknowledged since then, oldest first.
    pub(super) since: Vec<Tables>,
    /// The commit whose record or flush failed, behind all of these.
    pub(super) failed: Option<Tables>,
    /// Whether the record of that commit was erased, in the system's cache.
    is_erased: bool,
}

impl Course {
    fn acknowledge(&mut self, state: Tables, is_durable: bool) {
        self.acknowledged = state.clone();
        if is_durable {
            self.settle(state);
        } else {
            self.since.push(state);
        }
    }

    /// A state is on the disk, and no other is.
    pub(super) fn settle(&mut self, state: Tables) {
        self.acknowledged = state.clone();
        self.durable = state;
        self.since.clear();
        self.failed = None;
        self.is_erased = false;
    }

    /// What a process finds behind one that was killed.
    pub(super) fn after_kill(&self) -> Vec<&Tables> {
        let failed = self.failed.iter().filter(|_| !self.is_erased);
        std::iter::once(&self.acknowledged).chain(failed).collect()
    }

    /// What may be found when the machine went down.
    pub(super) fn after_power_cut(&self) -> Vec<&Tables> {
        std::iter::once(&self.durable)
            .chain(&self.since)
            .chain(&self.failed)
            .collect()
    }
}

/// What a call of the engine came to, if that is right.
enum Answer<T> {
    Done(T),
    /// Refused, as it should be.
    Refused(Refusal),
}

enum Refusal {
    /// With the error of the disk, met in this operation, and these calls that failed.
    Disk(&'static str, Vec<Call>),
    Other,
}

/// A script, being played.
pub(super) struct Play<'s> {
    script: &'s Script,
    pub(super) disk: SimDisk,
    errno: i32,
    pub(super) course: Course,
    is_poisoned: bool,
    /// Whether a table was dropped, emptied or cut.
    has_dropped: bool,
    reader: Option<Reader>,
    /// Failures of the disk that have been looked at.
    failures_known: usize,
    looks: usize,
    /// Where the first failure was met.
    pub(super) site: Option<&'static str>,
    /// What was done last, for messages.
    pub(super) position: String,
}

impl<'s> Play<'s> {
    pub(super) fn new(script: &'s Script, case: Option<&Case>) -> Self {
        let disk = SimDisk::new(CAPACITY);
        if let Some(case) = case {
            disk.fail_on(case.call, case.fault());
        }
        Self {
            script,
            disk,
            errno: case.map_or(0, |case| case.fault().errno),
            course: Course::default(),
            is_poisoned: false,
            has_dropped: false,
            reader: None,
            failures_known: 0,
            looks: 0,
            site: None,
            position: String::new(),
        }
    }

    /// Plays all of the script. Says whether there is a database at the end.
    pub(super) fn play(&mut self) -> Outcome<bool> {
        self.position = "creating".to_owned();
        let opened = testing::open(&self.disk, &self.script.options(), true, BOOT);
        let mut database = match self.judge(opened)? {
            Answer::Done(database) => database,
            // A file has its name when its first flush has succeeded; before, there is none.
            Answer::Refused(_) if !self.has_flushed() => return Ok(false),
            Answer::Refused(_) => self.open()?,
        };
        for (index, act) in self.script.acts.iter().enumerate() {
            self.position = format!("act {index}");
            let failures = self.failures_known;
            if let Act::Reopen(leave) = act {
                database = self.reopen(database, *leave)?;
            } else {
                self.act(&database, act)?;
            }
            if failures != self.failures_known {
                self.look(&database)?;
            }
        }
        self.position = "the end".to_owned();
        self.looks = 0;
        self.look(&database)?;
        self.leave(database, Leave::Close)?;
        Ok(true)
    }

    fn has_flushed(&self) -> bool {
        let events = self.disk.events();
        events.iter().any(|event| **event == testing::Event::Flush)
    }

    fn act(&mut self, database: &Database, act: &Act) -> Outcome {
        match act {
            Act::Write(work) => self.write(database, work),
            Act::OpenReader => {
                let answer = self.judge(database.begin_read())?;
                let Answer::Done(txn) = answer else {
                    return Err("no reader could begin".to_owned());
                };
                self.look_at_reader()?;
                let expected = self.course.acknowledged.clone();
                self.reader = Some(Reader { txn, expected });
                Ok(())
            }
            Act::CloseReader => {
                self.look_at_reader()?;
                self.reader = None;
                Ok(())
            }
            Act::Sync => {
                if let Answer::Done(()) = self.judge(database.sync())? {
                    let state = self.course.acknowledged.clone();
                    self.course.settle(state);
                }
                Ok(())
            }
            Act::Reopen(_) => Ok(()),
        }
    }

    /// Looks at what a call of the engine returned that does not make the file longer.
    fn judge<T>(&mut self, result: teak::Result<T>) -> Outcome<Answer<T>> {
        self.judge_beside(&[], result)
    }

    /// Looks at what a call of the engine returned that may make the file longer, or fill its holes, which it tries in
    /// several ways.
    fn judge_growing<T>(&mut self, result: teak::Result<T>) -> Outcome<Answer<T>> {
        self.judge_beside(&[Call::SetLen, Call::Allocate, Call::Mapping], result)
    }

    /// The same of what cuts the file off or gives blocks back: if it cannot, all stays as it is. Where tables were dropped it releases some first.
    fn judge_beginning<T>(&mut self, result: teak::Result<T>) -> Outcome<Answer<T>> {
        let cutting = [Call::SetLen, Call::Punch];
        match self.releases() {
            true => {
                let growing = [Call::Allocate, Call::Mapping];
                self.judge_beside(&[&cutting, &growing, self.may_wait()].concat(), result)
            }
            false => self.judge_beside(&cutting, result),
        }
    }

    /// Looks at what came of a commit, which may make the file longer and release some of what was dropped.
    fn judge_commit<T>(&mut self, result: teak::Result<T>) -> Outcome<Answer<T>> {
        let growing = [Call::SetLen, Call::Allocate, Call::Mapping];
        match self.releases() {
            true => self.judge_beside(&[&growing, self.may_wait()].concat(), result),
            false => self.judge_beside(&growing, result),
        }
    }

    /// Whether something may be left of what was dropped.
    fn releases(&self) -> bool {
        self.has_dropped && self.script.releases_in_parts()
    }

    /// What may fail while that is released, which waits then for a disk that is not full.
    fn may_wait(&self) -> &'static [Call] {
        match [libc::ENOSPC, libc::EDQUOT].contains(&self.errno) {
            true => &[Call::Write, Call::Writable],
            false => &[],
        }
    }

    fn judge_beside<T>(
        &mut self,
        harmless: &[Call],
        result: teak::Result<T>,
    ) -> Outcome<Answer<T>> {
        let failures = self.disk.failed_calls(self.failures_known);
        self.failures_known += failures.len();
        match result {
            Ok(value) => {
                if self.is_poisoned && !failures.is_empty() {
                    return Err("something was written although the database is poisoned".into());
                }
                if failures.iter().any(|call| !harmless.contains(call)) {
                    return Err(format!("an error was swallowed, of {failures:?}"));
                }
                if !failures.is_empty() {
                    self.site.get_or_insert("growing, by another way");
                }
                Ok(Answer::Done(value))
            }
            Err(Error::Io {
                operation, source, ..
            }) => {
                if failures.is_empty() {
                    return Err(format!("an error from nowhere: {operation}: {source}"));
                }
                if source.raw_os_error() != Some(self.errno) {
                    return Err(format!("another error than that of the disk: {source}"));
                }
                self.site.get_or_insert(operation);
                if POISONING.contains(&operation) {
                    self.is_poisoned = true;
                }
                Ok(Answer::Refused(Refusal::Disk(operation, failures)))
            }
            Err(Error::Poisoned) if self.is_poisoned && failures.is_empty() => {
                Ok(Answer::Refused(Refusal::Other))
            }
            Err(Error::Full { .. }) if self.script.size_limit_bytes.is_some() => {
                Ok(Answer::Refused(Refusal::Other))
            }
            Err(error) => Err(format!("the wrong error: {error} ({failures:?})")),
        }
    }

    fn write(&mut self, database: &Database, work: &Work) -> Outcome {
        let begun = self.judge_beginning(database.begin_write())?;
        let Answer::Done(mut txn) = begun else {
            return Ok(());
        };
        if self.is_poisoned {
            return Err("a poisoned database lets a transaction begin".to_owned());
        }
        txn.set_durability(work.durability);
        let mut next = self.course.acknowledged.clone();
        for step in &work.steps {
            if !self.step(&mut txn, &mut next, step)? {
                return self.end_broken(txn, work);
            }
        }
        if !work.is_kept {
            txn.abort();
            return Ok(());
        }
        let flushes = self.flush_count();
        let is_durable = work.durability == Durability::Durable;
        match self.judge_commit(txn.commit())? {
            Answer::Done(_) => {
                let has_flushed = self.flush_count() > flushes;
                if is_durable && !has_flushed && next != self.course.acknowledged {
                    return Err("a durable commit without a flush".to_owned());
                }
                // What changes nothing writes nothing.
                if has_flushed || next != self.course.acknowledged {
                    self.course.acknowledge(next, is_durable);
                }
            }
            Answer::Refused(Refusal::Disk(operation, failures))
                if POISONING.contains(&operation) =>
            {
                self.course.failed = Some(next);
                self.course.is_erased = !failures.contains(&Call::Write);
            }
            Answer::Refused(_) => {}
        }
        Ok(())
    }

    fn flush_count(&self) -> usize {
        let calls = self.disk.call_kinds();
        calls
            .iter()
            .filter(|call| matches!(call, Call::Flush | Call::WriteThrough))
            .count()
    }

    /// A transaction that an error has broken can be rolled back, and nothing else.
    fn end_broken(&mut self, txn: WriteTxn, work: &Work) -> Outcome {
        if !work.is_kept {
            return Ok(());
        }
        match txn.commit() {
            Err(Error::TransactionBroken) => Ok(()),
            Err(error) => Err(format!("committing what is broken: {error}")),
            Ok(_) => Err("a broken transaction was committed".to_owned()),
        }
    }

    /// One step; says whether the transaction can go on.
    fn step(&mut self, txn: &mut WriteTxn, next: &mut Tables, step: &Step) -> Outcome<bool> {
        self.has_dropped |= step.drops();
        let result = match step {
            Step::Change(table, change) => script::change(txn, next, *table, change),
            Step::Drop(table) => script::drop_table(txn, next, *table),
            Step::Nested { steps, is_kept } => return self.nested(txn, next, steps, *is_kept),
        };
        Ok(matches!(self.judge_growing(result)?, Answer::Done(())))
    }

    fn nested(
        &mut self,
        txn: &mut WriteTxn,
        next: &mut Tables,
        steps: &[Step],
        is_kept: bool,
    ) -> Outcome<bool> {
        let told = |error: Error| format!("a savepoint: {error}");
        let savepoint = txn.savepoint().map_err(told)?;
        let before = next.clone();
        let mut is_whole = true;
        for step in steps {
            is_whole = self.step(txn, next, step)?;
            if !is_whole {
                refuse_changes(txn)?;
                break;
            }
        }
        if !is_whole || !is_kept {
            txn.rollback_to(&savepoint).map_err(told)?;
            *next = before;
            script::is_same(txn, next).map_err(|text| format!("rolled back, and {text}"))?;
        }
        txn.release(savepoint).map_err(told)?;
        Ok(true)
    }

    fn look_at_reader(&self) -> Outcome {
        let Some(Reader { txn, expected }) = &self.reader else {
            return Ok(());
        };
        script::is_same(txn, expected).map_err(|text| format!("an old reader: {text}"))
    }

    /// Looks at all that can be read now.
    fn look(&mut self, database: &Database) -> Outcome {
        self.looks += 1;
        if self.looks > LOOKS_MAX {
            return Ok(());
        }
        expect_sound(database, &[&self.course.acknowledged])?;
        self.look_at_reader()?;
        // Whether writing is refused is looked at without a call that may fail.
        match database.sync() {
            Err(Error::Poisoned) if !self.is_poisoned => {
                Err("it is poisoned for no reason".to_owned())
            }
            Ok(()) if self.is_poisoned => Err("it should be poisoned".to_owned()),
            result => {
                if let Answer::Done(()) = self.judge(result)? {
                    let state = self.course.acknowledged.clone();
                    self.course.settle(state);
                }
                Ok(())
            }
        }
    }

    /// Ends the process, in an orderly way or not.
    fn leave(&mut self, database: Database, leave: Leave) -> Outcome {
        self.look_at_reader()?;
        if leave == Leave::Close {
            match self.judge(database.close())? {
                Answer::Done(()) if self.is_poisoned => {
                    return Err("a poisoned database was closed".to_owned());
                }
                Answer::Done(()) => {
                    let state = self.course.acknowledged.clone();
                    self.course.settle(state);
                }
                Answer::Refused(_) => {}
            }
            self.reader = None;
        } else {
            self.disk = self.disk.kill();
            self.reader = None;
            drop(database);
        }
        Ok(())
    }

    fn reopen(&mut self, database: Database, leave: Leave) -> Outcome<Database> {
        self.position += &format!(", {leave:?}");
        self.leave(database, leave)?;
        if leave == Leave::KillThenRead {
            let options = self.script.options().read_only(true);
            let opened = testing::open(&self.disk, &options, false, BOOT);
            if let Answer::Done(database) = self.judge(opened)? {
                expect_sound(&database, &self.course.after_kill())?;
            }
        }
        self.open()
    }

    /// Opens the database behind another process, the disk healed if it goes on failing.
    pub(super) fn open(&mut self) -> Outcome<Database> {
        const TRIES: usize = 3;
        self.is_poisoned = false;
        for attempt in 0.. {
            let opened = testing::open(&self.disk, &self.script.options(), false, BOOT);
            match self.judge(opened)? {
                Answer::Done(database) => return self.settle(database),
                Answer::Refused(_) if attempt < TRIES => {}
                Answer::Refused(_) => self.disk.heal(),
            }
        }
        Err("it cannot be opened".to_owned())
    }

    /// What opening has found is durable from then on.
    fn settle(&mut self, database: Database) -> Outcome<Database> {
        self.is_poisoned = false;
        let possible = self.course.after_kill();
        let found = expect_sound(&database, &possible)
            .map_err(|text| format!("{text} ({:?})", database.recovery()))?
            .clone();
        if let Recovery::RolledBack { from, to, reason } = database.recovery()
            && self.course.failed.is_none()
            // A part of a record, of a close perhaps, counts as that of a commit.
            && !(self.site.is_some() && reason.contains("a commit record that cannot be read"))
        {
            return Err(format!("rolled back from {from} to {to} for no reason"));
        }
        self.course.settle(found);
        Ok(database)
    }
}

/// Commits one more record durably.
pub(super) fn commit_another(database: &Database, course: &mut Course) -> Outcome {
    let told = |error: Error| format!("one more commit: {error}");
    let mut next = course.acknowledged.clone();
    let mut txn = database.begin_write().map_err(told)?;
    txn.set_durability(Durability::Durable);
    let value = model::Value { seed: 1, len: 50 };
    let put = Change::Put {
        first: 77,
        count: 1,
        stride: 1,
        value,
    };
    let result = script::change(&mut txn, &mut next, 0, &put).and_then(|()| txn.commit());
    match result {
        Ok(_) => course.settle(next),
        Err(Error::Full { .. }) => return Ok(()),
        Err(error) => return Err(told(error)),
    }
    expect_sound(database, &[&course.acknowledged]).map(drop)
}

fn refuse_changes(txn: &mut WriteTxn) -> Outcome {
    let any = Change::Remove { first: 0, count: 1 };
    match script::change(txn, &mut Tables::new(), 0, &any) {
        Err(Error::TransactionBroken) => Ok(()),
        Err(error) => Err(format!("changing what is broken: {error}")),
        Ok(()) => Err("a broken transaction takes changes".to_owned()),
    }
}

/// Fails unless a check finds nothing, and the state is one of these; says which.
pub(super) fn expect_sound<'t>(
    database: &Database,
    possible: &[&'t Tables],
) -> Outcome<&'t Tables> {
    let told = |error: Error| format!("reading: {error}");
    let report = database.check(&mut |_| {}).map_err(told)?;
    if let Some(damage) = report.damages.first() {
        return Err(format!("damage: {damage:?}"));
    }
    let txn = database.begin_read().map_err(told)?;
    let mut differences = Vec::new();
    for state in possible {
        match script::is_same(&txn, state) {
            Ok(()) => return Ok(state),
            Err(text) => differences.push(text),
        }
    }
    Err(format!("a state that is not possible: {differences:?}"))
}

impl fmt::Display for Play<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.position)
    }
}
