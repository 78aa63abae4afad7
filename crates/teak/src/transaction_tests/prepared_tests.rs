//! Prepared transactions, crashes and failing calls.
//!
//! A course of durable steps: commits, transactions that are prepared, and their decisions. Each
//! step leads from one state to the next, where a state is what readers see and what is prepared.
//! After a crash at any call the database is in the state after the last acknowledged step, or
//! after the one that was under way. A prepared transaction can then be decided in both ways.

use crate::{
    Database, Error, Options, Result, Table, Transaction,
    testing::{self, CrashPoints, Fault, SimDisk},
    types::TransactionId,
};
use std::{collections::BTreeMap, ops::ControlFlow};

const BOOT: [u8; 16] = [1; 16];
const OTHER_BOOT: [u8; 16] = [2; 16];
const CAPACITY: usize = 8 << 20;
const NAME: &str = "seven";
const ROUNDS: u32 = 8;

type Records = BTreeMap<u32, Vec<u8>>;

/// The visible records, and those of the prepared transaction.
#[derive(Clone, PartialEq, Debug)]
struct State {
    visible: Records,
    prepared: Option<Records>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    Put,
    Prepare,
    Commit,
    RollBack,
    /// Closes the database, and opens it again.
    Reopen,
}

const STEPS: [Step; 12] = [
    Step::Put,
    Step::Prepare,
    Step::Commit,
    Step::Put,
    Step::Prepare,
    Step::RollBack,
    Step::Prepare,
    Step::Reopen,
    Step::RollBack,
    Step::Prepare,
    Step::Reopen,
    Step::Commit,
];

fn open(disk: &SimDisk, is_new: bool, boot: [u8; 16]) -> Result<Database> {
    // So little memory that leaves are written early.
    let options = Options::new().write_memory_bytes(64 << 10);
    testing::open(disk, &options, is_new, boot)
}

/// Changes records in a way that depends on the round.
fn change(records: &mut Records, round: u32) {
    for i in 0..60 {
        let key = (i * 37 + round * 11) % 400;
        match (key + round) % 5 {
            0 => drop(records.remove(&key)),
            1 if i < 3 => drop(records.insert(key, vec![round as u8; 9000])),
            _ => drop(records.insert(key, vec![round as u8; 150])),
        }
    }
}

fn write(database: &Database, to: &Records, prepares: bool) -> Result<TransactionId> {
    let mut txn = database.begin_write()?;
    let table: Table<u32, Vec<u8>> = txn.create_table("records")?;
    let before = read(&txn)?;
    for key in before.keys().filter(|key| !to.contains_key(key)) {
        table.remove(&mut txn, *key)?;
    }
    for (key, value) in to
        .iter()
        .filter(|(key, value)| before.get(key) != Some(*value))
    {
        table.insert(&mut txn, *key, value)?;
    }
    match prepares {
        true => txn.prepare(NAME),
        false => txn.commit(),
    }
}

fn read(txn: &impl Transaction) -> Result<Records> {
    let table = match txn.open_table::<u32, Vec<u8>>("records") {
        Err(Error::TableNotFound(_)) => return Ok(Records::new()),
        table => table?,
    };
    (table.iter(txn)?)
        .map(|record| record.map(|(key, value)| (key, value.to_vec())))
        .collect()
}

