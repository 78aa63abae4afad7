//! What episodes do: kinds of workload, each a script of steps.

use super::{
    context::{EpisodeContext, MODES, StageResult},
    records,
    settings::CrashSettings,
};
use fastrand::Rng;
use teak::Durability;

/// One thing that an episode does.
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
    Sync,
    /// Commits much, and so makes the file longer.
    Grow,
    /// Deletes nearly all, and closes, which cuts the file.
    Shrink,
    /// Has pages moved and the file cut.
    Compact,
    Reopen,
    Kill,
    BeginReader,
    EndReader,
    /// Names the state of the open transaction, drops such a name, goes back to such a state.
    CreateSnapshot,
    DropSnapshot,
    RollBack,
    /// Has a call to the disk fail soon.
    Fault,
    /// Another process goes on, comes, goes, or dies in one of its next calls to the disk; the last one kills all.
    SwitchProcess,
    Join,
    Leave,
    /// Another process flushes what this one has committed, and this one goes on.
    SyncElsewhere,
    Die(u64),
    DieAll,
}

/// The letters that all short sequences are made of.
pub(super) const ALPHABET: [CrashStep; 16] = [
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
];

/// The longest of the sequences that are all played.
pub(super) const SEQUENCE_LEN_MAX: u32 = 3;

/// How many sequences there are of up to so many letters.
pub(super) fn sequence_count() -> u64 {
    let letters = ALPHABET.len() as u64;
    (1..=SEQUENCE_LEN_MAX).map(|len| letters.pow(len)).sum()
}

/// The kinds of workload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub(super) enum Workload {
    /// All sequences of up to three letters, one after the other; then longer ones at random
    Sequence,
    /// Everything, mixed
    Random,
    /// A reader that stays while much is rewritten
    Reader,
    /// Many lazy commits, few durable ones
    Lazy,
    /// A limit of size, a small disk, calls that fail because it is full
    Full,
    /// Writes and flushes that fail, and kills
    Faults,
    /// Savepoints and nested transactions
    Savepoints,
    /// A file that becomes longer and longer
    Growth,
    /// A file that is cut, and grows again
    Shrink,
    /// Reads and commits while a flush runs
    Flush,
    /// Named snapshots that come and go, and rollbacks to them
    Named,
    /// Several processes, which commit in turns and while another one's flush runs, and come and go and die
    Shared,
}

/// All but the sequences, which have episodes of their own.
pub(super) const DRAWN: [Workload; 11] = [
    Workload::Random,
    Workload::Reader,
    Workload::Lazy,
    Workload::Full,
    Workload::Faults,
    Workload::Savepoints,
    Workload::Growth,
    Workload::Shrink,
    Workload::Flush,
    Workload::Named,
    Workload::Shared,
];

