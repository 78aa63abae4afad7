//! Breadth-first search through all states, which finds the shortest path to a violation.

use super::{
    actions::{Action, ProtocolViolation, Steps},
    canonical::{canonical, fingerprint, simplified},
    rules::Rules,
    state::{ProtocolState, SLOT_COUNT},
    successors::{ends_well, successors},
};
use std::{
    collections::HashSet,
    fmt::Write,
    hash::{BuildHasherDefault, Hasher},
};

/// The result of a search.
pub(super) struct SearchOutcome {
    pub(super) states: usize,
    /// The number of states without a next step and without a violation.
    pub(super) endings: u64,
    /// The number of steps to the farthest state.
    pub(super) depth: usize,
    pub(super) violation: Option<FoundViolation>,
}

pub(super) struct FoundViolation {
    pub(super) violation: ProtocolViolation,
    /// A description of each step of the path.
    pub(super) trace: Vec<String>,
}

/// Stores keys unchanged, because they are hashes already.
#[derive(Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0 << 8 | u64::from(byte);
        }
    }

    fn write_u128(&mut self, number: u128) {
        self.0 = number as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// All reached states. Of each it keeps a hash of 128 bits. Equal hashes of two states are less
/// likely than a hardware error.
#[derive(Default)]
struct ReachedStates {
    seen: HashSet<u128, BuildHasherDefault<IdentityHasher>>,
    fingerprints: Vec<u128>,
    /// The state from which each state was reached first.
    parents: Vec<u32>,
}

impl ReachedStates {
    /// The number of a state, if it is new.
    fn note(&mut self, state: &ProtocolState, parent: u32) -> Option<u32> {
        let fingerprint = fingerprint(state);
        self.seen.insert(fingerprint).then(|| {
            self.fingerprints.push(fingerprint);
            self.parents.push(parent);
            self.parents.len() as u32 - 1
        })
    }

    /// The fingerprints from the first state to this one.
    fn path_to(&self, mut state: u32) -> Vec<u128> {
        let mut path = vec![self.fingerprints[state as usize]];
        while state != 0 {
            state = self.parents[state as usize];
            path.push(self.fingerprints[state as usize]);
        }
        path.reverse();
        path
    }
}

/// Checks all states within the bounds, up to the first violation.
pub(super) fn search(rules: &Rules) -> SearchOutcome {
    let mut reached = ReachedStates::default();
    let first = canonical(ProtocolState::first(&rules.bounds), rules);
    reached.note(&first, 0);
    let mut level = vec![(0, first)];
    let mut steps = Steps::default();
    let mut depth = 0;
    let mut endings = 0;
    while !level.is_empty() {
        let mut next_level = Vec::new();
        for (index, state) in &level {
            successors(state, rules, &mut steps);
            for (_, result) in steps.drain() {
                let next = match result {
                    Ok(next) if ends_well(&next, rules) => {
                        endings += 1;
                        continue;
                    }
                    Ok(next) => canonical(next, rules),
                    Err(violation) => {
                        return SearchOutcome {
                            states: reached.parents.len(),
                            endings,
                            depth: depth + 1,
                            violation: Some(trace(rules, &reached.path_to(*index), violation)),
                        };
                    }
                };
                if let Some(number) = reached.note(&next, *index) {
                    next_level.push((number, next));
                }
            }
        }
        depth += usize::from(!next_level.is_empty());
        level = next_level;
    }
    SearchOutcome {
        states: reached.parents.len(),
        endings,
        depth,
        violation: None,
    }
}

/// Walks a path again without sorting pages and slots, so that each has the same name in every
/// line.
fn trace(rules: &Rules, path: &[u128], violation: ProtocolViolation) -> FoundViolation {
    let mut state = ProtocolState::first(&rules.bounds);
    let mut trace = Vec::new();
    let mut steps = Steps::default();
    for &wanted in &path[1..] {
        successors(&state, rules, &mut steps);
        let step = steps.drain().find_map(|(action, result)| {
            let next = result.ok()?;
            (fingerprint(&canonical(next.clone(), rules)) == wanted).then_some((action, next))
        });
        let Some((action, next)) = step else {
            trace.push("(the path from here is lost)".to_owned());
            return FoundViolation { violation, trace };
        };
        trace.push(line(action, &state, &next));
        state = simplified(next, rules);
    }
    successors(&state, rules, &mut steps);
    let last = steps
        .drain()
        .find_map(|(action, result)| Some((action, result.err()?)));
    if let Some((action, _)) = last {
        trace.push(action.to_string());
    }
    FoundViolation {
        violation: last.map_or(violation, |(_, violation)| violation),
        trace,
    }
}

/// An action, and the effect of a power cut on the contents of the cache.
fn line(action: Action, state: &ProtocolState, next: &ProtocolState) -> String {
    let mut line = action.to_string();
    if action != Action::PowerCut {
        return line;
    }
    for slot in 0..SLOT_COUNT as u8 {
        if state.slots[usize::from(slot)].is_certainly(next.slots[usize::from(slot)].cache) {
            continue;
        }
        let _ = match next.cached_record(slot) {
            Some(record) => write!(
                line,
                "; slot {slot} has the record of commit {}",
                next.name(record.commit)
            ),
            None => write!(line, "; slot {slot} cannot be read"),
        };
    }
    for (page, (before, after)) in state.pages.iter().zip(&next.pages).enumerate() {
        if !before.is_certainly(after.cache) {
            let content = match after.cache {
                0 => "unreferenced contents",
                content if content == before.cache => "the last write",
                _ => "an earlier write",
            };
            let _ = write!(line, "; page {page} has {content}");
        }
    }
    line
}
