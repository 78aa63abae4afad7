//! Comparisons that an application brings: orders of keys that are none of Teak's own.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    sync::{Arc, PoisonError, RwLock},
};

/// The longest name of a comparison in bytes.
pub(crate) const COMPARISON_NAME_MAX: usize = 64;

/// A comparison of keys that the application brings, under a name that stands in the file; see
/// [`Options::comparison`](crate::Options::comparison).
///
/// It has to be a total order of all byte strings, the same in every process and every version of the application: what
/// is to compare otherwise gets another name. With one that is no order keys are not found any more. It must not use the database itself.
///
/// Byte strings that compare as equal are one key, and one value of a key:
///
/// - [`Table::insert`](crate::Table::insert) of a key that is equal to a stored one replaces the value. The key keeps the bytes that were first inserted.
/// - [`MultiTable::insert`](crate::MultiTable::insert) of an equal pair changes nothing and returns `false`: key and value keep their bytes. With an equal
///   key and another value, the value is added to the key as it is stored.
/// - [`MultiTable::replace`](crate::MultiTable::replace) gives a value other bytes, equal or not. A key gets other bytes by removing and inserting it.
///
/// Where a key or a value is searched for, inserted or removed, the first argument is the slice that the caller gave, and the second one is stored.
///
/// Two comparisons are equal if their names are.
///
/// ```
/// use teak::{Comparison, Database, KeyOrder, Options, TableOptions, codec::{Str, U64}};
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
/// let trees = txn.create_table_with::<Str, U64>("trees", options)?;
/// trees.insert_many(&mut txn, &[("acacia", 1), ("oak", 2), ("teak", 3)])?;
/// assert_eq!(trees.first(&txn)?, Some(("oak".to_owned(), 2)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Comparison {
    name: &'static str,
    function: &'static Function,
}

type Function = dyn Fn(&[u8], &[u8]) -> Ordering + Sync;

impl Comparison {
    /// A comparison and its name, which has 1 to 64 bytes.
    ///
    /// What is only known when the program runs is made `'static` by [`Box::leak`]: databases keep comparisons, and so
    /// does whatever reads their tables.
    #[must_use]
    pub const fn new(
        name: &'static str,
        function: &'static (dyn Fn(&[u8], &[u8]) -> Ordering + Sync),
    ) -> Self {
        Self { name, function }
    }

    /// The name that stands in the file; that of the comparison of a table whose own was not brought is empty.
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

/// What stands for a comparison that is not known, where keys are not compared.
pub(crate) static UNRESOLVED: Comparison = Comparison::new("", &|a, b| a.cmp(b));

/// The comparisons that a database was opened with, and those that came later, which all that have a clone of this know.
#[derive(Clone, Default, Debug)]
pub(crate) struct Comparisons {
    known: Arc<[&'static Comparison]>,
    added: Arc<RwLock<Vec<&'static Comparison>>>,
}

impl Comparisons {
    /// Each name once.
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

    /// Takes one more; says whether it did, or there is one of that name.
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

    /// Whether all of `others` are among them.
    pub(crate) fn have(&self, others: &Self) -> bool {
        (others.all().iter()).all(|other| self.named(other.name).is_some())
    }
}
