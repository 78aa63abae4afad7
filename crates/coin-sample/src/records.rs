//! The records of a table.

use std::collections::BTreeMap;

/// Records in the order of their keys.
pub type Records = BTreeMap<Vec<u8>, Vec<u8>>;
