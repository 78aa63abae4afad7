//! Comparisons: key orders that the application provides.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    sync::{Arc, PoisonError, RwLock},
};

/// The longest name of a comparison in bytes.
pub(crate) const COMPARISON_NAME_MAX: usize = 64;

/// A key comparison that the application provides, with a name that is stored in the file; see
/// [`Options::comparison`](crate::Options::comparison).
///
/// It must be a total order of all byte strings, identical in every process and every version of
/// the application. A changed comparison needs another name. If it is not a total order, keys can
/// no longer be found. It must not use the database itself.
///
/// Byte strings that compare as equal are one key, or one value of a key:
///
/// - [`Table::insert`](crate::Table::insert) of a key that is equal to a stored one replaces the
///   value. The key keeps the bytes that were first inserted.
/// - [`MultiTable::insert`](crate::MultiTable::insert) of an equal pair changes nothing and returns
///   `false`: key and value keep their bytes. With an equal key and another value, the value is
///   added to the stored key.
/// - [`MultiTable::replace`](crate::MultiTable::replace) changes the bytes of a value, whether or
///   not the new ones are equal. To change the bytes of a key, remove and insert it.
///
/// In searches, insertions and removals, the first argument is the slice that the caller passed,
/// and the second one is stored.
///
/// Two comparisons are equal if their names are equal.
///
/// ```
/// use teak::{Comparison, Database, KeyOrder, Options, TableDef, TableOptions};
///
/// /// Shorter keys come first.
/// static BY_LENGTH: Comparison =
///     Comparison::new("length, then bytes", &|a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("x.teak");
/// let database = Options::new().comparison(&BY_LENGTH).open(&path)?;
/// let mut txn = database.begin_write()?;
/// let options = TableOptions::new().order(KeyOrder::Custom(&BY_LENGTH));
/// let trees = TableDef::<&str, u64>::new("trees").options(options).create(&mut txn)?;
/// trees.insert_many(&mut txn, &[("acacia", 1), ("oak", 2), ("teak", 3)])?;
/// assert_eq!(trees.first(&txn)?, Some(("oak".into(), 2)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Comparison {
    name: &'static str,
    function: &'static Function,
}

type Function = dyn Fn(&[u8], &[u8]) -> Ordering + Sync;

impl Comparison {
    /// Creates a comparison with a name of 1 to 64 bytes.
    ///
    /// To make a comparison that is only known at run time `'static`, use [`Box::leak`]: databases
    /// keep comparisons, and so does everything that reads their tables.
    #[must_use]
    pub const fn new(
        name: &'static str,
        function: &'static (dyn Fn(&[u8], &[u8]) -> Ordering + Sync),
    ) -> Self {
        Self { name, function }
    }

    /// The name in the file. It is empty for the comparison of a table whose own comparison was not
    /// provided.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        (self.function)(a, b)
    }
}

impl PartialEq for Comparison {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Comparison {}

impl Hash for Comparison {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)
    }
}

/// The placeholder for an unknown comparison, where keys are not compared.
pub(crate) static UNRESOLVED: Comparison = Comparison::new("", &|a, b| a.cmp(b));

/// The comparisons that a database was opened with, and those added later. All clones share them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Comparisons {
    known: Arc<[&'static Comparison]>,
    added: Arc<RwLock<Vec<&'static Comparison>>>,
}

impl Comparisons {
    /// Keeps one comparison per name.
    pub(crate) fn new(comparisons: &[&'static Comparison]) -> Self {
        Self {
            known: comparisons.into(),
            added: Arc::default(),
        }
    }

    pub(crate) fn named(&self, name: &str) -> Option<&'static Comparison> {
        let known = self.known.iter().find(|comparison| comparison.name == name);
        known.copied().or_else(|| {
            let added = self.added.read().unwrap_or_else(PoisonError::into_inner);
            added
                .iter()
                .find(|comparison| comparison.name == name)
                .copied()
        })
    }

    /// Adds a comparison; returns `false` if there is one of that name already.
    pub(crate) fn add(&self, comparison: &'static Comparison) -> bool {
        let mut added = self.added.write().unwrap_or_else(PoisonError::into_inner);
        let is_known = self.known.contains(&comparison) || added.contains(&comparison);
        if !is_known {
            added.push(comparison);
        }
        !is_known
    }

    pub(crate) fn all(&self) -> Vec<&'static Comparison> {
        let added = self.added.read().unwrap_or_else(PoisonError::into_inner);
        self.known.iter().chain(added.iter()).copied().collect()
    }

    /// Whether all of `others` are contained.
    pub(crate) fn have(&self, others: &Self) -> bool {
        (others.all().iter()).all(|other| self.named(other.name).is_some())
    }
}
