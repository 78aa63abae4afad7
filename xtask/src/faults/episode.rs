//! Plays a script on a disk with a fault, and checks every result.
//!
//! The rules:
//!
//! 1. A call of the engine during which the disk failed returns the error of the disk. There are
//!    three exceptions: growing may continue with a smaller step or with free pages, releasing
//!    previously dropped tables may wait until the disk has space, and a commit for which there is
//!    no room in the write-ahead log goes to the trees.
//! 2. Any other call succeeds, unless the database is poisoned, the transaction is broken, or a
//!    size limit is reached.
//! 3. A database is poisoned exactly if writing a commit record or a flush failed. A merge of small
//!    commits may fail after the commit that it follows has succeeded; a later call says so.
//! 4. A read returns the last acknowledged state, and a reader always returns its snapshot.

use super::{
    cases::FaultCase,
    model::{self, FaultReader, FaultTables},
    outcome::{CallOutcome, LEADING_TO_TREES, MERGING, POISONING, Refusal},
    script::{
        self, CloseMode, FaultScript, ScriptAction, ScriptEnd, ScriptStep, ScriptTransaction,
    },
    soundness::{PossibleStates, expect_sound, refuse_changes},
};
use crate::{Context, Result};
use teak::{
    Database, Error, Recovery, WriteTxn,
    testing::{self, Call, SimDisk},
};

pub(super) const BOOT: [u8; 16] = [1; 16];
/// States to inspect completely after a failure, for each script.
const INSPECTIONS_MAX: usize = 4;

/// A script that is being played.
pub(super) struct FaultEpisode<'s> {
    script: &'s FaultScript,
    pub(super) disk: SimDisk,
    errno: i32,
    pub(super) possible_states: PossibleStates,
    is_poisoned: bool,
    /// Whether a merge has failed, which may have poisoned it.
    pub(super) has_failed_merge: bool,
    /// Whether a transaction is prepared, as far as is known.
    pub(super) is_prepared: bool,
    /// Whether a table was dropped, emptied or truncated.
    has_dropped: bool,
    reader: Option<FaultReader>,
    /// Number of calls before those that may fail.
    pub(super) calls_before_faults: usize,
    /// Failures of the disk that have been checked.
    failures_known: usize,
    inspections: usize,
    /// The operation that met the first failure.
    pub(super) site: Option<&'static str>,
    /// The last step, for messages.
    pub(super) position: String,
}

impl<'s> FaultEpisode<'s> {
    pub(super) fn new(script: &'s FaultScript, case: Option<&FaultCase>) -> Self {
        let disk = script.new_disk();
        if let Some(case) = case {
            disk.fail_on(case.call, case.fault());
        }
        Self {
            script,
            disk,
            errno: case.map_or(0, |case| case.fault().errno),
            possible_states: PossibleStates::default(),
            is_poisoned: false,
            has_failed_merge: false,
            is_prepared: false,
            has_dropped: false,
            reader: None,
            calls_before_faults: 0,
            failures_known: 0,
            inspections: 0,
            site: None,
            position: String::new(),
        }
    }

    /// Plays the whole script. Returns whether a database exists at the end.
    pub(super) fn run_script(&mut self) -> Result<bool> {
        self.position = "creating".to_owned();
        let opened = testing::open(&self.disk, &self.script.options(), true, BOOT);
        let mut database = match self.classify(opened)? {
            CallOutcome::Done(database) => database,
            // A file gets its name after its first successful flush.
            CallOutcome::Refused(_) if !self.has_flushed() => return Ok(false),
            CallOutcome::Refused(_) => self.open()?,
        };
        for (index, act) in self.script.acts.iter().enumerate() {
            self.position = format!("act {index}");
            if index > 0 && index == self.script.acts_before_faults() {
                self.calls_before_faults = self.disk.call_kinds().len();
            }
            let failures = self.failures_known;
            if let ScriptAction::Reopen(leave) = act {
                database = self.reopen(database, *leave)?;
            } else {
                self.act(&database, act)?;
            }
            if failures != self.failures_known {
                self.inspect(&database)?;
            }
        }
        self.position = "the end".to_owned();
        self.inspections = 0;
        self.merge(&database)?;
        self.inspect(&database)?;
        self.leave(database, CloseMode::Close)?;
        Ok(true)
    }

