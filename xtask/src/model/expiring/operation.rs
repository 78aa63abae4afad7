//! The operations of an episode with expiring tables, and how they are drawn.

use super::oracle::{ExpiringKey, ExpiringLimits};
use crate::{
    campaign::{draw, time_of},
    model::operation::ReopenMode,
};
use fastrand::Rng;
use std::{sync::Arc, time::Duration};
use teak::{Durability, Expiry};

/// The names of the expiring tables.
pub(super) const NAMES: [&str; 3] = ["cache", "limited", "sessions"];

/// A change of one expiring table.
#[derive(Clone, Debug)]
pub(crate) enum ExpiringChange {
    Insert(ExpiringKey, ExpiringValue, Expiry),
    InsertNew(ExpiringKey, ExpiringValue, Expiry),
    Update(ExpiringKey, ExpiringValue),
    SetExpiry(ExpiringKey, Expiry),
    Remove(ExpiringKey),
    /// Removes at most this many records that have expired.
    RemoveExpired(u64),
    Clear,
    SetTtl(Option<u64>),
    SetMaxRecords(Option<u64>),
    SetMaxBytes(Option<u64>),
}

/// One operation of an episode.
#[derive(Clone, Debug)]
pub(crate) enum ExpiringOperation {
    /// Creates a table, if there is none.
    Create(usize, ExpiringLimits),
    Drop(usize),
    Change(usize, ExpiringChange),
    /// Inserts a record into the table that does not expire, or removes it.
    ChangeLasting(ExpiringKey, Option<ExpiringValue>),
    /// Compares everything with the model, in the open transaction or the newest state.
    Read,
    Savepoint,
    /// Rolls back to the last savepoint, or releases it.
    RollBack,
    Release,
    Commit(Durability),
    Abort,
    /// Prepares the transaction, perhaps opens the database again, and decides.
    Prepare {
        is_commit: bool,
        reopen: Option<ReopenMode>,
    },
    OpenReader,
    CloseReader(u64),
    /// Moves the clock by so many milliseconds.
    Tick(u64),
    /// Names the newest state, or compares and drops the named one.
    Snapshot,
    Sync,
    Check,
    OpenCopy,
    Reopen(ReopenMode),
}

/// A value, by the parameters that it is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpiringValue {
    len: usize,
    byte: u8,
}

impl ExpiringValue {
    pub(super) fn bytes(self) -> Arc<[u8]> {
        vec![self.byte; self.len].into()
    }

    fn draw(rng: &mut Rng) -> Self {
        let len = match rng.u8(..30) {
            0 => rng.usize(..10_000),
            _ => rng.usize(..40),
        };
        let byte = rng.u8(..);
        Self { len, byte }
    }
}

#[derive(Clone, Copy)]
enum ExpiringKind {
    Create,
    Drop,
    Change,
    ChangeLasting,
    Read,
    Savepoint,
    RollBack,
    Release,
    Commit,
    Abort,
    Prepare,
    OpenReader,
    CloseReader,
    Tick,
    Snapshot,
    Sync,
    Check,
    OpenCopy,
    Reopen,
}

const WEIGHTS: &[(ExpiringKind, u32)] = &[
    (ExpiringKind::Create, 100),
    (ExpiringKind::Drop, 10),
    (ExpiringKind::Change, 10_000),
    (ExpiringKind::ChangeLasting, 500),
    (ExpiringKind::Read, 200),
    (ExpiringKind::Savepoint, 100),
    (ExpiringKind::RollBack, 50),
    (ExpiringKind::Release, 50),
    (ExpiringKind::Commit, 600),
    (ExpiringKind::Abort, 30),
    (ExpiringKind::Prepare, 20),
    (ExpiringKind::OpenReader, 100),
    (ExpiringKind::CloseReader, 100),
    (ExpiringKind::Tick, 600),
    (ExpiringKind::Snapshot, 40),
    (ExpiringKind::Sync, 20),
    (ExpiringKind::Check, 40),
    (ExpiringKind::OpenCopy, 10),
    (ExpiringKind::Reopen, 20),
];

/// The parameters of random operations.
pub(super) struct ExpiringDraw {
    /// Keys are made from numbers below this.
    pub(super) domain: u64,
    pub(super) now_ms: u64,
}

