//! Orders that a client sets (`mdb_set_compare`, `mdb_set_dupsort`) after it has opened the
//! database, and without a name.
//!
//! A table in such an order has a comparison with a generated name. That comparison calls the
//! function that the client has set last. Until there is one, it compares as the flags of the
//! database say, which is enough for scans.
//!
//! Clients rely on how LMDB calls their function: the first argument is the value that they have
//! passed themselves, with the bytes around it, and the second a stored one. A call of the client
//! therefore records the values that it passes ([`SoughtValue`]), and the function gets them where
//! the engine compares their bytes. LMDB never compares two stored items. Where the engine does,
//! the first one is a copy that zeros follow.

mod client_order;
mod passed;
mod sought_value;

pub(crate) use client_order::ClientOrder;
pub use client_order::CompareFunction;
pub(crate) use sought_value::{RankComparison, SoughtValue};

use crate::{codes::CallResult, compare::ComparisonScope, flags};
use std::{
    collections::HashMap,
    ffi::c_uint,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};
use teak::{Comparison, Database};

/// A comparison, and the order that it calls. Both are leaked, because databases keep comparisons
/// for the life of the process.
type NamedComparison = (&'static ClientOrder, &'static Comparison);

/// Orders by file, table and scope.
#[derive(Default)]
struct Orders {
    named: HashMap<(PathBuf, Vec<u8>, ComparisonScope), NamedComparison>,
    /// How many environments of a file are open.
    open: HashMap<PathBuf, usize>,
}

/// The orders of this process.
static ORDERS: Mutex<Option<Orders>> = Mutex::new(None);

fn with_orders<R>(work: impl FnOnce(&mut Orders) -> R) -> R {
    let mut orders = ORDERS.lock().unwrap_or_else(PoisonError::into_inner);
    work(orders.get_or_insert_default())
}

/// Counts an open environment of a file. When the last one is closed, the functions that clients
/// have set for the file are dropped.
#[derive(Debug)]
pub(crate) struct OrdersInUse(PathBuf);

impl OrdersInUse {
    pub(crate) fn new(file: &Path) -> Self {
        with_orders(|orders| *orders.open.entry(file.to_owned()).or_default() += 1);
        Self(file.to_owned())
    }
}

impl Drop for OrdersInUse {
    fn drop(&mut self) {
        with_orders(|orders| {
            let Some(count) = orders.open.get_mut(&self.0) else {
                return;
            };
            *count -= 1;
            if *count == 0 {
                orders.open.remove(&self.0);
                let of_file = orders
                    .named
                    .iter()
                    .filter(|((file, ..), _)| *file == self.0);
                of_file.for_each(|(_, (given, _))| given.give(None));
            }
        });
    }
}

/// The order of a table of this database. Makes its comparison known to the engine.
pub(crate) fn order_of(
    database: &Database,
    table: &[u8],
    of: ComparisonScope,
    database_flags: c_uint,
) -> CallResult<NamedComparison> {
    let key = (database.path().to_owned(), table.to_owned(), of);
    let (given, comparison) =
        with_orders(|orders| *orders.named.entry(key).or_insert_with(|| make(table, of)));
    given.set_flags(database_flags);
    database.add_comparison(comparison)?;
    Ok((given, comparison))
}

/// Adds the order that a table of integers gets when any process puts an integer of another size.
/// Handles of the table stay valid then.
pub(crate) fn know_order_of_sizes(
    database: &Database,
    table: &[u8],
    database_flags: c_uint,
) -> CallResult {
    match database_flags & flags::INTEGERDUP {
        0 => Ok(()),
        _ => order_of(database, table, ComparisonScope::Values, database_flags).map(drop),
    }
}

fn make(table: &[u8], of: ComparisonScope) -> NamedComparison {
    let given: &'static ClientOrder = Box::leak(Box::new(ClientOrder::new(of)));
    let function = Box::leak(Box::new(|a: &[u8], b: &[u8]| given.compare(a, b)));
    let name = Box::leak(name_of(table, of).into_boxed_str());
    (given, Box::leak(Box::new(Comparison::new(name, function))))
}

/// The longest table name that is part of the name of its order.
const NAME_MAX: usize = 40;

/// The name of an order: it has 64 bytes at most.
fn name_of(table: &[u8], of: ComparisonScope) -> String {
    let of = match of {
        ComparisonScope::Keys => "keys",
        ComparisonScope::Values => "values",
    };
    match std::str::from_utf8(table) {
        Ok(table) if table.len() <= NAME_MAX => format!("lmdb {of} of {table}"),
        _ => format!("lmdb {of} of {:016x}", hash(table)),
    }
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::{ClientOrder, ComparisonScope, name_of};
    use crate::{border::Value, flags};
    use std::{cmp::Ordering, ffi::c_int};

    unsafe extern "C" fn by_length(a: *const Value, b: *const Value) -> c_int {
        // SAFETY: the test passes values.
        let (a, b) = unsafe { ((*a).len, (*b).len) };
        a.cmp(&b) as c_int
    }

    #[test]
    fn an_order_is_the_function_that_was_given() {
        let given = ClientOrder::new(ComparisonScope::Keys);
        assert_eq!(given.compare(b"ab", b"b"), Ordering::Less);
        given.set_flags(flags::REVERSEKEY);
        assert_eq!(given.compare(b"ab", b"b"), Ordering::Greater);
        given.give(Some(by_length));
        assert_eq!(given.compare(b"zz", b"aaa"), Ordering::Less);
        given.give(None);
        assert_eq!(given.compare(b"ab", b"b"), Ordering::Greater);
    }

    #[test]
    fn orders_have_names_that_fit() {
        assert_eq!(
            name_of(b"words", ComparisonScope::Keys),
            "lmdb keys of words"
        );
        for table in [
            &[b'a'; 500][..],
            &[0xff; 9],
            &[b'"'; 40],
            "ä".repeat(20).as_bytes(),
        ] {
            let name = name_of(table, ComparisonScope::Values);
            assert!((1..=64).contains(&name.len()), "{name}");
        }
        assert_ne!(
            name_of(b"", ComparisonScope::Keys),
            name_of(b"", ComparisonScope::Values)
        );
    }
}