    fn has_flushed(&self) -> bool {
        let events = self.disk.events();
        events
            .iter()
            .any(|event| **event == testing::DiskEvent::Flush)
    }

    fn act(&mut self, database: &Database, act: &ScriptAction) -> Result {
        match act {
            ScriptAction::Write(work) => self.write(database, work),
            // Its first scan would merge.
            ScriptAction::OpenReader if !self.merge(database)? => Ok(()),
            ScriptAction::OpenReader => {
                let answer = self.classify(database.begin_read())?;
                let CallOutcome::Done(txn) = answer else {
                    bail!("no reader could begin");
                };
                self.expect_reader_unchanged()?;
                let expected = self.possible_states.acknowledged.clone();
                self.reader = Some(FaultReader { txn, expected });
                Ok(())
            }
            ScriptAction::CloseReader => {
                self.expect_reader_unchanged()?;
                self.reader = None;
                Ok(())
            }
            ScriptAction::Sync => {
                if let CallOutcome::Done(()) = self.classify(database.sync())? {
                    self.possible_states.settle_acknowledged();
                }
                Ok(())
            }
            ScriptAction::Reopen(_) => Ok(()),
        }
    }

    /// Classifies the result of opening or closing, which may remove the log. Nobody needs it then,
    /// and it may stay.
    fn classify_end<T>(&mut self, result: teak::Result<T>) -> Result<CallOutcome<T>> {
        let harmless: &[Call] = match self.script.has_log {
            true => &[Call::SetLen, Call::Punch, Call::Allocate, Call::Mapping],
            false => &[],
        };
        self.classify_failures(harmless, result)
    }

    /// Classifies the result of a call that does not grow the file, unless it merges small commits.
    fn classify<T>(&mut self, result: teak::Result<T>) -> Result<CallOutcome<T>> {
        match self.script.has_log {
            true => self.classify_begin(result),
            false => self.classify_failures(&[], result),
        }
    }

    /// Classifies the result of a call that may grow the file or fill its holes. The engine tries
    /// several modes for that.
    fn classify_growing<T>(&mut self, result: teak::Result<T>) -> Result<CallOutcome<T>> {
        self.classify_failures(&[Call::SetLen, Call::Allocate, Call::Mapping], result)
    }

    /// Like [`Self::classify`], for calls that truncate the file or punch holes. A failure changes
    /// nothing. If tables were dropped, such a call releases some of their pages first.
    fn classify_begin<T>(&mut self, result: teak::Result<T>) -> Result<CallOutcome<T>> {
        let mut harmless = vec![Call::SetLen, Call::Punch];
        if self.releases() || self.script.has_log {
            harmless.extend([Call::Allocate, Call::Mapping]);
        }
        if self.releases() {
            harmless.extend(self.may_wait());
        }
        self.classify_failures(&harmless, result)
    }

    /// Classifies the result of a commit, which may grow the file and release parts of dropped
    /// tables.
    pub(super) fn classify_commit<T>(&mut self, result: teak::Result<T>) -> Result<CallOutcome<T>> {
        let mut harmless = vec![Call::SetLen, Call::Allocate, Call::Mapping];
        if self.script.has_log {
            // A commit that finds no room in the log begins again, like one without a log.
            harmless.push(Call::Punch);
        }
        if self.releases() {
            harmless.extend(self.may_wait());
        }
        self.classify_failures(&harmless, result)
    }

    /// Whether parts of dropped tables may remain.
    fn releases(&self) -> bool {
        self.has_dropped && self.script.releases_in_parts()
    }