fn state_of(database: &Database, context: &str) -> State {
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{context}: {:#?}", report.damages);
    let names: Vec<_> = database.prepared().unwrap().into_iter().collect();
    assert!(names.len() <= 1, "{context}: {names:?}");
    let prepared = names.first().map(|info| {
        assert_eq!(info.name, NAME.as_bytes());
        read(&database.open_prepared(NAME).unwrap()).unwrap()
    });
    State {
        visible: read(&database.begin_read().unwrap()).unwrap(),
        prepared,
    }
}

/// The state after a step.
fn after(state: &State, step: Step, round: u32) -> State {
    let mut next = state.clone();
    match step {
        Step::Put => change(&mut next.visible, round),
        Step::Prepare => {
            let mut records = state.visible.clone();
            change(&mut records, round);
            next.prepared = Some(records);
        }
        Step::Commit => next.visible = next.prepared.take().unwrap(),
        Step::RollBack => next.prepared = None,
        Step::Reopen => {}
    }
    next
}

fn make(database: &Database, step: Step, next: &State) -> Result<()> {
    match step {
        Step::Put => write(database, &next.visible, false).map(drop),
        Step::Prepare => write(database, next.prepared.as_ref().unwrap(), true).map(drop),
        Step::Commit => database.commit_prepared(NAME).map(drop),
        Step::RollBack => database.rollback_prepared(NAME).map(drop),
        Step::Reopen => Ok(()),
    }
}

/// The steps that were made, by the number of events of the disk when each began and had returned,
/// with the state after it.
struct Course {
    steps: Vec<(usize, usize, State)>,
}

impl Course {
    /// Whether a crash after `event` events may lead to this state.
    fn allows(&self, state: &State, event: usize) -> bool {
        let acknowledged = self.steps.partition_point(|(_, end, _)| *end <= event);
        let begun = self.steps.partition_point(|(begin, _, _)| *begin < event);
        let first = acknowledged.saturating_sub(1);
        (self.steps[first..begun.max(acknowledged)].iter()).any(|(_, _, other)| other == state)
    }
}

#[test]
fn a_crash_at_any_call_leaves_a_prepared_transaction_whole_or_not_at_all() {
    let disk = SimDisk::new(CAPACITY);
    let mut database = open(&disk, true, BOOT).unwrap();
    let mut state = State {
        visible: Records::new(),
        prepared: None,
    };
    let mut course = Course {
        steps: vec![(0, disk.event_count(), state.clone())],
    };
    for (index, step) in STEPS.into_iter().enumerate() {
        let begin = disk.event_count();
        state = after(&state, step, index as u32);
        if step == Step::Reopen {
            database.close().unwrap();
            database = open(&disk, false, BOOT).unwrap();
        }
        make(&database, step, &state).unwrap();
        course
            .steps
            .push((begin, disk.event_count(), state.clone()));
        assert_eq!(state_of(&database, &format!("step {index}")), state);
    }
    drop(database);
    let mut rng = Rng(1);
    let mut decided = 0;
    for granularity in [512, 4096] {
        let mut points = disk.crash_points(granularity);
        while points.advance().is_some() {
            decided += u32::from(crash_at(&points, &course, &mut rng));
        }
    }
    assert!(decided > 50, "{decided}");
}

/// Crashes there in several ways. Returns whether a prepared transaction was found.
fn crash_at(points: &CrashPoints, course: &Course, rng: &mut Rng) -> bool {
    let event = points.event_index();
    let created = course.steps[0].1;
    if event < created {
        return false;
    }
    let mut was_prepared = false;
    let images = [
        (points.process_crash(), BOOT),
        (points.power_cut(&mut |count| rng.below(count)), OTHER_BOOT),
        (points.power_cut(&mut |count| rng.below(count)), OTHER_BOOT),
        (points.power_cut(&mut |count| count - 1), OTHER_BOOT),
    ];
    for (number, (image, boot)) in images.into_iter().enumerate() {
        let context = format!("event {event}, image {number}");
        let crashed = SimDisk::from_image(image, CAPACITY);
        let database = match open(&crashed, false, boot) {
            Ok(database) => database,
            Err(error) => panic!("{context}: {error}"),
        };
        let state = state_of(&database, &context);
        assert!(course.allows(&state, event), "{context}: no such state");
        was_prepared |= state.prepared.is_some();
        go_on(&database, state, rng, &context);
    }
    was_prepared
}

/// Decides, if something is prepared, and writes.
fn go_on(database: &Database, mut state: State, rng: &mut Rng, context: &str) {
    if state.prepared.is_some() {
        assert!(matches!(
            database
                .begin_write_with(crate::WriteOptions::new().timeout(std::time::Duration::ZERO)),
            Err(Error::TransactionPrepared { .. })
        ));
        let step = [Step::Commit, Step::RollBack][rng.below(2)];
        state = after(&state, step, 0);
        make(database, step, &state).unwrap();
        assert_eq!(state_of(database, context), state, "{context}: {step:?}");
    }
    for round in 0..2 {
        state = after(&state, Step::Put, 90 + round);
        make(database, Step::Put, &state).unwrap();
    }
    assert_eq!(state_of(database, context), state, "{context}");
}

#[test]
fn no_failing_call_leaves_a_prepared_transaction_in_part() {
    for fault in [Fault::DISK_ERROR, Fault::DISK_FULL] {
        let mut call = 0;
        while fail_at(call, fault) {
            call += 1;
        }
        assert!(call > 40, "only {call} calls");
    }
}

/// Makes the steps while a call fails. Returns whether it was reached.
fn fail_at(call: u64, fault: Fault) -> bool {
    let context = format!("call {call} fails with {fault:?}");
    let disk = SimDisk::new(CAPACITY);
    let mut database = open(&disk, true, BOOT).unwrap();
    let first = disk.calls();
    disk.fail_on(first + call, fault);
    let mut state = State {
        visible: Records::new(),
        prepared: None,
    };
    let mut rng = Rng(call + 1);
    for round in 0..ROUNDS {
        let step = match (&state.prepared, round % 2) {
            (None, 0) => Step::Put,
            (None, _) => Step::Prepare,
            (Some(_), _) => [Step::Commit, Step::RollBack][rng.below(2)],
        };
        let next = after(&state, step, round);
        let Err(error) = make(&database, step, &next) else {
            state = next;
            continue;
        };
        assert!(
            matches!(&error, Error::Io { cause, .. } if cause.raw_os_error() == Some(fault.errno)),
            "{context}: {error:?}"
        );
        assert_eq!(
            state_of(&database, &context),
            state,
            "{context}: what is read"
        );
        let is_poisoned = matches!(
            database
                .begin_write_with(crate::WriteOptions::new().timeout(std::time::Duration::ZERO)),
            Err(Error::Poisoned { .. })
        );
        let cut = disk.power_cut(&mut |count| rng.below(count), 512);
        let cut = SimDisk::from_image(cut, CAPACITY);
        let found = state_of(&open(&cut, false, OTHER_BOOT).unwrap(), &context);
        assert!(
            found == state || found == next,
            "{context}: after a power cut"
        );
        if is_poisoned {
            drop(database);
            database = open(&disk, false, BOOT).unwrap();
            let found = state_of(&database, &context);
            assert!(found == state || found == next, "{context}: reopened");
            state = found;
        }
    }
    let reached = disk.calls() > first + call;
    disk.heal();
    go_on(&database, state, &mut rng, &context);
    reached
}

/// A small generator of numbers.
struct Rng(u64);

impl Rng {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % count as u64) as usize
    }
}
