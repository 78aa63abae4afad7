//! Orders of keys.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{
            AtomicUsize,
            Ordering::{Acquire, Release},
        },
    },
};
use teak::{Comparison, KeyOrder};
use xxhash_rust::xxh3::xxh3_64;

/// The name of LevelDB's own comparator.
pub(crate) const BYTEWISE: &[u8] = b"leveldb.BytewiseComparator";
/// Longer names are cut off: some clients give addresses of names that have no end.
const NAME_MAX: usize = 64 << 10;

/// Compares two keys, with the address of the application's comparator.
type CompareFunction = dyn Fn(usize, &[u8], &[u8]) -> Ordering + Send + Sync;

/// The order of the keys.
pub(crate) enum KeyComparator {
    Bytewise,
    Custom {
        name: Vec<u8>,
        /// The address of the application's comparator.
        address: usize,
        function: Box<CompareFunction>,
    },
}

/// A comparison of the engine, which calls the comparator with which its database was last opened.
/// The application may delete a comparator when the database is closed, but the engine keeps its
/// comparisons.
struct KnownComparison {
    comparison: &'static Comparison,
    address: &'static AtomicUsize,
}

/// The comparisons of all databases that this process has opened, by database and name.
static COMPARISONS: Mutex<BTreeMap<(PathBuf, Vec<u8>), KnownComparison>> =
    Mutex::new(BTreeMap::new());

impl KeyComparator {
    pub(crate) fn name(&self) -> &[u8] {
        match self {
            Self::Bytewise => BYTEWISE,
            Self::Custom { name, .. } => &name[..name.len().min(NAME_MAX)],
        }
    }

    /// The order of the engine for a database, which this process has open once at most.
    pub(crate) fn order(self, database: &Path) -> KeyOrder {
        let name = self.name().to_vec();
        let Self::Custom {
            address, function, ..
        } = self
        else {
            return KeyOrder::Bytes;
        };
        let mut known = COMPARISONS.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (database.to_path_buf(), name);
        let known = known.entry(key).or_insert_with_key(|(_, name)| {
            let current: &'static AtomicUsize = Box::leak(Box::default());
            let compare = move |a: &[u8], b: &[u8]| function(current.load(Acquire), a, b);
            let name = format!("leveldb-{:016x}", xxh3_64(name)).leak();
            let comparison = Comparison::new(name, Box::leak(Box::new(compare)));
            KnownComparison {
                comparison: Box::leak(Box::new(comparison)),
                address: current,
            }
        });
        known.address.store(address, Release);
        KeyOrder::Custom(known.comparison)
    }
}
