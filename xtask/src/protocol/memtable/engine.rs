//! The steps of a process that has the database open: commits, flushes of the log, closing, and
//! other processes. Merges and flushes of the trees are in `merge.rs`.

use super::{
    actions::{CommitKind, LogAction, LogSteps},
    crash::end_process,
    log, merge,
    promises::{poison, push},
    rules::{LogRules, PlantedInLog},
    state::{CommitSet, LogEngine, LogModel, TreeRecord, first_commits, transaction_of},
};

/// The steps of a process.
pub(super) fn running(
    model: &LogModel,
    engine: &LogEngine,
    rules: &LogRules,
    steps: &mut LogSteps,
) {
    log_flush(model, engine, rules, steps);
    if engine.is_poisoned {
        let mut next = model.clone();
        end_process(&mut next);
        steps.push((LogAction::End, Ok(next)));
        return;
    }
    for kind in [CommitKind::Lazy, CommitKind::Durable] {
        if model.commits_left > 0 {
            add_commit(model, engine, kind, rules, steps);
            commit_to_trees(model, engine, kind, rules, steps);
        }
    }
    begin_reader(model, engine, rules, steps);
    merge::merges(model, engine, rules, steps);
    merge::tree_flush(model, engine, rules, steps);
    if model.events_left > 0 {
        sharing(model, engine, rules, steps);
        closing(model, engine, rules, steps);
    }
}

/// The next commit.
fn create_commit(model: &mut LogModel, rules: &LogRules) -> CommitSet {
    let commit = 1 << (rules.bounds.commits - model.commits_left);
    model.commits_left -= 1;
    commit
}

/// A small commit that becomes an entry of the log.
fn add_commit(
    model: &LogModel,
    engine: &LogEngine,
    kind: CommitKind,
    rules: &LogRules,
    steps: &mut LogSteps,
) {
    let is_shared = engine.is_shared && !rules.has(PlantedInLog::AttachedUnmerged);
    if engine.is_closed || engine.is_abandoned || is_shared {
        return;
    }
    let (mut next, mut changed) = (model.clone(), engine.clone());
    let commit = create_commit(&mut next, rules);
    if !engine.is_filled && !log::begin(&mut next, &mut changed, rules) {
        return;
    }
    let is_durable = kind == CommitKind::Durable;
    if is_durable {
        let follows = changed.log.map_or(0, |log| log.follows.0);
        if follows > engine.durable && !rules.has(PlantedInLog::FollowsAny) {
            return;
        }
        name_log(&mut next, rules);
    }
    let is_written = !is_durable || !rules.is_direct();
    if !log::append(&mut next, &mut changed, commit, is_written, rules) {
        return;
    }
    changed.newest |= commit;
    changed.is_filled = true;
    let end = log::seen_end(&changed);
    if !is_durable {
        changed.show(end);
        changed.exposed = changed.newest;
    } else {
        changed.last_durable = transaction_of(changed.newest);
        changed.waiting |= commit;
        if rules.has(PlantedInLog::UnflushedSeen) {
            changed.show(end);
        }
        if rules.has(PlantedInLog::FlushSkipped) {
            changed.flushed = changed.last_durable;
            changed.waiting = 0;
        }
    }
    push(steps, LogAction::AddCommit(kind, commit), next, changed);
}

/// The name of the log gets durable before the first durable commit.
fn name_log(model: &mut LogModel, rules: &LogRules) {
    if let Some(log) = &mut model.log
        && !rules.has(PlantedInLog::NameNotFlushed)
    {
        log.is_named = true;
        model.removed.clear();
    }
}

/// A commit that is not small, or that the log does not take.
fn commit_to_trees(
    model: &LogModel,
    engine: &LogEngine,
    kind: CommitKind,
    rules: &LogRules,
    steps: &mut LogSteps,
) {
    // It merges the memtable first.
    let is_early = engine.is_shared && rules.has(PlantedInLog::AttachedUnmerged);
    if engine.is_filled && !is_early {
        return;
    }
    let (mut next, mut changed) = (model.clone(), engine.clone());
    let commit = create_commit(&mut next, rules);
    let state = next.newest().state | commit;
    let is_lazy = kind == CommitKind::Lazy;
    next.write_record(TreeRecord {
        state,
        log_end: 0,
        is_lazy,
    });
    changed.newest |= commit;
    if is_lazy {
        changed.published = state;
        changed.exposed = changed.newest;
    }
    push(steps, LogAction::CommitToTrees(kind, commit), next, changed);
}

