//! Breadth-first search through all states, which finds the shortest path to a violation.

use crate::Result as TaskResult;
use std::{
    collections::HashSet,
    fmt::Display,
    hash::{BuildHasherDefault, Hash, Hasher},
    time::Instant,
};
use xxhash_rust::xxh3::xxh3_128;

/// The rules of a model, and the bounds of the search.
pub(super) trait Model {
    type State: Clone + Hash;
    type Action: Copy + Display;
    type Violation: Copy + Display;

    fn first(&self) -> Self::State;

    /// One state for all that differ only in names.
    fn canonical(&self, state: Self::State) -> Self::State;

    /// Like [`Self::canonical`], but names stay the same from step to step where that is possible.
    fn simplified(&self, state: Self::State) -> Self::State;

    /// All possible next steps of `state`.
    fn successors(&self, state: &Self::State) -> ModelSteps<Self>;

    /// Whether the rest after `state` has no violations, and no new states.
    fn ends_well(&self, state: &Self::State) -> bool;

    /// A description of a step from `state` to `next`.
    fn line(&self, action: Self::Action, state: &Self::State, next: &Self::State) -> String;
}

/// Steps of a model, with the state after each one.
pub(super) type StepList<M> = Vec<(
    <M as Model>::Action,
    Result<<M as Model>::State, <M as Model>::Violation>,
)>;

/// The next steps of a state.
pub(super) struct ModelSteps<M: Model + ?Sized> {
    pub(super) steps: StepList<M>,
    /// The number of other steps, which were checked, and after which nothing is left to check.
    pub(super) endings: u64,
}

impl<M: Model> Default for ModelSteps<M> {
    fn default() -> Self {
        Self {
            steps: Vec::new(),
            endings: 0,
        }
    }
}

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
    pub(super) violation: String,
    /// A description of each step of the path.
    pub(super) trace: Vec<String>,
}

/// The fingerprint that identifies a state.
fn fingerprint(state: &impl Hash) -> u128 {
    let mut bytes = Bytes::default();
    state.hash(&mut bytes);
    xxh3_128(&bytes.0)
}

#[derive(Default)]
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.len() as u64
    }
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
    fn note(&mut self, state: &impl Hash, parent: u32) -> Option<u32> {
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
pub(super) fn search<M: Model>(model: &M) -> SearchOutcome {
    let mut reached = ReachedStates::default();
    let first = model.canonical(model.first());
    reached.note(&first, 0);
    let mut level = vec![(0, first)];
    let mut depth = 0;
    let mut endings = 0;
    while !level.is_empty() {
        let mut next_level = Vec::new();
        for (index, state) in &level {
            let next = model.successors(state);
            endings += next.endings;
            for (_, result) in next.steps {
                let next = match result {
                    Ok(next) if model.ends_well(&next) => {
                        endings += 1;
                        continue;
                    }
                    Ok(next) => model.canonical(next),
                    Err(violation) => {
                        return SearchOutcome {
                            states: reached.parents.len(),
                            endings,
                            depth: depth + 1,
                            violation: Some(trace(model, &reached.path_to(*index), violation)),
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

/// Walks a path again without sorting what is interchangeable, so that each thing has the same name
/// in every line.
fn trace<M: Model>(model: &M, path: &[u128], violation: M::Violation) -> FoundViolation {
    let mut state = model.first();
    let mut trace = Vec::new();
    for &wanted in &path[1..] {
        let mut steps = model.successors(&state).steps.into_iter();
        let step = steps.find_map(|(action, result)| {
            let next = result.ok()?;
            (fingerprint(&model.canonical(next.clone())) == wanted).then_some((action, next))
        });
        let Some((action, next)) = step else {
            trace.push("(the path from here is lost)".to_owned());
            return FoundViolation {
                violation: violation.to_string(),
                trace,
            };
        };
        trace.push(model.line(action, &state, &next));
        state = model.simplified(next);
    }
    let mut steps = model.successors(&state).steps.into_iter();
    let last = steps.find_map(|(action, result)| Some((action, result.err()?)));
    if let Some((action, _)) = last {
        trace.push(action.to_string());
    }
    FoundViolation {
        violation: last
            .map_or(violation, |(_, violation)| violation)
            .to_string(),
        trace,
    }
}

/// Prints the outcome of a search, which is an error if there is a violation.
pub(super) fn report(title: &str, search: impl FnOnce() -> SearchOutcome) -> TaskResult {
    let begin = Instant::now();
    let outcome = search();
    println!(
        "{title}: up to {} steps, {} endings, {:.1} s",
        outcome.depth,
        outcome.endings,
        begin.elapsed().as_secs_f64()
    );
    if let Some(found) = &outcome.violation {
        println!("violation: {}", found.violation);
        for (line, number) in found.trace.iter().zip(1..) {
            println!("{number:>4}. {line}");
        }
    }
    let violations = usize::from(outcome.violation.is_some());
    println!("{} states, {violations} violations", outcome.states);
    match outcome.violation {
        None => Ok(()),
        Some(_) => Err(failure!("the protocol breaks a promise")),
    }
}

/// Asserts that the search finds an error that is planted, and prints the whole path to it.
#[cfg(test)]
pub(super) fn assert_found<M: Model>(model: &M, planted: impl std::fmt::Debug) {
    let found = search(model).violation;
    let found = found.unwrap_or_else(|| panic!("{planted:?} is not found"));
    let is_whole = found.trace.iter().all(|line| !line.contains("is lost"));
    assert!(is_whole, "{planted:?}: {:?}", found.trace);
    assert!(found.trace.len() > 2, "{planted:?}: {:?}", found.trace);
}
