//! Merging the memtable into the trees, and flushing these. Functions have the names of those in
//! `crates/teak/src/instance/memtable.rs` and `write/merge.rs`.

use super::{
    actions::{LogAction, LogSteps},
    log,
    promises::{poison, push},
    rules::{LogRules, PlantedInLog},
    state::{LogEngine, LogModel, MergeInProgress, TreeRecord, transaction_of},
};

/// The steps of merges.
pub(super) fn merges(model: &LogModel, engine: &LogEngine, rules: &LogRules, steps: &mut LogSteps) {
    match engine.merging {
        None if engine.is_filled => begin_merge(model, engine, rules, steps),
        None => {}
        Some(merge) => match merge.part {
            Some(_) => end_part(model, engine, merge, steps),
            None => end_merge(model, engine, merge, rules, steps),
        },
    }
    if engine.merging.is_some() && model.events_left > 0 {
        undo_merge(model, engine, steps);
    }
}

/// Takes all commits so far. Later ones go on in the other half of the log, unless durable commits
/// need it.
fn begin_merge(model: &LogModel, engine: &LogEngine, rules: &LogRules, steps: &mut LogSteps) {
    let (mut next, mut changed) = (model.clone(), engine.clone());
    let is_unwritten = !engine.unwritten.is_empty();
    let log_end = engine.log.map_or(0, |log| log.last_entry);
    let is_needed = log::is_older_half_needed(engine) && !rules.has(PlantedInLog::HalfReused);
    if !engine.is_closed && !is_needed {
        log::turn_over(&mut next, &mut changed, rules);
    }
    let end = log::seen_end(&changed);
    if !is_unwritten || rules.has(PlantedInLog::UnwrittenMergeSeen) {
        // Entries in memory only are seen when the merge is in the trees.
        changed.show(end);
        changed.exposed = changed.newest;
    }
    let base = transaction_of(model.newest().state);
    let is_within = |part: &(u8, _)| {
        let transaction = transaction_of(part.0);
        transaction > base && transaction < transaction_of(engine.newest)
    };
    let mut part = engine.reader.filter(is_within);
    let mut end = end;
    if let Some(reader) = part
        && rules.has(PlantedInLog::PartNamesEarlier)
    {
        (part, end.last_entry) = (None, reader.1);
    }
    debug_assert!(end.last_entry == log_end || rules.planted.is_some());
    changed.merging = Some(MergeInProgress {
        end,
        part,
        has_durable: engine.last_durable > base,
    });
    push(steps, LogAction::BeginMerge(engine.newest), next, changed);
}

/// A record of a merge.
fn record_of(
    state: u8,
    log_end: u8,
    merge: MergeInProgress,
    rules: Option<&LogRules>,
) -> TreeRecord {
    let is_lazy = rules.is_some_and(|rules| rules.has(PlantedInLog::DurableMergeLazy));
    TreeRecord {
        state,
        log_end,
        is_lazy: !merge.has_durable || is_lazy,
    }
}

/// Writes the record of the state of a reader.
fn end_part(model: &LogModel, engine: &LogEngine, merge: MergeInProgress, steps: &mut LogSteps) {
    let Some((state, log_end)) = merge.part else {
        return;
    };
    let (mut next, mut changed) = (model.clone(), engine.clone());
    next.write_record(record_of(state, log_end, merge, None));
    changed.published = state;
    // The merge is written on top of it.
    changed.exposed |= state;
    changed.merging = Some(MergeInProgress {
        part: None,
        ..merge
    });
    changed.reader = None;
    push(steps, LogAction::WritePart(state), next, changed);
}

/// Writes the record of the merge.
fn end_merge(
    model: &LogModel,
    engine: &LogEngine,
    merge: MergeInProgress,
    rules: &LogRules,
    steps: &mut LogSteps,
) {
    let (mut next, mut changed) = (model.clone(), engine.clone());
    let state = merge.end.state;
    let log_end = match rules.has(PlantedInLog::MergeUnnamed) {
        true => 0,
        false => merge.end.last_entry,
    };
    next.write_record(record_of(state, log_end, merge, Some(rules)));
    changed.published = state;
    changed.show(merge.end);
    changed.exposed |= state;
    if rules.has(PlantedInLog::UnwrittenForgotten) {
        log::forget_unwritten(&mut changed, transaction_of(state), rules);
    }
    if (engine.reader).is_some_and(|(reader, _)| reader & !state == 0) {
        changed.reader = None;
    }
    changed.merging = None;
    changed.is_closed = false;
    changed.is_filled = changed.newest != state;
    push(steps, LogAction::CompleteMerge(state), next, changed);
}

/// The commits stay in the memtable, which takes no more until they are merged.
fn undo_merge(model: &LogModel, engine: &LogEngine, steps: &mut LogSteps) {
    let (mut next, mut changed) = (model.clone(), engine.clone());
    next.events_left -= 1;
    changed.merging = None;
    changed.is_closed = true;
    push(steps, LogAction::FailMerge, next, changed);
}

/// The steps of flushes of the trees.
pub(super) fn tree_flush(
    model: &LogModel,
    engine: &LogEngine,
    rules: &LogRules,
    steps: &mut LogSteps,
) {
    let (mut next, mut changed) = (model.clone(), engine.clone());
    let Some(target) = engine.tree_flush else {
        if model.newest_record > 0 {
            changed.tree_flush = Some(model.newest_record);
            let state = model.newest().state;
            push(steps, LogAction::BeginTreeFlush(state), next, changed);
        }
        return;
    };
    next.secure_record(target);
    let state = next.records[0].state;
    changed.tree_flush = None;
    changed.durable = transaction_of(state);
    changed.published |= state;
    log::forget_unwritten(&mut changed, transaction_of(state), rules);
    push(steps, LogAction::CompleteTreeFlush, next, changed);
    if model.mishaps_left > 0 {
        let (mut next, mut changed) = (model.clone(), engine.clone());
        next.mishaps_left -= 1;
        changed.is_abandoned = true;
        poison(&mut next, &mut changed);
        push(steps, LogAction::FailTreeFlush, next, changed);
    }
}
