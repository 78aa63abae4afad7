//! Every call of a workload fails once, with each kind of fault.
//!
//! Bugs found this way: pages of readers and of the last durable commit that were overwritten after
//! a failed commit, commits that reappeared although they had been reported as undone, and a file
//! that could not be opened any more. So after each round the newest state must be undamaged and
//! the last acknowledged one. The state of an early reader does not change. After reopening, all
//! acknowledged commits exist. A power cut before or after the reopening loses no durable commit.

use crate::{
    Error, Result, TransactionId,
    io::sim::{Fault, SimDisk},
};
use crate::{
    instance::engine::Engine,
    read::reader::Reader,
    record::durability::Durability,
    transaction_tests::test_kit::{
        BOOT, CAPACITY, Model, OTHER_BOOT, PAGE_SIZE, ascending_key, assert_clean,
        assert_snapshot_clean, create_table, get_in, insert, new_database, open,
    },
    write::transaction::WriteTransaction,
};
use std::sync::Arc;

/// Rounds before the database is closed and reopened, and after that.
const ROUNDS: u32 = 12;
const LAST_ROUNDS: u32 = 4;
/// The round after which a reader begins, and keeps its snapshot.
const READER_ROUND: u32 = 3;

#[test]
fn no_disk_error_loses_an_acknowledged_commit() {
    sweep(Fault::DISK_ERROR);
}

#[test]
fn no_full_disk_loses_an_acknowledged_commit() {
    sweep(Fault::DISK_FULL);
}

/// Fails each call in turn, until the fault is after the last one.
fn sweep(fault: Fault) {
    let mut position = 0;
    while Extent::new(fault, position).play() {
        position += 1;
    }
    assert!(position > 50, "the workload makes only {position} calls");
}

/// The workload with a fault at one call.
struct Extent {
    disk: SimDisk,
    fault: Fault,
    /// Calls after the creation of the database, before the failing one.
    position: u64,
    fault_call: u64,
    /// Acknowledged states, the empty database first.
    states: Vec<(TransactionId, Model)>,
    /// The last of these that was acknowledged as durable.
    durable: TransactionId,
    /// A snapshot that is held, and its contents.
    held: Option<(Reader, Model)>,
}

impl Extent {
    fn new(fault: Fault, position: u64) -> Self {
        Self {
            disk: SimDisk::new(CAPACITY),
            fault,
            position,
            fault_call: 0,
            states: vec![(TransactionId(0), Model::new())],
            durable: TransactionId(0),
            held: None,
        }
    }

    /// Returns whether the fault occurred.
    fn play(mut self) -> bool {
        let engine = self.create();
        self.rounds(&engine, 0..ROUNDS);
        self.assert_power_cuts_spare_durable();
        if let Err(error) = engine.close() {
            self.assert_expected(&error);
        }
        self.assert_reader_intact();
        self.held = None;
        drop(engine);

        let engine = self.reopen();
        self.assert_newest(&engine);
        self.durable = self.last().0;
        self.assert_power_cuts_spare_durable();
        self.rounds(&engine, ROUNDS..ROUNDS + LAST_ROUNDS);
        self.assert_power_cuts_spare_durable();
        self.disk.calls() > self.fault_call
    }

    fn create(&mut self) -> Arc<Engine> {
        let (disk, engine) = new_database();
        self.disk = disk;
        self.fault_call = self.disk.calls() + self.position;
        self.disk.fail_on(self.fault_call, self.fault);
        engine
    }

    /// Opens the database in the same boot. The fault may occur then.
    fn reopen(&self) -> Arc<Engine> {
        open(&self.disk, false, BOOT).unwrap_or_else(|error| {
            self.assert_injected(&error);
            match open(&self.disk, false, BOOT) {
                Ok(engine) => engine,
                Err(error) => panic!("{self}, opening: {error}"),
            }
        })
    }

    fn last(&self) -> &(TransactionId, Model) {
        self.states.last().expect("the empty database is there")
    }

