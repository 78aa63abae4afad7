//! The faults of a script: each call, each failure mode, with the errors in turn.

use fastrand::Rng;
use std::fmt;
use teak::testing::{Call, Fault};

/// The errors of the system, with their names.
pub(super) const ERRORS: [(&str, i32); 9] = [
    ("EIO", 5),
    ("ENOSPC", 28),
    ("EDQUOT", 122),
    ("EFBIG", 27),
    ("EINTR", 4),
    ("EAGAIN", 11),
    ("ENOMEM", 12),
    ("EMFILE", 24),
    ("ENOLCK", 37),
];

/// How a call and the calls after it fail.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum FaultMode {
    Once,
    HealsAfter(u64),
    ForEver,
    /// All further calls of this kind.
    KindForEver,
    ShortWrite(u8),
    ShortWritesForEver(u8),
}

impl FaultMode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::HealsAfter(_) => "heals",
            Self::ForEver => "for ever",
            Self::KindForEver => "permanent, one kind of call",
            Self::ShortWrite(_) => "short write",
            Self::ShortWritesForEver(_) => "permanent short writes",
        }
    }
}

/// A call that fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct FaultCase {
    pub(super) call: u64,
    pub(super) mode: FaultMode,
    error: usize,
}

impl FaultCase {
    /// All cases of a script, from the calls that it makes when none of them fails.
    pub(super) fn all(calls: &[Call], rng: &mut Rng) -> Vec<Self> {
        let mut cases = Vec::new();
        let mut error = rng.usize(0..ERRORS.len());
        for (call, kind) in (0..).zip(calls) {
            let some = FaultMode::HealsAfter(rng.u64(2..6));
            let mut modes = vec![
                FaultMode::Once,
                FaultMode::HealsAfter(1),
                some,
                FaultMode::ForEver,
                FaultMode::KindForEver,
            ];
            let writes = [
                Call::Write,
                Call::WriteThrough,
                Call::LogWrite,
                Call::LogWriteDirect,
            ];
            if writes.contains(kind) {
                // The last of these writes all but about one byte of a record.
                let written = [1, 64, 128, 200, 255][rng.usize(0..5)];
                modes.push(FaultMode::ShortWrite(written));
                modes.push(FaultMode::ShortWritesForEver(rng.u8(1..)));
            }
            for mode in modes {
                cases.push(Self { call, mode, error });
                error = (error + 1) % ERRORS.len();
            }
        }
        cases
    }

    pub(super) fn error_name(&self) -> &'static str {
        ERRORS[self.error].0
    }

    pub(super) fn fault(&self) -> Fault {
        let fault = Fault::once(ERRORS[self.error].1);
        match self.mode {
            FaultMode::Once => fault,
            FaultMode::HealsAfter(calls) => fault.and_more(calls),
            FaultMode::ForEver => fault.for_ever(),
            FaultMode::KindForEver => fault.for_ever().of_one_kind(),
            FaultMode::ShortWrite(written) => fault.cut_short(written),
            FaultMode::ShortWritesForEver(written) => {
                fault.cut_short(written).for_ever().of_one_kind()
            }
        }
    }
}

impl fmt::Display for FaultCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (call, error, mode) = (self.call, self.error_name(), self.mode);
        write!(f, "call {call} fails with {error}, {mode:?}")
    }
}
