//! Recovery: which entries of a log count, as in `LeftWal::read` of
//! `crates/teak/src/instance/wal.rs`, and how they are merged.

use super::{
    actions::{LogAction, LogSteps, LogViolation},
    rules::{LogRules, PlantedInLog},
    state::{
        CommitSet, ContentNumber, Followed, LogContent, LogEngine, LogModel, LogPhase, ModelHalf,
        ModelLog, ROOM_MAX, TreeRecord, transaction_of,
    },
};
use arrayvec::ArrayVec;

/// The entries of both halves.
type LeftEntries = ArrayVec<ContentNumber, { 2 * ROOM_MAX }>;

/// The entries of a half, and what its header names.
struct ReadHalf {
    transaction: u8,
    follows: Followed,
    entries: ArrayVec<ContentNumber, ROOM_MAX>,
}

impl ReadHalf {
    fn read(half: &ModelHalf, model: &LogModel, rules: &LogRules) -> Option<Self> {
        let record = model.newest();
        let header = half[0].cache;
        let (transaction, follows) = match model.content(header) {
            Some(&LogContent::Header {
                transaction,
                follows,
            }) => (transaction, follows),
            _ if rules.has(PlantedInLog::LostHeaderAccepted) => {
                (transaction_of(record.state), Followed::Trees(record.state))
            }
            _ => return None,
        };
        let mut entries = ArrayVec::new();
        let mut last = header;
        for position in &half[1..] {
            let Some(LogContent::Entry { chained_to, .. }) = model.content(position.cache) else {
                break;
            };
            let is_first_after_nothing = header == 0 && entries.is_empty();
            let is_unchecked = rules.has(PlantedInLog::ChainUnchecked) || is_first_after_nothing;
            if *chained_to != last && !is_unchecked {
                break;
            }
            entries.push(position.cache);
            last = position.cache;
        }
        Some(Self {
            transaction,
            follows,
            entries,
        })
    }

    /// The transaction of an entry.
    fn transaction(&self, index: usize) -> u8 {
        self.transaction + index as u8 + 1
    }

    /// How the other half names the last entry.
    fn end(&self) -> Option<(u8, Followed)> {
        let last = *self.entries.last()?;
        let transaction = self.transaction(self.entries.len() - 1);
        Some((transaction, Followed::Entry(last)))
    }

    /// The index of the first entry after the commit of a record.
    fn first_after(&self, record: &TreeRecord, rules: &LogRules) -> Option<usize> {
        let transaction = transaction_of(record.state);
        let named = Followed::Trees(record.state);
        let merged = Followed::Entry(record.log_end);
        let is_named = self.transaction == transaction && [named, merged].contains(&self.follows);
        if is_named || rules.has(PlantedInLog::AnyPredecessor) {
            return Some(0);
        }
        let mut entries = self.entries.iter().enumerate();
        let found = entries.find(|&(index, &entry)| {
            entry == record.log_end && self.transaction(index) == transaction
        });
        found.map(|(index, _)| index + 1)
    }
}

/// The entries of a log after the newest commit in the trees.
fn left_entries(log: &ModelLog, model: &LogModel, rules: &LogRules) -> LeftEntries {
    let read = |half: &ModelHalf| ReadHalf::read(half, model, rules);
    let [first, second] = [read(&log.halves[0]), read(&log.halves[1])];
    let in_order = [(&first, &second), (&second, &first)];
    let following = in_order.map(|(half, other)| entries_after(model, rules, half, other));
    let longest = following.into_iter().max_by_key(|entries| entries.len());
    longest.unwrap_or_default()
}

fn entries_after(
    model: &LogModel,
    rules: &LogRules,
    half: &Option<ReadHalf>,
    other: &Option<ReadHalf>,
) -> LeftEntries {
    let Some(half) = half else {
        return LeftEntries::new();
    };
    let Some(first) = half.first_after(model.newest(), rules) else {
        return LeftEntries::new();
    };
    let is_continued = |other: &&ReadHalf| {
        half.end() == Some((other.transaction, other.follows))
            || rules.has(PlantedInLog::AnyHalfContinues)
    };
    let continued = other.iter().filter(is_continued);
    let continued = continued.flat_map(|other| &other.entries);
    let continued = continued.take(match rules.has(PlantedInLog::OneHalfRead) {
        true => 0,
        false => usize::MAX,
    });
    half.entries[first..]
        .iter()
        .chain(continued)
        .copied()
        .collect()
}

