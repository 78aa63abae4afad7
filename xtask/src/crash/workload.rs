//! Kinds of workload, each a script of steps.

use super::{
    context::EpisodeContext,
    settings::CrashSettings,
    stage::MODES,
    step::{ALPHABET, CrashStep},
    step_weights::{self, StepWeights},
};
use crate::{
    Result,
    campaign::{CampaignClock, draw},
};
use clap::ValueEnum;
use fastrand::Rng;
use teak::Durability;

/// The time at which an episode with records that expire begins.
const BEGIN_MS: u64 = 10_000;

/// The maximum length of the sequences that are all played.
pub(super) const SEQUENCE_LEN_MAX: u32 = 3;

/// The number of sequences of up to [`SEQUENCE_LEN_MAX`] letters.
pub(super) fn sequence_count() -> u64 {
    let letters = ALPHABET.len() as u64;
    (1..=SEQUENCE_LEN_MAX).map(|len| letters.pow(len)).sum()
}

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
    /// Records that expire, and a clock that moves. Only played if it is asked for
    Expiring,
}

impl Workload {
    /// All kinds except the sequences, which have episodes of their own, and those that are only
    /// played if they are asked for.
    pub(super) fn drawn() -> &'static [Self] {
        let all = Self::value_variants();
        &all[1..all.len() - 1]
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
        if self == Self::Expiring {
            settings.clock = Some(CampaignClock::new(BEGIN_MS));
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
            Self::Sequence | Self::Random => step_weights::RANDOM,
            Self::Reader => step_weights::READER,
            Self::Lazy => step_weights::LAZY,
            Self::Full => step_weights::FULL,
            Self::Faults => step_weights::FAULTS,
            Self::Savepoints => step_weights::SAVEPOINTS,
            Self::Growth => step_weights::GROWTH,
            Self::Shrink => step_weights::SHRINK,
            Self::Flush => step_weights::FLUSH,
            Self::Journal => step_weights::JOURNAL,
            Self::Named => step_weights::NAMED,
            Self::Small => step_weights::SMALL,
            Self::Shared => step_weights::SHARED,
            Self::Expiring => step_weights::EXPIRING,
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
            Self::PutExpiring(count) => context.change(|change| change.put_expiring(count)),
            Self::RemoveExpired => context.change(|change| change.remove_expired()),
            Self::Tick(ms) => {
                context.tick(ms);
                Ok(())
            }
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
