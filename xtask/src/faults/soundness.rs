//! The states that a database may be in, and checks of its actual state.

use super::{
    model::{FaultTables, FaultValue},
    script::{self, TableChange},
};
use teak::{Database, Durability, Error, WriteTxn};

/// The result of a check; the error describes the violation.
pub(super) type FaultCheck<T = ()> = Result<T, String>;

/// The states that the database may be found in.
#[derive(Clone, Default)]
pub(super) struct PossibleStates {
    /// The last acknowledged state.
    pub(super) acknowledged: FaultTables,
    /// The last state that was acknowledged as durable.
    pub(super) durable: FaultTables,
    /// All states acknowledged since then, oldest first.
    pub(super) since: Vec<FaultTables>,
    /// The commit whose record or flush failed, after all of these.
    pub(super) failed: Option<FaultTables>,
    /// Whether the record of that commit was erased in the system's cache.
    pub(super) is_erased: bool,
}

impl PossibleStates {
    pub(super) fn acknowledge(&mut self, state: FaultTables, is_durable: bool) {
        self.acknowledged = state.clone();
        if is_durable {
            self.settle(state);
        } else {
            self.since.push(state);
        }
    }

    /// The only state on the disk.
    pub(super) fn settle(&mut self, state: FaultTables) {
        self.acknowledged = state.clone();
        self.durable = state;
        self.since.clear();
        self.failed = None;
        self.is_erased = false;
    }

    /// The states that a process may find after a kill.
    pub(super) fn after_kill(&self) -> Vec<&FaultTables> {
        let failed = self.failed.iter().filter(|_| !self.is_erased);
        std::iter::once(&self.acknowledged).chain(failed).collect()
    }

    /// The states that may be found after a power cut.
    pub(super) fn after_power_cut(&self) -> Vec<&FaultTables> {
        std::iter::once(&self.durable)
            .chain(&self.since)
            .chain(&self.failed)
            .collect()
    }
}

/// Makes one more durable commit.
pub(super) fn commit_another(
    database: &Database,
    possible_states: &mut PossibleStates,
) -> FaultCheck {
    let describe = |error: Error| format!("one more commit: {error}");
    let mut next = possible_states.acknowledged.clone();
    let mut txn = database.begin_write().map_err(describe)?;
    txn.set_durability(Durability::Durable);
    let value = FaultValue { seed: 1, len: 50 };
    let put = TableChange::Put {
        first: 77,
        count: 1,
        stride: 1,
        value,
    };
    let result = script::change(&mut txn, &mut next, 0, &put).and_then(|()| txn.commit());
    match result {
        Ok(_) => possible_states.settle(next),
        Err(Error::Full { .. }) => return Ok(()),
        Err(error) => return Err(describe(error)),
    }
    expect_sound(database, &[&possible_states.acknowledged]).map(drop)
}

pub(super) fn refuse_changes(txn: &mut WriteTxn) -> FaultCheck {
    let any = TableChange::Remove { first: 0, count: 1 };
    match script::change(txn, &mut FaultTables::new(), 0, &any) {
        Err(Error::TransactionBroken) => Ok(()),
        Err(error) => Err(format!("changing a broken transaction: {error}")),
        Ok(()) => Err("a broken transaction accepts changes".to_owned()),
    }
}

/// Fails unless a check finds no damage and the state is an allowed one. Returns that state.
pub(super) fn expect_sound<'t>(
    database: &Database,
    possible: &[&'t FaultTables],
) -> FaultCheck<&'t FaultTables> {
    let describe = |error: Error| format!("reading: {error}");
    let report = database.check(&mut |_| {}).map_err(describe)?;
    if let Some(damage) = report.damages.first() {
        return Err(format!("damage: {damage:?}"));
    }
    let txn = database.begin_read().map_err(describe)?;
    let mut differences = Vec::new();
    for state in possible {
        match script::is_same(&txn, state) {
            Ok(()) => return Ok(state),
            Err(text) => differences.push(text),
        }
    }
    Err(format!("not an allowed state: {differences:?}"))
}
