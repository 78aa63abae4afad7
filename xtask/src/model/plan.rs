//! The parameters of an episode.

use crate::campaign::Encoding;

/// An episode to play.
pub(super) struct ModelPlan {
    pub(super) seed: u64,
    pub(super) episode: u64,
    pub(super) operations_max: u64,
    pub(super) kind: EpisodeKind,
    pub(super) encoding: Encoding,
}

/// The tables of an episode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EpisodeKind {
    /// All kinds of tables whose records do not expire.
    Lasting,
    /// Expiring tables, and one of another kind.
    Expiring,
}
