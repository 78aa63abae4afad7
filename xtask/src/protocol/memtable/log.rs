//! The log that a process writes: where it begins, continues and ends, and its flushes.
//! Functions have the names of those in `crates/teak/src/instance/wal.rs` and `memtable/log.rs`.

use super::{
    rules::{LogRules, PlantedInLog},
    state::{
        CommitSet, ContentNumber, Followed, LogContent, LogEnd, LogEngine, LogFlushInProgress,
        LogModel, LogPosition, ModelLog, PendingWrite, SeenEnd, first_commits, transaction_of,
    },
};
use crate::protocol::state::{Location, only};

/// Begins the log of an empty memtable after the newest commit in the trees, or goes on after that.
/// Returns `false` if commits have to go to the trees.
pub(super) fn begin(model: &mut LogModel, engine: &mut LogEngine, rules: &LogRules) -> bool {
    let base = model.newest().state;
    let is_hidden = engine.published != base && !rules.has(PlantedInLog::FollowsHidden);
    if is_hidden {
        return false;
    }
    if is_log_needed(engine) && !rules.has(PlantedInLog::LogBegunAgain) {
        let goes_on = ends_with(model, engine, base);
        if goes_on {
            engine.seen = seen_end(engine);
        }
        return goes_on;
    }
    let transaction = transaction_of(base);
    let start = match engine.log {
        _ if is_in_flight_to_next(engine, rules) => return false,
        Some(LogEnd { header, next, .. }) => next_half(header, next),
        // There may be the log of another process.
        None if model.log.is_some() => return false,
        None => {
            model.log = Some(ModelLog::new(rules.bounds.room));
            0
        }
    };
    let follows = Followed::Trees(base);
    let last_entry = engine.log.map_or(0, |log| log.last_entry);
    forget_half(engine, start);
    let (mut log, header) = begin_half(model, start, transaction, follows, last_entry);
    log.follows = (transaction, transaction);
    (log.header, log.last) = (Some(header), header);
    engine.log = Some(log);
    engine.seen = SeenEnd {
        state: base,
        position: log.next,
        last_entry,
    };
    true
}

/// Whether the last entry of the log has made this state.
fn ends_with(model: &LogModel, engine: &LogEngine, state: CommitSet) -> bool {
    let last = engine.log.map_or(0, |log| log.last_entry);
    let entry = usize::from(last).checked_sub(1);
    entry.is_some_and(|entry| {
        matches!(model.contents[entry], LogContent::Entry { commit, before, .. } if before | commit == state)
    })
}

/// Continues in the other half, after the last entry.
pub(super) fn turn_over(model: &mut LogModel, engine: &mut LogEngine, rules: &LogRules) {
    let transaction = transaction_of(engine.newest);
    let Some(log) = engine.log.filter(|log| log.header.is_none()) else {
        return;
    };
    if is_in_flight_to_next(engine, rules) {
        return;
    }
    let start = next_half(None, log.next);
    let follows = Followed::Entry(log.last);
    forget_half(engine, start);
    let (mut next, header) = begin_half(model, start, transaction, follows, log.last_entry);
    next.follows = (log.follows.1, transaction);
    (next.header, next.last) = (Some(header), header);
    engine.log = Some(next);
}

/// A half without an entry since it began is used again.
fn next_half(header: Option<ContentNumber>, next: LogPosition) -> u8 {
    match header {
        Some(_) => next.half,
        None => 1 - next.half,
    }
}

/// Earlier entries for a half that begins again are not written any more.
fn forget_half(engine: &mut LogEngine, half: u8) {
    engine.unwritten.retain(|write| write.position.half != half);
}

fn begin_half(
    model: &mut LogModel,
    half: u8,
    transaction: u8,
    follows: Followed,
    last_entry: ContentNumber,
) -> (LogEnd, ContentNumber) {
    let header = model.new_content(LogContent::Header {
        transaction,
        follows,
    });
    let end = LogEnd {
        next: LogPosition { half, index: 1 },
        header: Some(header),
        last: header,
        last_entry,
        follows: (0, 0),
    };
    (end, header)
}

/// Whether durable commits need the log.
pub(super) fn is_log_needed(engine: &LogEngine) -> bool {
    engine.last_durable > engine.durable
}

/// Whether durable commits need the older half.
pub(super) fn is_older_half_needed(engine: &LogEngine) -> bool {
    let follows = engine.log.map_or(0, |log| log.follows.1);
    is_log_needed(engine) && follows > engine.durable
}

/// Whether a flush writes entries to the half that would be begun.
fn is_in_flight_to_next(engine: &LogEngine, rules: &LogRules) -> bool {
    let Some(log) = engine.log else {
        return false;
    };
    let half = next_half(log.header, log.next);
    let mut writes = engine.log_flush.iter().flat_map(|flush| &flush.writes);
    writes.any(|write| write.position.half == half) && !rules.has(PlantedInLog::ReusedInFlight)
}