    /// The calls that may fail during that release, which then waits until the disk has space.
    fn may_wait(&self) -> &'static [Call] {
        match [libc::ENOSPC, libc::EDQUOT].contains(&self.errno) {
            true => &[Call::Write, Call::Writable],
            false => &[],
        }
    }

    fn classify_failures<T>(
        &mut self,
        harmless: &[Call],
        result: teak::Result<T>,
    ) -> Result<CallOutcome<T>> {
        let failures = self.disk.failed_calls(self.failures_known);
        self.failures_known += failures.len();
        let is_of_merge = |call: &Call| MERGING.contains(call);
        self.has_failed_merge |= self.script.has_log && failures.iter().any(is_of_merge);
        match result {
            Ok(value) => {
                if self.is_poisoned && !failures.is_empty() {
                    bail!("something was written although the database is poisoned");
                }
                let mut harmless = [harmless, &LEADING_TO_TREES].concat();
                if self.script.has_log {
                    harmless.extend(MERGING);
                }
                if failures.iter().any(|call| !harmless.contains(call)) {
                    bail!("an error was swallowed, of {failures:?}");
                }
                if !failures.is_empty() {
                    self.site.get_or_insert("growing, in another mode");
                }
                Ok(CallOutcome::Done(value))
            }
            Err(Error::Io {
                operation, cause, ..
            }) => {
                if failures.is_empty() {
                    bail!("an error without a cause: {operation}: {cause}");
                }
                if cause.raw_os_error() != Some(self.errno) {
                    bail!("not the error of the disk: {cause}");
                }
                self.site.get_or_insert(operation);
                if POISONING.contains(&operation) {
                    self.is_poisoned = true;
                }
                Ok(CallOutcome::Refused(Refusal::Disk(operation, failures)))
            }
            Err(Error::Poisoned { .. }) if self.is_poisoned && failures.is_empty() => {
                Ok(CallOutcome::Refused(Refusal::Other))
            }
            Err(Error::Poisoned { .. }) if self.has_failed_merge => {
                self.is_poisoned = true;
                Ok(CallOutcome::Refused(Refusal::Other))
            }
            Err(Error::Full { .. }) if self.script.size_limit_bytes.is_some() => {
                Ok(CallOutcome::Refused(Refusal::Other))
            }
            Err(error) => Err(failure!("the wrong error: {error} ({failures:?})")),
        }
    }

    /// Has small commits merged, if there is a log, so that reads make no calls that may fail.
    /// Returns whether there are none any more.
    fn merge(&mut self, database: &Database) -> Result<bool> {
        if !self.script.has_log {
            return Ok(true);
        }
        let is_merged = matches!(self.classify(database.sync())?, CallOutcome::Done(()));
        if is_merged {
            self.possible_states.settle_acknowledged();
        }
        Ok(is_merged)
    }

    fn write(&mut self, database: &Database, work: &ScriptTransaction) -> Result {
        if !self.roll_back_prepared(database)? {
            return Ok(());
        }
        let begun = self.classify_begin(database.begin_write())?;
        let CallOutcome::Done(mut txn) = begun else {
            return Ok(());
        };
        if self.is_poisoned {
            bail!("a poisoned database lets a transaction begin");
        }
        txn.set_durability(work.durability);
        let mut next = self.possible_states.acknowledged.clone();
        for step in &work.steps {
            if !self.step(&mut txn, &mut next, step)? {
                return self.end_broken(txn, work);
            }
        }
        match work.end {
            ScriptEnd::Abort => {
                txn.abort();
                Ok(())
            }
            ScriptEnd::Commit => self.commit(txn, next, work.durability),
            // Its changes may be in the memtable, and be merged first.
            _ if self.script.has_log => self.commit(txn, next, work.durability),
            end => self.prepare(database, txn, next, end),
        }
    }

    /// Plays one step. Returns whether the transaction can continue.
    fn step(
        &mut self,
        txn: &mut WriteTxn,
        next: &mut FaultTables,
        step: &ScriptStep,
    ) -> Result<bool> {
        self.has_dropped |= step.drops();
        let result = match step {
            ScriptStep::Change(table, change) => script::change(txn, next, *table, change),
            ScriptStep::Drop(table) => script::drop_table(txn, next, *table),
            ScriptStep::Nested { steps, is_kept } => {
                return self.nested(txn, next, steps, *is_kept);
            }
        };
        Ok(matches!(
            self.classify_growing(result)?,
            CallOutcome::Done(())
        ))
    }

    fn nested(
        &mut self,
        txn: &mut WriteTxn,
        next: &mut FaultTables,
        steps: &[ScriptStep],
        is_kept: bool,
    ) -> Result<bool> {
        let describe = "a savepoint";
        // The first step that needs the trees begins to write to them.
        let CallOutcome::Done(savepoint) = self.classify_growing(txn.savepoint())? else {
            return Ok(false);
        };
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
            txn.rollback_to(&savepoint).context(describe)?;
            *next = before;
            model::compare(txn, next).context("rolled back")?;
        }
        txn.release(savepoint).context(describe)?;
        Ok(true)
    }

    fn expect_reader_unchanged(&self) -> Result {
        let Some(FaultReader { txn, expected }) = &self.reader else {
            return Ok(());
        };
        model::compare(txn, expected).context("an old reader")
    }

    /// Checks everything that is readable now.
    fn inspect(&mut self, database: &Database) -> Result {
        self.inspections += 1;
        if self.inspections > INSPECTIONS_MAX {
            return Ok(());
        }
        if self.merge(database)? {
            expect_sound(database, &[&self.possible_states.acknowledged])?;
        }
        self.expect_reader_unchanged()?;
        // Check whether writes are refused, without a call that may fail.
        match database.sync() {
            Err(Error::Poisoned { .. }) if !self.is_poisoned && !self.has_failed_merge => {
                Err(failure!("it is poisoned without a reason"))
            }
            Ok(()) if self.is_poisoned => Err(failure!("it should be poisoned")),
            result => {
                if let CallOutcome::Done(()) = self.classify(result)? {
                    self.possible_states.settle_acknowledged();
                }
                Ok(())
            }
        }
    }

    /// Ends the process, with or without a close.
    fn leave(&mut self, database: Database, leave: CloseMode) -> Result {
        self.expect_reader_unchanged()?;
        if leave == CloseMode::Close {
            match self.classify_end(database.close())? {
                CallOutcome::Done(()) if self.is_poisoned => {
                    bail!("a poisoned database was closed");
                }
                CallOutcome::Done(()) => {
                    self.possible_states.settle_acknowledged();
                }
                CallOutcome::Refused(_) => {}
            }
            self.reader = None;
        } else {
            self.disk = self.disk.kill();
            self.reader = None;
            drop(database);
        }
        Ok(())
    }

    fn reopen(&mut self, database: Database, leave: CloseMode) -> Result<Database> {
        self.position += &format!(", {leave:?}");
        self.leave(database, leave)?;
        if leave == CloseMode::KillThenRead {
            let options = self.script.options().read_only(true);
            let opened = testing::open(&self.disk, &options, false, BOOT);
            // Commits that are only in the log have to be merged first.
            let is_in_log = matches!(&opened, Err(Error::InvalidArgument(text)) if text.contains("write-ahead log"));
            if !is_in_log && let CallOutcome::Done(database) = self.classify_end(opened)? {
                expect_sound(&database, &self.possible_states.after_kill())?;
            }
        }
        self.open()
    }

    /// Opens the database after the end of another process. Repairs the disk if it keeps failing.
    pub(super) fn open(&mut self) -> Result<Database> {
        const TRIES: usize = 3;
        (self.is_poisoned, self.has_failed_merge) = (false, false);
        for attempt in 0.. {
            let opened = testing::open(&self.disk, &self.script.options(), false, BOOT);
            match self.classify_end(opened)? {
                CallOutcome::Done(database) => return self.settle(database),
                CallOutcome::Refused(_) if attempt < TRIES => {}
                CallOutcome::Refused(_) => self.disk.heal(),
            }
        }
        Err(failure!("it cannot be opened"))
    }

    /// The state found by opening is durable from then on.
    fn settle(&mut self, database: Database) -> Result<Database> {
        (self.is_poisoned, self.has_failed_merge) = (false, false);
        let possible = self.possible_states.after_kill();
        let found = expect_sound(&database, &possible)?.clone();
        if let Recovery::RolledBack { from, to, reason } = database.info().recovery
            && self.possible_states.failed.is_none()
            // A partly written record, perhaps of a close, counts as that of a commit.
            && !(self.site.is_some() && reason.contains("a commit record that cannot be read"))
        {
            bail!("rolled back from {from} to {to} without a reason");
        }
        self.possible_states.settle(found);
        self.is_prepared = !database.prepared()?.is_empty();
        Ok(database)
    }
}