/// A reader that ends with a commit of the memtable, and will need trees with it.
fn begin_reader(model: &LogModel, engine: &LogEngine, rules: &LogRules, steps: &mut LogSteps) {
    let visible = engine.visible();
    let is_in_trees = transaction_of(visible) <= transaction_of(model.newest().state);
    if model.readers_left == 0 || !engine.is_filled || engine.reader.is_some() || is_in_trees {
        return;
    }
    let (mut next, mut changed) = (model.clone(), engine.clone());
    next.readers_left -= 1;
    let log_end = match rules.has(PlantedInLog::PartUnnamed) {
        true => 0,
        false => engine.seen.last_entry,
    };
    changed.reader = Some((visible, log_end));
    push(steps, LogAction::BeginReader(visible), next, changed);
}

/// Flushes of the log, for all threads that wait.
fn log_flush(model: &LogModel, engine: &LogEngine, rules: &LogRules, steps: &mut LogSteps) {
    if engine.log_flush.is_some() {
        let (mut next, mut changed) = (model.clone(), engine.clone());
        log::complete_flush(&mut next, &mut changed, rules);
        push(steps, LogAction::CompleteLogFlush, next, changed);
        if model.mishaps_left > 0 {
            fail_log_flush(model, engine, rules, steps);
        }
    } else if engine.waiting != 0 && model.log.is_some() {
        let (mut next, mut changed) = (model.clone(), engine.clone());
        log::begin_flush(&mut next, &mut changed);
        push(steps, LogAction::BeginLogFlush, next, changed);
    }
}

fn fail_log_flush(model: &LogModel, engine: &LogEngine, rules: &LogRules, steps: &mut LogSteps) {
    // A flush of the trees that runs ends before commits are taken back: not modelled.
    if engine.tree_flush.is_some() && engine.published != model.newest().state {
        return;
    }
    let (mut next, mut changed) = (model.clone(), engine.clone());
    next.mishaps_left -= 1;
    if let Some(log) = &mut next.log {
        log.locations_mut()
            .for_each(|position| position.fail_flush());
    }
    let Some(flush) = changed.log_flush.take() else {
        return;
    };
    if rules.has(PlantedInLog::FailedLogFlushTrusted) {
        log::note_flushed(&mut changed, flush, rules);
        push(steps, LogAction::FailLogFlush, next, changed);
        return;
    }
    changed.is_abandoned = true;
    if !rules.has(PlantedInLog::EntriesNotErased) {
        log::cut(&mut next, &changed, rules);
    }
    changed.waiting = 0;
    poison(&mut next, &mut changed);
    next.failed |= changed.newest & !changed.visible();
    push(steps, LogAction::FailLogFlush, next, changed);
}

/// Other processes attach, which the memtable's owner has to allow.
fn sharing(model: &LogModel, engine: &LogEngine, rules: &LogRules, steps: &mut LogSteps) {
    let (mut next, mut changed) = (model.clone(), engine.clone());
    next.events_left -= 1;
    if engine.is_shared {
        changed.is_shared = false;
        push(steps, LogAction::OtherLeaves, next.clone(), changed.clone());
        if !engine.is_filled {
            // The log stays. Durable commits of the trees may still wait for their flush.
            let durable = first_commits(engine.newest, engine.durable);
            let other = LogEngine {
                published: engine.published,
                exposed: engine.exposed,
                ..LogEngine::opened(engine.newest, durable)
            };
            if let Some(log) = &mut next.log {
                log.locations_mut()
                    .for_each(|position| position.fail_flush());
            }
            push(steps, LogAction::OwnerDies, next, other);
        }
    } else if !engine.is_filled || rules.has(PlantedInLog::AttachedUnmerged) {
        changed.is_shared = true;
        push(steps, LogAction::Attach, next, changed);
    }
}

/// Closing, alone, after a merge.
fn closing(model: &LogModel, engine: &LogEngine, rules: &LogRules, steps: &mut LogSteps) {
    if engine.is_filled || engine.is_shared || engine.tree_flush.is_some() {
        return;
    }
    // Threads that wait for a flush have an opening.
    if engine.waiting != 0 || engine.log_flush.is_some() {
        return;
    }
    let mut later = model.records.iter().skip(1);
    let is_durable = model.newest_record == 0;
    let is_lazy = later.all(|record| record.is_lazy);
    let action = match is_durable {
        true => LogAction::Close,
        false if is_lazy => LogAction::LeaveLazy,
        false => return,
    };
    let mut next = model.clone();
    next.events_left -= 1;
    end_process(&mut next);
    if engine.log.is_some() {
        next.remove_log(rules.has(PlantedInLog::RemovalUnflushed));
    }
    steps.push((action, Ok(next)));
}