impl ExpiringDraw {
    pub(super) fn operation(&self, rng: &mut Rng) -> ExpiringOperation {
        let kind = draw::weighted(rng, WEIGHTS).unwrap_or(ExpiringKind::Read);
        let table = rng.usize(..NAMES.len());
        match kind {
            ExpiringKind::Create => ExpiringOperation::Create(table, draw_limits(rng)),
            ExpiringKind::Drop => ExpiringOperation::Drop(table),
            ExpiringKind::Change => ExpiringOperation::Change(table, self.change(rng)),
            ExpiringKind::ChangeLasting => {
                let value = (rng.u8(..4) > 0).then(|| ExpiringValue::draw(rng));
                ExpiringOperation::ChangeLasting(self.key(rng), value)
            }
            ExpiringKind::Read => ExpiringOperation::Read,
            ExpiringKind::Savepoint => ExpiringOperation::Savepoint,
            ExpiringKind::RollBack => ExpiringOperation::RollBack,
            ExpiringKind::Release => ExpiringOperation::Release,
            ExpiringKind::Commit => ExpiringOperation::Commit(draw_durability(rng)),
            ExpiringKind::Abort => ExpiringOperation::Abort,
            ExpiringKind::Prepare => ExpiringOperation::Prepare {
                is_commit: rng.bool(),
                reopen: rng.bool().then_some(ReopenMode::Close),
            },
            ExpiringKind::OpenReader => ExpiringOperation::OpenReader,
            ExpiringKind::CloseReader => ExpiringOperation::CloseReader(rng.u64(..)),
            ExpiringKind::Tick => ExpiringOperation::Tick(rng.u64(..60)),
            ExpiringKind::Snapshot => ExpiringOperation::Snapshot,
            ExpiringKind::Sync => ExpiringOperation::Sync,
            ExpiringKind::Check => ExpiringOperation::Check,
            ExpiringKind::OpenCopy => ExpiringOperation::OpenCopy,
            ExpiringKind::Reopen => ExpiringOperation::Reopen(
                [
                    ReopenMode::Close,
                    ReopenMode::Drop,
                    ReopenMode::CloseThenReadOnly,
                ][rng.usize(..3)],
            ),
        }
    }

    fn change(&self, rng: &mut Rng) -> ExpiringChange {
        let key = self.key(rng);
        match rng.u16(..400) {
            0..180 => ExpiringChange::Insert(key, ExpiringValue::draw(rng), self.expiry(rng)),
            180..210 => ExpiringChange::InsertNew(key, ExpiringValue::draw(rng), self.expiry(rng)),
            210..240 => ExpiringChange::Update(key, ExpiringValue::draw(rng)),
            240..290 => ExpiringChange::SetExpiry(key, self.expiry(rng)),
            290..370 => ExpiringChange::Remove(key),
            370..385 => ExpiringChange::RemoveExpired(rng.u64(..50)),
            385 => ExpiringChange::Clear,
            386..390 => ExpiringChange::SetTtl(draw_limits(rng).ttl_ms),
            390..395 => ExpiringChange::SetMaxRecords(draw_limits(rng).max_records),
            _ => ExpiringChange::SetMaxBytes(draw_limits(rng).max_bytes),
        }
    }

    /// Keys of 4 to 40 bytes.
    fn key(&self, rng: &mut Rng) -> ExpiringKey {
        let number = rng.u64(..self.domain);
        let mut key = (number as u32).to_be_bytes().to_vec();
        key.resize(4 + (number % 37) as usize, b'k');
        key
    }

    fn expiry(&self, rng: &mut Rng) -> Expiry {
        match rng.u8(..6) {
            0 => Expiry::Never,
            1 => Expiry::At(time_of(self.now_ms.saturating_sub(rng.u64(..20)))),
            2 => Expiry::At(time_of(self.now_ms + rng.u64(..200))),
            3 => Expiry::After(Duration::from_millis(rng.u64(..100))),
            _ => Expiry::Default,
        }
    }
}

fn draw_limits(rng: &mut Rng) -> ExpiringLimits {
    ExpiringLimits {
        ttl_ms: rng.bool().then(|| rng.u64(..300)),
        max_records: rng.bool().then(|| rng.u64(1..400)),
        max_bytes: rng.bool().then(|| rng.u64(100..20_000)),
    }
}

fn draw_durability(rng: &mut Rng) -> Durability {
    [Durability::Durable, Durability::Async, Durability::Lazy][rng.usize(..3)]
}
