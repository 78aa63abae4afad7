//! Deliberate misbehaviour of workers, to show that it is found.

/// A wrong action that a worker sometimes performs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum Misbehaviour {
    /// A transfer takes more than it gives
    LoseMoney,
    /// The counter is set back
    SetBack,
    /// The old value of a key stays in the inverse table
    HalfMirror,
    /// A commit is acknowledged that was not made
    Forget,
    /// A commit is made that is not counted
    Uncounted,
    /// A byte of a large value is wrong
    Garble,
    /// A thread stops making progress
    Hang,
    /// A thread panics
    Panic,
}
