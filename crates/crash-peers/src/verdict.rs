//! Compares an engine's result for an image with its promise.

use crate::{check::Finding, record::KnownCommits};
use std::{collections::HashMap, fmt};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// A committed state, at least as new as the promise requires.
    Right,
    /// Nothing was promised yet, and there is no database or an empty one.
    BeforeFirst,
    Violation(Violation),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Violation {
    /// A signal killed the inspecting process.
    Signal(i32),
    NotOpened(String),
    /// An error after opening: in a read, or in the next transaction.
    Unusable(String),
    /// Records that were never committed together, or not committed yet.
    WrongData,
    /// A state older than one that was promised.
    Lost {
        found: usize,
        promised: usize,
    },
    Hangs,
}

/// Judges a result against the committed states.
pub(crate) fn verdict_of(
    finding: Finding,
    states: &HashMap<u128, usize>,
    known: KnownCommits,
) -> Verdict {
    let violation = match finding {
        Finding::Records(digest) => match states.get(&digest) {
            None => Violation::WrongData,
            Some(&number) if number > known.newest => Violation::WrongData,
            Some(&found) => match known.oldest {
                Some(promised) if found < promised => Violation::Lost { found, promised },
                None if found == 0 => return Verdict::BeforeFirst,
                _ => return Verdict::Right,
            },
        },
        Finding::NotOpened(_) if known.oldest.is_none() => return Verdict::BeforeFirst,
        Finding::NotOpened(text) => Violation::NotOpened(text),
        Finding::Unusable(text) => Violation::Unusable(text),
        Finding::Signal(number) => Violation::Signal(number),
        Finding::Hangs => Violation::Hangs,
    };
    Verdict::Violation(violation)
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(number) => write!(formatter, "signal {number} killed the process"),
            Self::NotOpened(text) => write!(formatter, "it does not open: {text}"),
            Self::Unusable(text) => write!(formatter, "it opens, but then: {text}"),
            Self::WrongData => formatter.write_str("its records were never committed together"),
            Self::Lost { found, promised } => {
                write!(
                    formatter,
                    "it has state {found}, but {promised} was promised"
                )
            }
            Self::Hangs => formatter.write_str("there was no answer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(finding: Finding, oldest: Option<usize>, newest: usize) -> Verdict {
        let states = (0..10).map(|number| (number as u128, number)).collect();
        verdict_of(finding, &states, KnownCommits { oldest, newest })
    }

    #[test]
    fn any_state_from_the_promised_one_to_the_newest_is_right() {
        let of = |number| judged(Finding::Records(number), Some(3), 5);
        assert_eq!(
            of(2),
            Verdict::Violation(Violation::Lost {
                found: 2,
                promised: 3
            })
        );
        assert_eq!([of(3), of(4), of(5)], [const { Verdict::Right }; 3]);
        assert_eq!(of(6), Verdict::Violation(Violation::WrongData));
        assert_eq!(of(77), Verdict::Violation(Violation::WrongData));
    }

    #[test]
    fn before_the_first_promise_a_database_may_be_missing_but_not_unusable() {
        let missing = Finding::NotOpened("no file".to_owned());
        assert_eq!(judged(missing.clone(), None, 1), Verdict::BeforeFirst);
        assert_eq!(judged(Finding::Records(0), None, 1), Verdict::BeforeFirst);
        assert_eq!(judged(Finding::Records(1), None, 1), Verdict::Right);
        assert!(matches!(
            judged(Finding::Signal(11), None, 1),
            Verdict::Violation(_)
        ));
        assert!(matches!(judged(missing, Some(0), 1), Verdict::Violation(_)));
    }
}
