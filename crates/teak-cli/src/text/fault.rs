//! Faults of a line.

/// The position of a format error in a line, and its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineFault {
    /// The offending byte, counted from 0 in the text that was to be decoded.
    pub(crate) position: usize,
    /// The bytes that the format expects.
    pub(crate) expected: &'static str,
}
