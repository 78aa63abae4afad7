//! The states that a database may be in, and checks of its actual state.

use super::{
    model::{self, FaultTables, FaultValue, PREPARED},
    script::{self, TableChange},
};
use crate::{Context, Result, campaign::database::expect_clean};
use teak::{Database, Durability, Error, WriteTxn};

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

    /// All that was acknowledged is on the disk.
    pub(super) fn settle_acknowledged(&mut self) {
        self.settle(self.acknowledged.clone());
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
pub(super) fn commit_another(database: &Database, possible_states: &mut PossibleStates) -> Result {
    let describe = "one more commit";
    let mut next = possible_states.acknowledged.clone();
    if !database.prepared()?.is_empty() {
        database.rollback_prepared(PREPARED).context(describe)?;
    }
    let mut txn = database.begin_write().context(describe)?;
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
        Err(error) => return Err(error).context(describe),
    }
    expect_sound(database, &[&possible_states.acknowledged]).map(drop)
}

pub(super) fn refuse_changes(txn: &mut WriteTxn) -> Result {
    let any = TableChange::Remove { first: 0, count: 1 };
    match script::change(txn, &mut FaultTables::new(), 0, &any) {
        Err(Error::TransactionBroken) => Ok(()),
        Err(error) => Err(failure!("changing a broken transaction: {error}")),
        Ok(()) => Err(failure!("a broken transaction accepts changes")),
    }
}

/// Fails unless a check finds no damage and the state is an allowed one. Returns that state.
pub(super) fn expect_sound<'t>(
    database: &Database,
    possible: &[&'t FaultTables],
) -> Result<&'t FaultTables> {
    let describe = "reading";
    expect_clean(database).context(describe)?;
    let txn = database.begin_read().context(describe)?;
    let mut differences = Vec::new();
    for state in possible {
        match model::compare(&txn, state) {
            Ok(()) => return Ok(state),
            Err(text) => differences.push(text),
        }
    }
    let recovery = database.info().recovery;
    Err(failure!(
        "not an allowed state: {differences:?} ({recovery:?})"
    ))
}
