//! Maps states that differ only in names to one canonical state, and forgets what cannot matter.

use super::{
    rules::LogRules,
    state::{ContentNumber, Followed, LogContent, LogModel, LogPhase, LogPosition},
};
use crate::protocol::state::{Location, members, only};
use arrayvec::ArrayVec;

pub(super) fn canonical(mut model: LogModel, rules: &LogRules) -> LogModel {
    forget_disk(&mut model);
    if rules.planted.is_none() {
        forget_chainless(&mut model);
    }
    sort_halves(&mut model);
    let mut table = [0; 32];
    let mut kept = Vec::new();
    for_each_content(&mut model, |content| note(&mut table, &mut kept, *content));
    // Contents that others refer to are kept for their names only.
    let mut index = 0;
    while let Some(&number) = kept.get(index) {
        let referred = match model.content(number) {
            Some(&LogContent::Entry { chained_to, .. }) => chained_to,
            Some(&LogContent::Header {
                follows: Followed::Entry(entry),
                ..
            }) => entry,
            _ => 0,
        };
        note(&mut table, &mut kept, referred);
        index += 1;
    }
    let old = std::mem::take(&mut model.contents);
    let renamed = |number: ContentNumber| table[usize::from(number)];
    let rename = |content: LogContent| match content {
        LogContent::Header {
            transaction,
            follows: Followed::Entry(entry),
        } => LogContent::Header {
            transaction,
            follows: Followed::Entry(renamed(entry)),
        },
        LogContent::Entry {
            commit,
            before,
            chained_to,
        } => LogContent::Entry {
            commit,
            before,
            chained_to: renamed(chained_to),
        },
        LogContent::Header { .. } => content,
    };
    let contents = kept
        .iter()
        .map(|&number| rename(old[usize::from(number) - 1]));
    model.contents = contents.collect::<ArrayVec<_, 31>>();
    for_each_content(&mut model, |content| *content = renamed(*content));
    for location in locations(&mut model) {
        location.disk = renamed_set(location.disk, &table);
        location.since = renamed_set(location.since, &table);
    }
    model
}

/// Entries that are chained to nothing that may be before them never count, and are unreadable.
fn forget_chainless(model: &mut LogModel) {
    let contents = model.contents.clone();
    let pending = match &model.phase {
        LogPhase::Running(engine) => {
            let in_flight = engine.log_flush.iter().flat_map(|flush| &flush.writes);
            let pending = engine.unwritten.iter().chain(in_flight);
            pending.fold(0, |set, write| set | only(write.content))
        }
        _ => 0,
    };
    let logs = model.log.iter_mut().chain(&mut model.removed);
    for half in logs.flat_map(|log| &mut log.halves) {
        for index in 1..half.len() {
            let before = &half[index - 1];
            let before = before.possible() | only(before.cache) | pending;
            let mut table: [ContentNumber; 32] = std::array::from_fn(|number| number as u8);
            for (number, content) in (1..).zip(&contents) {
                if let LogContent::Entry { chained_to, .. } = content
                    && before & only(*chained_to) == 0
                {
                    table[number] = 0;
                }
            }
            let location = &mut half[index];
            location.cache = table[usize::from(location.cache)];
            let flushing = location.flushing.map(|content| table[usize::from(content)]);
            location.flushing = flushing;
            location.disk = renamed_set(location.disk, &table);
            location.since = renamed_set(location.since, &table);
        }
    }
}

/// The half that is written comes first.
fn sort_halves(model: &mut LogModel) {
    let LogPhase::Running(engine) = &mut model.phase else {
        return;
    };
    let Some(log) = &mut engine.log else {
        return;
    };
    if log.next.half == 0 {
        return;
    }
    if let Some(log) = &mut model.log {
        log.halves.swap(0, 1);
    }
    let swap = |position: &mut LogPosition| position.half = 1 - position.half;
    swap(&mut log.next);
    swap(&mut engine.seen.position);
    let merge = engine
        .merging
        .iter_mut()
        .map(|merge| &mut merge.end.position);
    merge.for_each(swap);
    if let Some(flush) = &mut engine.log_flush {
        swap(&mut flush.seen.position);
        flush
            .writes
            .iter_mut()
            .for_each(|write| swap(&mut write.position));
    }
    engine
        .unwritten
        .iter_mut()
        .for_each(|write| swap(&mut write.position));
}

fn note(table: &mut [ContentNumber; 32], kept: &mut Vec<ContentNumber>, number: ContentNumber) {
    let new = &mut table[usize::from(number)];
    if number != 0 && *new == 0 {
        kept.push(number);
        *new = kept.len() as ContentNumber;
    }
}

fn renamed_set(contents: u32, table: &[ContentNumber; 32]) -> u32 {
    members(contents).fold(0, |set, content| set | only(table[usize::from(content)]))
}

fn locations(model: &mut LogModel) -> impl Iterator<Item = &mut Location> {
    let logs = model.log.iter_mut().chain(&mut model.removed);
    logs.flat_map(|log| log.locations_mut())
}

/// The contents of the disk matter only if power may fail, and flushes only while they run.
fn forget_disk(model: &mut LogModel) {
    let may_fail = model.mishaps_left > 0;
    if !may_fail {
        model.removed.clear();
    }
    for location in locations(model) {
        if !may_fail {
            *location = Location::certain(location.cache);
        }
        if location.is_certainly(location.cache) {
            *location = Location::certain(location.cache);
        }
    }
}

/// Calls `change` with every number of a content, except those in sets of several.
fn for_each_content(model: &mut LogModel, mut change: impl FnMut(&mut ContentNumber)) {
    for record in &mut model.records {
        change(&mut record.log_end);
    }
    for location in locations(model) {
        change(&mut location.cache);
        location.flushing.iter_mut().for_each(&mut change);
        for mut content in members(location.possible()) {
            change(&mut content);
        }
    }
    let LogPhase::Running(engine) = &mut model.phase else {
        return;
    };
    if let Some(log) = &mut engine.log {
        log.header.iter_mut().for_each(&mut change);
        change(&mut log.last);
        change(&mut log.last_entry);
    }
    change(&mut engine.seen.last_entry);
    if let Some(merge) = &mut engine.merging {
        change(&mut merge.end.last_entry);
        merge.part.iter_mut().for_each(|part| change(&mut part.1));
    }
    if let Some((_, log_end)) = &mut engine.reader {
        change(log_end);
    }
    if let Some(flush) = &mut engine.log_flush {
        change(&mut flush.seen.last_entry);
        flush
            .writes
            .iter_mut()
            .for_each(|write| change(&mut write.content));
    }
    engine
        .unwritten
        .iter_mut()
        .for_each(|write| change(&mut write.content));
}
