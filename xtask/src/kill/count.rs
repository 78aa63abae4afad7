//! The counts of kills.

/// The counts of kills.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct KillCount {
    pub(super) kills: u64,
    pub(super) violations: u64,
}
