//! Deliberate misbehaviour of workers, to show that it is found.

/// Something that a worker does wrong now and then.
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
    /// A byte of a large value is another one
    Garble,
    /// A thread stands still
    Hang,
    /// A thread panics
    Panic,
}

impl Misbehaviour {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::LoseMoney => "lose-money",
            Self::SetBack => "set-back",
            Self::HalfMirror => "half-mirror",
            Self::Forget => "forget",
            Self::Uncounted => "uncounted",
            Self::Garble => "garble",
            Self::Hang => "hang",
            Self::Panic => "panic",
        }
    }
}
