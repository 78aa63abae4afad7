//! The tables of one state.

use super::oracle::{ExpiringKey, ExpiringOracle};
use std::{collections::BTreeMap, sync::Arc};
use teak::{ExpiringTable, codec::Raw};

pub(super) type RawExpiringTable = ExpiringTable<Raw, Raw>;

/// The table whose records do not expire.
pub(super) const LASTING: &str = "lasting";

/// The expiring tables by number, and the records of the other one.
#[derive(Clone, Default)]
pub(super) struct ExpiringState {
    pub(super) tables: BTreeMap<usize, Arc<ExpiringOracle>>,
    pub(super) lasting: Arc<BTreeMap<ExpiringKey, Arc<[u8]>>>,
}
