//! Faults of a line.

/// Where and why a line's bytes are not what the format allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineFault {
    /// The offending byte, counted from 0 in the text that was to be decoded.
    pub(crate) position: usize,
    /// What should have been there.
    pub(crate) expected: &'static str,
}