/// The state with the entries that count, and their number.
fn recovered(model: &LogModel, rules: &LogRules) -> Result<(CommitSet, usize), LogViolation> {
    let mut state = model.newest().state;
    let entries = match &model.log {
        Some(log) if !rules.has(PlantedInLog::LogIgnored) => left_entries(log, model, rules),
        _ => LeftEntries::new(),
    };
    for &entry in &entries {
        if let Some(&LogContent::Entry { commit, before, .. }) = model.content(entry) {
            if before != state {
                return Err(LogViolation::WrongState { commit, state });
            }
            state |= commit;
        }
    }
    Ok((state, entries.len()))
}

/// Checks a state that a database would be opened with.
fn check(model: &LogModel, state: CommitSet) -> Result<(), LogViolation> {
    let (lost, kept) = (model.promised & !state, model.kept & !state);
    if lost != 0 {
        return Err(LogViolation::PromisedLost(lost));
    }
    if kept != 0 {
        return Err(LogViolation::KeptLost(kept));
    }
    if model.gone & state != 0 {
        return Err(LogViolation::CameBack(model.gone & state));
    }
    if model.failed & state != 0 {
        return Err(LogViolation::FailedIsThere(model.failed & state));
    }
    Ok(())
}

/// The state that an opening finds, and how many entries of the log it has, with checks.
pub(super) fn found(
    model: &LogModel,
    rules: &LogRules,
) -> Result<(CommitSet, usize), LogViolation> {
    let (state, count) = recovered(model, rules)?;
    if rules.has(PlantedInLog::LeftNotMerged) {
        check(model, model.newest().state)?;
    }
    check(model, state)?;
    Ok((state, count))
}

/// Decides which commit in the trees counts, makes that permanent, and reads the log.
pub(super) fn open(model: &LogModel, rules: &LogRules) -> Result<LogModel, LogViolation> {
    let mut next = model.clone();
    next.secure_record(next.newest_record);
    next.records.truncate(1);
    let (state, count) = found(&next, rules)?;
    if count == 0 || rules.has(PlantedInLog::LeftNotMerged) {
        next.remove_log(rules.has(PlantedInLog::RemovalUnflushed));
        let state = next.newest().state;
        return Ok(opened(next, rules, state));
    }
    next.phase = LogPhase::Left {
        state,
        is_written: false,
    };
    Ok(next)
}

/// The database is open. Commits that it does not have must not come back.
fn opened(mut model: LogModel, rules: &LogRules, durable: CommitSet) -> LogModel {
    let state = model.newest().state;
    let created = rules.bounds.commits - model.commits_left;
    let all = ((1u16 << created) - 1) as CommitSet;
    model.gone = all & !state;
    model.failed = 0;
    model.kept = state;
    model.promised |= durable;
    model.phase = LogPhase::Running(LogEngine::opened(state, durable));
    model
}

/// The steps of a recovery that merges the log.
pub(super) fn left(
    model: &LogModel,
    (state, is_written): (CommitSet, bool),
    rules: &LogRules,
    steps: &mut LogSteps,
) {
    let mut next = model.clone();
    let is_durable = model.newest_record == 0;
    if !is_written {
        next.write_record(TreeRecord {
            state,
            log_end: 0,
            is_lazy: false,
        });
        next.phase = LogPhase::Left {
            state,
            is_written: true,
        };
        steps.push((LogAction::MergeLeft(state), Ok(next)));
    } else if is_durable || rules.has(PlantedInLog::LeftRemovedEarly) {
        next.remove_log(rules.has(PlantedInLog::RemovalUnflushed));
        let durable = next.records[0].state;
        steps.push((LogAction::RemoveLeft, Ok(opened(next, rules, durable))));
    } else {
        next.secure_record(next.newest_record);
        steps.push((LogAction::FlushLeft, Ok(next)));
    }
}