    /// Commits, one in three durably, and checks the state after each.
    fn rounds(&mut self, engine: &Arc<Engine>, rounds: std::ops::Range<u32>) {
        for round in rounds {
            // The last rounds are all lazy: they must not overwrite the last durable commit.
            let is_durable = round % 3 == 0 && round < ROUNDS;
            match self.commit(engine, round, is_durable) {
                Ok(state) => {
                    if is_durable {
                        self.durable = state.0;
                    }
                    self.states.push(state);
                }
                Err(error) => self.assert_expected(&error),
            }
            if round == READER_ROUND {
                self.held = Some((engine.begin_read().unwrap(), self.last().1.clone()));
            }
            assert_clean(engine);
            self.assert_newest(engine);
        }
    }

    fn commit(
        &self,
        engine: &Arc<Engine>,
        round: u32,
        is_durable: bool,
    ) -> Result<(TransactionId, Model)> {
        let mut txn = WriteTransaction::begin(engine)?;
        if !is_durable {
            txn.set_durability(Durability::Lazy);
        }
        let mut model = self.last().1.clone();
        if txn.root_of(engine.handle(b"a"), b"a")?.is_none() {
            create_table(&mut txn, b"a");
        }
        for i in 0..40 {
            let key = ascending_key(i * 37 % 300 + round);
            let len = if i == 0 { 9000 } else { 100 };
            let value = vec![round as u8; len];
            insert(&mut txn, b"a", &key, &value)?;
            model.insert(key, value);
        }
        Ok((txn.commit()?, model))
    }

    fn assert_newest(&self, engine: &Arc<Engine>) {
        let snapshot = engine.begin_read().unwrap();
        let (id, model) = self.last();
        assert_eq!(snapshot.transaction(), *id, "{self}");
        self.assert_holds(engine, &snapshot, model);
    }

    fn assert_holds(&self, engine: &Engine, snapshot: &Reader, model: &Model) {
        let handle = engine.handle(b"a");
        for (key, value) in model {
            let found = get_in(snapshot, handle, b"a", key);
            assert_eq!(found.as_ref(), Some(value), "{self}");
        }
    }

    fn assert_reader_intact(&self) {
        let Some((snapshot, model)) = &self.held else {
            return;
        };
        assert_snapshot_clean(snapshot);
        for (key, value) in model {
            let found = get_in(snapshot, 0, b"a", key);
            assert_eq!(found.as_ref(), Some(value), "{self}");
        }
    }

    /// The oldest and newest possible contents of the disk, and some in between.
    fn assert_power_cuts_spare_durable(&self) {
        let mut points = self.disk.crash_points(PAGE_SIZE);
        while points.advance().is_some() {}
        let mut seed = self.position;
        let mut random = move |count: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % count
        };
        self.assert_durable(points.power_cut(&mut |_| 0));
        self.assert_durable(points.power_cut(&mut |count| count - 1));
        self.assert_durable(points.power_cut(&mut random));
        // The records come first in the file: they reach the disk, and no page does.
        let mut records = 0..5;
        let mut only_records = |count: usize| records.next().map_or(0, |_| count - 1);
        self.assert_durable(points.power_cut(&mut only_records));
    }

    fn assert_durable(&self, image: Vec<u8>) {
        let engine = match open(&SimDisk::from_image(image, CAPACITY), false, OTHER_BOOT) {
            Ok(engine) => engine,
            Err(error) => panic!("{self}, opening after a power cut: {error}"),
        };
        let snapshot = engine.begin_read().unwrap();
        let id = snapshot.transaction();
        assert!(id >= self.durable, "{self}: {:?}", engine.recovery());
        assert_snapshot_clean(&snapshot);
        let state = self.states.iter().find(|(state, _)| *state == id);
        let (_, model) = state.unwrap_or_else(|| panic!("{self}: {id} was never acknowledged"));
        self.assert_holds(&engine, &snapshot, model);
    }

    /// The fault itself, or the refusal that follows it.
    fn assert_expected(&self, error: &Error) {
        if !matches!(error, Error::Poisoned { .. }) {
            self.assert_injected(error);
        }
    }

    fn assert_injected(&self, error: &Error) {
        let is_injected = matches!(
            error,
            Error::Io { cause, .. } if cause.raw_os_error() == Some(self.fault.errno)
        );
        assert!(is_injected, "{self}: {error}");
    }
}

impl std::fmt::Display for Extent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} at call {}", self.fault, self.position)
    }
}
