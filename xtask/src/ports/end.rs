//! The end of a step.

/// The end of a step that did not fail.
pub(super) enum PortEnd {
    /// With counts.
    Passed(String),
    /// With the reason.
    Skipped(String),
}

/// Returns from a step with the reason why it cannot be run here, if there is one.
macro_rules! require {
    ($reason:expr) => {
        if let Some(reason) = $reason {
            return Ok($crate::ports::end::PortEnd::Skipped(reason));
        }
    };
}
pub(super) use require;
