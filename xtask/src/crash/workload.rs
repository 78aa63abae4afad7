//! Kinds of workload, each a script of steps.

use super::{context::EpisodeContext, settings::CrashSettings, stage::MODES};
use crate::{Result, campaign::draw};
use clap::ValueEnum;
use fastrand::Rng;
use teak::Durability;

/// One step of an episode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CrashStep {
    Put(usize),
    Large,
    /// Removes this share of a table's records, in percent.
    Delete(u32),
    DropTable,
    Nested,
    Savepoints,
    Abort,
    Commit(Durability),
    /// Makes this many small commits.
    CommitSmall(Durability, usize),
    Sync,
    /// Makes many commits, which grow the file.
    Grow,
    /// Deletes almost all records and closes, which truncates the file.
    Shrink,
    /// Compacts: moves pages and truncates the file.
    Compact,
    Reopen,
    Kill,
    BeginReader,
    EndReader,
    /// Names the state of the open transaction, drops a name, or rolls back to a named state.
    CreateSnapshot,
    DropSnapshot,
    RollBack,
    /// Prepares a transaction, or decides about it.
    Prepare,
    Decide,
    /// Lets a call to the disk fail soon.
    Fault,
    /// Another process takes over, attaches, leaves, or dies in one of its next calls to the disk.
    /// `DieAll` kills all processes.
    SwitchProcess,
    Join,
    Leave,
    /// Another process flushes the commits of this one, which then continues.
    SyncElsewhere,
    Die(u64),
    DieAll,
}

/// The letters of the short sequences.
pub(super) const ALPHABET: [CrashStep; 18] = [
    CrashStep::Put(5),
    CrashStep::Delete(20),
    CrashStep::Large,
    CrashStep::DropTable,
    CrashStep::Abort,
    CrashStep::Nested,
    CrashStep::Commit(Durability::Durable),
    CrashStep::Commit(Durability::Lazy),
    CrashStep::Sync,
    CrashStep::Grow,
    CrashStep::Shrink,
    CrashStep::Compact,
    CrashStep::Reopen,
    CrashStep::CreateSnapshot,
    CrashStep::DropSnapshot,
    CrashStep::RollBack,
    CrashStep::Prepare,
    CrashStep::Decide,
];

/// The maximum length of the sequences that are all played.
pub(super) const SEQUENCE_LEN_MAX: u32 = 3;

/// The number of sequences of up to [`SEQUENCE_LEN_MAX`] letters.
pub(super) fn sequence_count() -> u64 {
    let letters = ALPHABET.len() as u64;
    (1..=SEQUENCE_LEN_MAX).map(|len| letters.pow(len)).sum()
}

/// Steps with the frequency of each.
type StepWeights = &'static [(CrashStep, u32)];