impl Workload {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sequence => "sequence",
            Self::Random => "random",
            Self::Reader => "reader",
            Self::Lazy => "lazy",
            Self::Full => "full",
            Self::Faults => "faults",
            Self::Savepoints => "savepoints",
            Self::Growth => "growth",
            Self::Shrink => "shrink",
            Self::Flush => "flush",
            Self::Named => "named",
            Self::Shared => "shared",
        }
    }

    /// Whether errors are to be expected.
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
    }

    /// How often each step comes; commits come besides.
    fn weights(self) -> &'static [(CrashStep, u32)] {
        use CrashStep::*;
        match self {
            Self::Sequence | Self::Random => &[
                (Put(6), 8),
                (Large, 3),
                (Delete(15), 4),
                (DropTable, 1),
                (Nested, 1),
                (Savepoints, 1),
                (Abort, 1),
                (Sync, 2),
                (Grow, 1),
                (Shrink, 1),
                (Compact, 1),
                (Reopen, 1),
                (Kill, 2),
                (BeginReader, 2),
                (EndReader, 2),
                (CreateSnapshot, 2),
                (DropSnapshot, 1),
                (RollBack, 1),
            ],
            Self::Reader => &[
                (Put(20), 8),
                (Large, 2),
                (Delete(30), 4),
                (BeginReader, 1),
                (EndReader, 1),
            ],
            Self::Lazy => &[(Put(6), 8), (Large, 2), (Delete(20), 4), (Kill, 1)],
            Self::Full => &[
                (Put(20), 6),
                (Large, 4),
                (Delete(40), 5),
                (Grow, 2),
                (Fault, 2),
                (Compact, 1),
                (Reopen, 1),
                (Sync, 1),
            ],
            Self::Faults => &[
                (Put(6), 8),
                (Large, 2),
                (Delete(20), 3),
                (Fault, 5),
                (Compact, 1),
                (CreateSnapshot, 2),
                (DropSnapshot, 1),
                (RollBack, 1),
                (Sync, 2),
                (Kill, 2),
                (Reopen, 1),
            ],
            Self::Savepoints => &[
                (Put(6), 4),
                (Savepoints, 6),
                (Nested, 4),
                (Delete(10), 2),
                (Abort, 1),
            ],
            Self::Growth => &[(Grow, 4), (Large, 4), (Put(20), 4)],
            Self::Shrink => &[
                (Grow, 2),
                (Large, 3),
                (Delete(70), 3),
                (Shrink, 3),
                (Compact, 3),
                (Reopen, 2),
                (Kill, 1),
            ],
            Self::Flush => &[
                (Put(6), 8),
                (Large, 2),
                (Delete(20), 4),
                (Sync, 3),
                (CreateSnapshot, 1),
            ],
            Self::Named => &[
                (Put(6), 6),
                (Large, 2),
                (Delete(30), 3),
                (DropTable, 1),
                (CreateSnapshot, 5),
                (DropSnapshot, 2),
                (RollBack, 4),
                (Savepoints, 1),
                (Shrink, 1),
                (Compact, 2),
                (Sync, 1),
                (Reopen, 1),
                (Kill, 2),
                (BeginReader, 1),
                (EndReader, 1),
            ],
            Self::Shared => &[
                (Put(6), 12),
                (Large, 2),
                (Delete(30), 3),
                (SwitchProcess, 14),
                (Join, 3),
                (Leave, 2),
                (Die(0), 1),
                (Die(3), 1),
                (Die(6), 1),
                (DieAll, 1),
                (Sync, 3),
                (SyncElsewhere, 5),
                (Grow, 1),
                (Shrink, 1),
                (Reopen, 1),
                (BeginReader, 1),
                (EndReader, 1),
            ],
        }
    }

    fn draw_mode(self, rng: &mut Rng) -> Durability {
        match self {
            Self::Lazy if rng.u8(0..8) != 0 => Durability::Lazy,
            Self::Named if rng.bool() => Durability::Lazy,
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
        let sum: u32 = weights.iter().map(|(_, weight)| weight).sum();
        let mut script = Vec::new();
        if self == Self::Reader {
            script.push(CrashStep::BeginReader);
        }
        if self == Self::Shared {
            script.extend([CrashStep::Join, CrashStep::Join]);
        }
        for _ in 0..rng.usize(6..24) {
            let mut rest = rng.u32(0..sum);
            let drawn = weights.iter().find(|(_, weight)| {
                let is_it = rest < *weight;
                rest = rest.saturating_sub(*weight);
                is_it
            });
            script.extend(drawn.map(|(step, _)| *step));
            if rng.u8(0..3) != 0 {
                script.push(CrashStep::Commit(self.draw_mode(rng)));
            }
        }
        script
    }
}

/// The sequence of this number; those behind the last have a letter more and are drawn.
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
    // Once all have been played with each size of pages.
    if cycle >= 3 {
        script.push(ALPHABET[rng.usize(0..ALPHABET.len())]);
    }
    script
}

impl CrashStep {
    pub(super) fn perform(
        self,
        context: &mut EpisodeContext,
        settings: &CrashSettings,
    ) -> StageResult {
        let page_size = settings.page_size;
        match self {
            Self::Put(count) => {
                context.change(|txn, tables, rng| records::put(txn, tables, rng, count))
            }
            Self::Large => {
                context.change(|txn, tables, rng| records::put_large(txn, tables, rng, page_size))
            }
            Self::Delete(percent) => {
                context.change(|txn, tables, rng| records::remove(txn, tables, rng, percent))
            }
            Self::DropTable => context.change(records::drop_table),
            Self::Nested => {
                context.change(|txn, tables, rng| records::nested(txn, tables, rng, page_size))
            }
            Self::Savepoints => {
                context.change(|txn, tables, rng| records::savepoints(txn, tables, rng, page_size))
            }
            Self::Abort => {
                context.abort();
                Ok(())
            }
            Self::Commit(mode) => context.commit(mode),
            Self::Sync => context.sync(),
            Self::Grow => {
                context.change(|txn, tables, rng| records::put(txn, tables, rng, 120))?;
                context
                    .change(|txn, tables, rng| records::put_large(txn, tables, rng, page_size))?;
                context.commit_open()
            }
            Self::Shrink => {
                for _ in 0..2 {
                    context.change(|txn, tables, rng| records::remove(txn, tables, rng, 95))?;
                    context.commit_open()?;
                }
                context.reopen()
            }
            Self::Compact => context.compact(),
            Self::Reopen => context.reopen(),
            Self::Kill => context.kill(),
            Self::BeginReader => context.begin_reader(),
            Self::EndReader => context.end_reader(),
            Self::CreateSnapshot => context.change(records::name),
            Self::DropSnapshot => context.change(records::drop_snapshot),
            Self::RollBack => context.roll_back_to_snapshot(),
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