/// Appends an entry for `commit`, which is written to the cache, or later by a flush. Returns
/// `false` if there is no room.
pub(super) fn append(
    model: &mut LogModel,
    engine: &mut LogEngine,
    commit: CommitSet,
    is_written: bool,
    rules: &LogRules,
) -> bool {
    let Some(log) = &mut engine.log else {
        return false;
    };
    if log.next.index > rules.bounds.room {
        return false;
    }
    let transaction = transaction_of(engine.newest) + 1;
    let entry = model.new_content(LogContent::Entry {
        commit,
        before: engine.newest,
        chained_to: log.last,
    });
    let write = |position, content| PendingWrite {
        position,
        content,
        transaction,
    };
    let start = LogPosition {
        index: 0,
        ..log.next
    };
    let header = log.header.take().map(|header| write(start, header));
    let writes = header.into_iter().chain([write(log.next, entry)]);
    engine.unwritten.extend(writes);
    log.next.index += 1;
    (log.last, log.last_entry) = (entry, entry);
    if is_written {
        match rules.has(PlantedInLog::LazyAfterUnwritten) {
            true => write_only(model, engine, transaction),
            false => write_all(model, engine),
        }
    }
    true
}

/// Writes everything that is in memory only to the cache.
fn write_all(model: &mut LogModel, engine: &mut LogEngine) {
    for write in std::mem::take(&mut engine.unwritten) {
        write_cached(model, engine, write);
    }
}

/// Writes only the entry of this transaction.
fn write_only(model: &mut LogModel, engine: &mut LogEngine, transaction: u8) {
    let all = std::mem::take(&mut engine.unwritten);
    for write in all {
        match write.transaction == transaction {
            true => write_cached(model, engine, write),
            false => engine.unwritten.push(write),
        }
    }
}

fn write_cached(model: &mut LogModel, engine: &LogEngine, write: PendingWrite) {
    if let Some(log) = &mut model.log {
        (log.at(write.position)).write(write.content, engine.log_flush.is_some());
    }
}

/// The end of the log: all commits so far.
pub(super) fn seen_end(engine: &LogEngine) -> SeenEnd {
    SeenEnd {
        state: engine.newest,
        position: engine.log.map(|log| log.next).unwrap_or_default(),
        last_entry: engine.log.map_or(0, |log| log.last_entry),
    }
}

/// Begins a flush for all durable commits so far.
pub(super) fn begin_flush(model: &mut LogModel, engine: &mut LogEngine) {
    let Some(log) = &mut model.log else {
        return;
    };
    log.locations_mut().for_each(Location::begin_flush);
    for write in &engine.unwritten {
        // It may be torn, too.
        log.at(write.position).disk |= only(write.content) | only(0);
    }
    engine.log_flush = Some(LogFlushInProgress {
        last: engine.last_durable,
        seen: SeenEnd {
            // Not later lazy ones.
            state: first_commits(engine.newest, engine.last_durable),
            ..seen_end(engine)
        },
        writes: engine.unwritten.clone(),
    });
}

/// The flush that runs succeeds. Everything that it covered is on the disk.
pub(super) fn complete_flush(model: &mut LogModel, engine: &mut LogEngine, rules: &LogRules) {
    let Some(flush) = engine.log_flush.take() else {
        return;
    };
    if let Some(log) = &mut model.log {
        log.locations_mut().for_each(Location::complete_flush);
        for write in &flush.writes {
            *log.at(write.position) = Location::certain(write.content);
        }
    }
    note_flushed(engine, flush, rules);
}

/// Acknowledges what a flush has made durable.
pub(super) fn note_flushed(engine: &mut LogEngine, flush: LogFlushInProgress, rules: &LogRules) {
    let is_written = |write: &PendingWrite| flush.writes.contains(write);
    engine.unwritten.retain(|write| !is_written(write));
    let last = match rules.has(PlantedInLog::FlushCountsLater) {
        true => engine.last_durable,
        false => flush.last,
    };
    engine.flushed = last;
    engine.waiting &= !first_commits(engine.newest, last);
    engine.show(flush.seen);
}

/// Erases the entries after those that readers see.
pub(super) fn cut(model: &mut LogModel, engine: &LogEngine, rules: &LogRules) {
    let Some(end) = engine.log else {
        return;
    };
    let (position, present) = (engine.seen.position, end.next.half);
    if position.index <= rules.bounds.room {
        write_erased(model, position);
    }
    if position.half != present {
        write_erased(
            model,
            LogPosition {
                half: present,
                index: 0,
            },
        );
    }
}

fn write_erased(model: &mut LogModel, position: LogPosition) {
    if let Some(log) = &mut model.log {
        log.at(position).write(0, false);
    }
}

/// The entries in memory that are not needed any more, because their commits are durable in the
/// trees, are forgotten. Later ones in their half are chained to them.
pub(super) fn forget_unwritten(engine: &mut LogEngine, durable: u8, rules: &LogRules) {
    let present = engine.log.map(|log| log.next.half);
    let is_needed = |write: &PendingWrite| write.transaction > durable;
    let has_needed = |half| {
        let mut in_half = (engine.unwritten.iter()).filter(|write| write.position.half == half);
        !rules.has(PlantedInLog::ChainForgotten)
            && (present == Some(half) || in_half.any(is_needed))
    };
    let needed = [has_needed(0), has_needed(1)];
    (engine.unwritten)
        .retain(|write| write.transaction > durable || needed[usize::from(write.position.half)]);
}
