//! How often each step is drawn, for each kind of workload.

use super::step::CrashStep;
use teak::Durability;

/// Steps with the frequency of each.
pub(super) type StepWeights = &'static [(CrashStep, u32)];

pub(super) const RANDOM: StepWeights = &[
    (CrashStep::Put(6), 8),
    (CrashStep::Large, 3),
    (CrashStep::Delete(15), 4),
    (CrashStep::DropTable, 1),
    (CrashStep::Nested, 1),
    (CrashStep::Savepoints, 1),
    (CrashStep::Abort, 1),
    (CrashStep::Sync, 2),
    (CrashStep::Grow, 1),
    (CrashStep::Shrink, 1),
    (CrashStep::Compact, 1),
    (CrashStep::Reopen, 1),
    (CrashStep::Kill, 2),
    (CrashStep::BeginReader, 2),
    (CrashStep::EndReader, 2),
    (CrashStep::CreateSnapshot, 2),
    (CrashStep::DropSnapshot, 1),
    (CrashStep::RollBack, 1),
    (CrashStep::Prepare, 2),
    (CrashStep::Decide, 1),
];

pub(super) const READER: StepWeights = &[
    (CrashStep::Put(20), 8),
    (CrashStep::Large, 2),
    (CrashStep::Delete(30), 4),
    (CrashStep::BeginReader, 1),
    (CrashStep::EndReader, 1),
];

pub(super) const LAZY: StepWeights = &[
    (CrashStep::Put(6), 8),
    (CrashStep::Large, 2),
    (CrashStep::Delete(20), 4),
    (CrashStep::Prepare, 1),
    (CrashStep::Kill, 1),
];

pub(super) const FULL: StepWeights = &[
    (CrashStep::Put(20), 6),
    (CrashStep::Large, 4),
    (CrashStep::Delete(40), 5),
    (CrashStep::Grow, 2),
    (CrashStep::Fault, 2),
    (CrashStep::Prepare, 2),
    (CrashStep::Decide, 1),
    (CrashStep::Compact, 1),
    (CrashStep::Reopen, 1),
    (CrashStep::Sync, 1),
];

pub(super) const FAULTS: StepWeights = &[
    (CrashStep::Put(6), 8),
    (CrashStep::Large, 2),
    (CrashStep::Delete(20), 3),
    (CrashStep::Fault, 5),
    (CrashStep::Prepare, 3),
    (CrashStep::Decide, 2),
    (CrashStep::Compact, 1),
    (CrashStep::CreateSnapshot, 2),
    (CrashStep::DropSnapshot, 1),
    (CrashStep::RollBack, 1),
    (CrashStep::Sync, 2),
    (CrashStep::Kill, 2),
    (CrashStep::Reopen, 1),
];

pub(super) const SAVEPOINTS: StepWeights = &[
    (CrashStep::Put(6), 4),
    (CrashStep::Savepoints, 6),
    (CrashStep::Nested, 4),
    (CrashStep::Delete(10), 2),
    (CrashStep::Abort, 1),
];

pub(super) const GROWTH: StepWeights = &[
    (CrashStep::Grow, 4),
    (CrashStep::Large, 4),
    (CrashStep::Put(20), 4),
];

pub(super) const SHRINK: StepWeights = &[
    (CrashStep::Grow, 2),
    (CrashStep::Large, 3),
    (CrashStep::Delete(70), 3),
    (CrashStep::Shrink, 3),
    (CrashStep::Compact, 3),
    (CrashStep::Reopen, 2),
    (CrashStep::Kill, 1),
];

pub(super) const FLUSH: StepWeights = &[
    (CrashStep::Put(6), 8),
    (CrashStep::Large, 2),
    (CrashStep::Delete(20), 4),
    (CrashStep::Sync, 3),
    (CrashStep::CreateSnapshot, 1),
];

pub(super) const JOURNAL: StepWeights = &[
    (CrashStep::Put(2), 12),
    (CrashStep::Delete(2), 3),
    (CrashStep::Large, 1),
    (CrashStep::Prepare, 1),
    (CrashStep::Sync, 1),
];

pub(super) const NAMED: StepWeights = &[
    (CrashStep::Put(6), 6),
    (CrashStep::Large, 2),
    (CrashStep::Delete(30), 3),
    (CrashStep::DropTable, 1),
    (CrashStep::CreateSnapshot, 5),
    (CrashStep::DropSnapshot, 2),
    (CrashStep::RollBack, 4),
    (CrashStep::Prepare, 3),
    (CrashStep::Decide, 2),
    (CrashStep::Savepoints, 1),
    (CrashStep::Shrink, 1),
    (CrashStep::Compact, 2),
    (CrashStep::Sync, 1),
    (CrashStep::Reopen, 1),
    (CrashStep::Kill, 2),
    (CrashStep::BeginReader, 1),
    (CrashStep::EndReader, 1),
];

pub(super) const SMALL: StepWeights = &[
    (CrashStep::CommitSmall(Durability::Lazy, 1), 6),
    (CrashStep::CommitSmall(Durability::Lazy, 6), 6),
    (CrashStep::CommitSmall(Durability::Durable, 1), 6),
    (CrashStep::CommitSmall(Durability::Durable, 6), 6),
    (CrashStep::CommitSmall(Durability::Durable, 22), 4),
    (CrashStep::Put(6), 1),
    (CrashStep::Large, 1),
    (CrashStep::Sync, 1),
    (CrashStep::Reopen, 1),
    (CrashStep::Kill, 2),
    (CrashStep::BeginReader, 3),
    (CrashStep::EndReader, 3),
    (CrashStep::CreateSnapshot, 1),
    (CrashStep::Prepare, 2),
];

pub(super) const SHARED: StepWeights = &[
    (CrashStep::Put(6), 12),
    (CrashStep::Large, 2),
    (CrashStep::Delete(30), 3),
    (CrashStep::SwitchProcess, 14),
    (CrashStep::Join, 3),
    (CrashStep::Leave, 2),
    (CrashStep::Die(0), 1),
    (CrashStep::Die(3), 1),
    (CrashStep::Die(6), 1),
    (CrashStep::DieAll, 1),
    (CrashStep::Sync, 3),
    (CrashStep::SyncElsewhere, 5),
    (CrashStep::Prepare, 4),
    (CrashStep::Decide, 1),
    (CrashStep::Grow, 1),
    (CrashStep::Shrink, 1),
    (CrashStep::Reopen, 1),
    (CrashStep::BeginReader, 1),
    (CrashStep::EndReader, 1),
];

pub(super) const EXPIRING: StepWeights = &[
    (CrashStep::PutExpiring(8), 10),
    (CrashStep::RemoveExpired, 2),
    (CrashStep::Tick(60), 6),
    (CrashStep::Put(6), 3),
    (CrashStep::Delete(20), 4),
    (CrashStep::DropTable, 1),
    (CrashStep::Savepoints, 1),
    (CrashStep::Abort, 1),
    (CrashStep::Sync, 2),
    (CrashStep::Compact, 1),
    (CrashStep::Shrink, 1),
    (CrashStep::Reopen, 1),
    (CrashStep::Kill, 2),
    (CrashStep::BeginReader, 1),
    (CrashStep::EndReader, 1),
    (CrashStep::CreateSnapshot, 1),
    (CrashStep::DropSnapshot, 1),
    (CrashStep::RollBack, 1),
    (CrashStep::Prepare, 2),
    (CrashStep::Decide, 1),
];
