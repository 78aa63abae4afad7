//! The figures of one file.

use super::process::SpaceMapWork;
use crate::process::Memory;
use serde::Serialize;

/// The figures of one file.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SpaceMapFigure {
    pub(super) work: &'static str,
    pub(super) pages: u64,
    pub(super) free_pages: u64,
    pub(super) pending_pages: u64,
    /// Pages of the space map.
    pub(super) map_pages: u64,
    /// The space allocated before the first commit, and after the last.
    pub(super) allocated_bytes: [u64; 2],
    /// Medians, with the file not in the system's memory, and with the pages cached that opening
    /// reads.
    pub(super) open_cold_us: f64,
    pub(super) open_warm_us: f64,
    /// When it was opened.
    pub(super) memory: Memory,
    #[serde(flatten)]
    pub(super) commits: SpaceMapWork,
}
