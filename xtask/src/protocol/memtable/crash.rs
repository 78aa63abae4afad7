//! The states after a kill, and after a power cut.

use super::{
    actions::LogAction,
    recovery,
    rules::LogRules,
    state::{ContentNumber, LogContent, LogModel, LogPhase, ModelLog, TreeRecord},
};
use crate::protocol::{
    search::ModelSteps,
    state::{Contents, Location, members, only},
};
use arrayvec::ArrayVec;

/// Kills and power cuts, which are possible at any time.
pub(super) fn mishaps(model: &LogModel, rules: &LogRules, next: &mut ModelSteps<LogRules>) {
    if model.mishaps_left == 0 {
        return;
    }
    if !matches!(model.phase, LogPhase::Down) {
        for killed in killed(model) {
            next.steps.push((LogAction::Kill, Ok(killed)));
        }
    }
    let mut logs: Vec<Option<&ModelLog>> = model.removed.iter().map(Some).collect();
    logs.extend(model.log.iter().map(Some));
    if !model.log.as_ref().is_some_and(|log| log.is_named) {
        logs.push(None);
    }
    for log in logs {
        for record in &model.records {
            let mut cut = cut(model, *record, log);
            choose(&mut cut, (log, 0), rules, next);
        }
    }
}

/// The caches stay. Entries that a flush was writing to the disk are there, or not, or torn.
fn killed(model: &LogModel) -> Vec<LogModel> {
    let mut next = model.clone();
    next.mishaps_left -= 1;
    next.phase = LogPhase::Down;
    let mut killed = vec![next];
    let flush = model.engine().and_then(|engine| engine.log_flush.as_ref());
    let in_flight = flush.map(|flush| &flush.writes[..]).unwrap_or_default();
    let unwritten = model.engine().map(|engine| &engine.unwritten);
    for write in in_flight {
        if !unwritten.is_some_and(|unwritten| unwritten.contains(write)) {
            continue;
        }
        let contents = [0, write.content];
        let written: Vec<_> = (killed.iter())
            .flat_map(|killed| {
                contents.map(|content| {
                    let mut next = killed.clone();
                    if let Some(log) = &mut next.log {
                        log.at(write.position).cache = content;
                    }
                    next
                })
            })
            .collect();
        killed.extend(written);
    }
    for next in &mut killed {
        end_process(next);
    }
    killed
}

/// Nothing more is known of the disk than while the process was alive.
pub(super) fn end_process(model: &mut LogModel) {
    if let Some(log) = &mut model.log {
        log.locations_mut().for_each(Location::fail_flush);
    }
    model.phase = LogPhase::Down;
}

/// The state after a power cut, except the contents of the log.
fn cut(model: &LogModel, record: TreeRecord, log: Option<&ModelLog>) -> LogModel {
    let mut log = log.cloned();
    log.iter_mut().for_each(|log| log.is_named = true);
    LogModel {
        records: ArrayVec::from_iter([record]),
        newest_record: 0,
        log,
        removed: ArrayVec::new(),
        contents: model.contents.clone(),
        phase: LogPhase::Down,
        kept: model.promised,
        failed: 0,
        mishaps_left: model.mishaps_left - 1,
        ..*model
    }
}

/// Every combination of possible contents of a log on the disk, from the place with this index on.
fn choose(
    cut: &mut LogModel,
    (log, index): (Option<&ModelLog>, usize),
    rules: &LogRules,
    next: &mut ModelSteps<LogRules>,
) {
    let len = usize::from(rules.bounds.room) + 1;
    let (half, index_in_half) = (index / len, index % len);
    let Some(before) = log.and_then(|log| log.halves.get(half)) else {
        // After the last mishap only recovery is left to check.
        match cut.mishaps_left == 0 && recovery::found(cut, rules).is_ok() {
            true => next.endings += 1,
            false => next.steps.push((LogAction::PowerCut, Ok(cut.clone()))),
        }
        return;
    };
    for content in members(asked_for(
        cut,
        (half, index_in_half),
        before[index_in_half].possible(),
        rules,
    )) {
        if let Some(log) = &mut cut.log {
            log.halves[half][index_in_half] = Location::certain(content);
        }
        choose(cut, (log, index + 1), rules, next);
    }
}

/// The contents of the next place to choose, with one that is unreadable for all that do not count.
fn asked_for(
    cut: &LogModel,
    (half, position): (usize, usize),
    possible: Contents,
    rules: &LogRules,
) -> Contents {
    if position == 0 || rules.planted.is_some() {
        return possible;
    }
    let log = cut.log.as_ref();
    let before = log.map_or(0, |log| log.halves[half][position - 1].cache);
    let is_chained = |content: &ContentNumber| {
        let entry = cut.content(*content);
        matches!(entry, Some(LogContent::Entry { chained_to, .. }) if *chained_to == before)
    };
    let chained = members(possible).filter(is_chained);
    let counting = chained.fold(0, |set, content| set | only(content));
    match possible & !counting {
        0 => counting,
        _ => counting | only(0),
    }
}