const RANDOM: StepWeights = &[
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

const READER: StepWeights = &[
    (CrashStep::Put(20), 8),
    (CrashStep::Large, 2),
    (CrashStep::Delete(30), 4),
    (CrashStep::BeginReader, 1),
    (CrashStep::EndReader, 1),
];

const LAZY: StepWeights = &[
    (CrashStep::Put(6), 8),
    (CrashStep::Large, 2),
    (CrashStep::Delete(20), 4),
    (CrashStep::Prepare, 1),
    (CrashStep::Kill, 1),
];

const FULL: StepWeights = &[
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

const FAULTS: StepWeights = &[
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

const SAVEPOINTS: StepWeights = &[
    (CrashStep::Put(6), 4),
    (CrashStep::Savepoints, 6),
    (CrashStep::Nested, 4),
    (CrashStep::Delete(10), 2),
    (CrashStep::Abort, 1),
];

const GROWTH: StepWeights = &[
    (CrashStep::Grow, 4),
    (CrashStep::Large, 4),
    (CrashStep::Put(20), 4),
];

const SHRINK: StepWeights = &[
    (CrashStep::Grow, 2),
    (CrashStep::Large, 3),
    (CrashStep::Delete(70), 3),
    (CrashStep::Shrink, 3),
    (CrashStep::Compact, 3),
    (CrashStep::Reopen, 2),
    (CrashStep::Kill, 1),
];

const FLUSH: StepWeights = &[
    (CrashStep::Put(6), 8),
    (CrashStep::Large, 2),
    (CrashStep::Delete(20), 4),
    (CrashStep::Sync, 3),
    (CrashStep::CreateSnapshot, 1),
];

const JOURNAL: StepWeights = &[
    (CrashStep::Put(2), 12),
    (CrashStep::Delete(2), 3),
    (CrashStep::Large, 1),
    (CrashStep::Prepare, 1),
    (CrashStep::Sync, 1),
];

const NAMED: StepWeights = &[
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

const SMALL: StepWeights = &[
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

const SHARED: StepWeights = &[
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

/// The kinds of workload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(super) enum Workload {
    /// All sequences of up to three letters in order, then longer random ones
    Sequence,
    /// A mix of everything
    Random,
    /// A long-lived reader while much is rewritten
    Reader,
    /// Many lazy commits, few durable ones
    Lazy,
    /// A size limit, a small disk, and calls that fail because it is full
    Full,
    /// Failing writes and flushes, and kills
    Faults,
    /// Savepoints and nested transactions
    Savepoints,
    /// A file that grows all the time
    Growth,
    /// A file that is truncated, and grows again
    Shrink,
    /// Reads and commits during flushes
    Flush,
    /// Small durable commits, and a journal that is often full
    Journal,
    /// Named snapshots that are made and dropped, and rollbacks to them
    Named,
    /// Small commits, lazy and durable, in a write-ahead log
    Small,
    /// Several processes that commit in turns and during each other's flushes, attach, leave and
    /// die
    Shared,
}

impl Workload {
    /// All kinds except the sequences, which have episodes of their own.
    pub(super) fn drawn() -> &'static [Self] {
        &Self::value_variants()[1..]
    }

    /// Whether errors are expected.
    pub(super) fn is_tolerant(self) -> bool {
        matches!(self, Self::Full | Self::Faults)
    }

    /// Adapts the settings.
    pub(super) fn adapt(self, settings: &mut CrashSettings, rng: &mut Rng) {
        let page_size = settings.page_size as u64;
        if self == Self::Full {
            match rng.u8(0..3) {
                0 => settings.size_limit_bytes = Some(page_size * rng.u64(24..48)),
                1 => settings.capacity = settings.page_size * rng.usize(24..48),
                _ => {}
            }
        }
        settings.has_log = match self {
            Self::Small => true,
            // The memtable expects more room than these disks have, or waits for the flush during
            // which they commit.
            Self::Full | Self::Faults | Self::Flush | Self::Shared => false,
            _ => settings.has_log,
        };
        if self == Self::Journal {
            settings.journal_bytes = page_size * rng.u64(2..8);
        }
    }

    /// Steps before the script. After so many durable commits, small ones go to the log.
    pub(super) fn more_of_base(self) -> &'static [CrashStep] {
        match self {
            Self::Small => &[CrashStep::CommitSmall(Durability::Durable, 18)],
            _ => &[],
        }
    }

    /// The frequency of each step, apart from the commits in between.
    fn weights(self) -> StepWeights {
        match self {
            Self::Sequence | Self::Random => RANDOM,
            Self::Reader => READER,
            Self::Lazy => LAZY,
            Self::Full => FULL,
            Self::Faults => FAULTS,
            Self::Savepoints => SAVEPOINTS,
            Self::Growth => GROWTH,
            Self::Shrink => SHRINK,
            Self::Flush => FLUSH,
            Self::Journal => JOURNAL,
            Self::Named => NAMED,
            Self::Small => SMALL,
            Self::Shared => SHARED,
        }
    }

    fn draw_mode(self, rng: &mut Rng) -> Durability {
        match self {
            Self::Lazy if rng.u8(0..8) != 0 => Durability::Lazy,
            Self::Named if rng.bool() => Durability::Lazy,
            Self::Journal if rng.u8(0..8) != 0 => Durability::Durable,
            Self::Flush | Self::Growth if rng.u8(0..4) != 0 => Durability::Durable,
            _ => MODES[rng.usize(0..MODES.len())],
        }
    }

    /// A script of this kind. `sequence` counts the episodes of sequences.
    pub(super) fn script(self, rng: &mut Rng, sequence: u64) -> Vec<CrashStep> {
        if self == Self::Sequence {
            return sequence_script(rng, sequence);
        }
        let weights = self.weights();
        let mut script = Vec::new();
        if self == Self::Reader {
            script.push(CrashStep::BeginReader);
        }
        if self == Self::Journal {
            script.push(CrashStep::Grow);
        }
        if self == Self::Shared {
            script.extend([CrashStep::Join, CrashStep::Join]);
        }
        for _ in 0..rng.usize(6..24) {
            script.extend(draw::weighted(rng, weights));
            if rng.u8(0..3) != 0 {
                script.push(CrashStep::Commit(self.draw_mode(rng)));
            }
        }
        script
    }
}

/// The sequence with this number. Those after the last have one more, random letter.
fn sequence_script(rng: &mut Rng, sequence: u64) -> Vec<CrashStep> {
    let letters = ALPHABET.len() as u64;
    let (cycle, mut rest) = (sequence / sequence_count(), sequence % sequence_count());
    let mut len = 1;
    while rest >= letters.pow(len) {
        rest -= letters.pow(len);
        len += 1;
    }
    let mut script = Vec::new();
    for _ in 0..len {
        script.push(ALPHABET[(rest % letters) as usize]);
        rest /= letters;
    }
    // Used after all of them were played with each page size.
    if cycle >= 3 {
        script.push(ALPHABET[rng.usize(0..ALPHABET.len())]);
    }
    script
}

impl CrashStep {
    pub(super) fn perform(self, context: &mut EpisodeContext, settings: &CrashSettings) -> Result {
        let page_size = settings.page_size;
        match self {
            Self::Put(count) => context.change(|change| change.put(count)),
            Self::Large => context.change(|change| change.put_large(page_size)),
            Self::Delete(percent) => context.change(|change| change.remove(percent)),
            Self::DropTable => context.change(|change| change.drop_table()),
            Self::Nested => context.change(|change| change.nested(page_size)),
            Self::Savepoints => context.change(|change| change.savepoints(page_size)),
            Self::Abort => {
                context.abort();
                Ok(())
            }
            Self::Commit(mode) => context.commit(mode),
            Self::CommitSmall(mode, count) => context.commit_small(mode, count),
            Self::Sync => context.sync(),
            Self::Grow => {
                context.change(|change| change.put(120))?;
                context.change(|change| change.put_large(page_size))?;
                context.commit_open()
            }
            Self::Shrink => {
                for _ in 0..2 {
                    context.change(|change| change.remove(95))?;
                    context.commit_open()?;
                }
                context.reopen()
            }
            Self::Compact => context.compact(),
            Self::Reopen => context.reopen(),
            Self::Kill => context.kill(),
            Self::BeginReader => context.begin_reader(),
            Self::EndReader => context.end_reader(),
            Self::CreateSnapshot => context.change(|change| change.name()),
            Self::DropSnapshot => context.change(|change| change.drop_snapshot()),
            Self::RollBack => context.roll_back_to_snapshot(),
            Self::Prepare => context.prepare(),
            Self::Decide => context.decide(),
            Self::Fault => {
                context.plan_fault();
                Ok(())
            }
            Self::SwitchProcess => context.switch_process(),
            Self::Join => context.join(),
            Self::Leave => context.leave(),
            Self::SyncElsewhere => context.sync_in_other_process(),
            Self::Die(calls) => context.kill_during_commit(calls),
            Self::DieAll => context.kill_all(),
        }
    }
}
