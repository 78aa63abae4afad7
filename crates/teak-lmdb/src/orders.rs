//! Orders that a client brings (`mdb_set_compare`, `mdb_set_dupsort`), after it has opened the database, and without a name.
//!
//! A table in such an order has it under a name made of its own. The comparison of this name calls the function that the client has
//! given last; until there is one it compares as the flags of the database say, which is enough for who only goes through it.
//!
//! Clients rely on how LMDB calls their function: first comes the value that they have passed themselves, with the bytes around it, then a stored
//! one. So calls of the client note what they look for ([`SoughtValue`]), and the function is given that where the engine compares these bytes. Where two
//! stored items are compared, which LMDB does not do, the first one is a copy with zeros behind it.

mod sought_value;

pub(crate) use sought_value::{RankComparison, SoughtValue};

use crate::{border::Value, codes::CallResult, compare, environment::OpenEnvironment, flags};
use std::{
    cmp::Ordering,
    collections::HashMap,
    ffi::{c_int, c_uint, c_void},
    mem,
    path::{Path, PathBuf},
    ptr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicPtr, AtomicU32, Ordering as Access},
    },
};
use teak::Comparison;

/// A client's comparison.
pub type CompareFunction = unsafe extern "C" fn(*const Value, *const Value) -> c_int;

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ComparisonScope {
    Keys,
    Values,
}

/// The order of the keys of a table, or of its values.
#[derive(Debug)]
pub(crate) struct ClientOrder {
    /// Null as long as none was given.
    function: AtomicPtr<c_void>,
    flags: AtomicU32,
    of: ComparisonScope,
}

impl ClientOrder {
    const fn new(of: ComparisonScope) -> Self {
        Self {
            function: AtomicPtr::new(ptr::null_mut()),
            flags: AtomicU32::new(0),
            of,
        }
    }

    /// What is compared.
    pub(crate) fn of(&self) -> ComparisonScope {
        self.of
    }

    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let function = self.function.load(Access::Acquire);
        if function.is_null() {
            let flags = self.flags.load(Access::Relaxed);
            return match self.of {
                ComparisonScope::Keys => compare::keys(flags, a, b),
                ComparisonScope::Values => compare::values(flags, a, b),
            };
        }
        // SAFETY: nothing but such functions is ever stored there.
        let function = unsafe { mem::transmute::<*mut c_void, CompareFunction>(function) };
        let call = |a: *const Value, b: &[u8]| {
            let b = Value::new(b);
            // SAFETY: the client has given it for this, and both are values.
            unsafe { function(a, &raw const b) }
        };
        sought_value::compare(self.of, a, b, call)
    }

    /// Compares two values of the client's, as its function does.
    pub(crate) fn compare_passed(&self, a: &Value, b: &Value) -> CallResult<c_int> {
        let function = self.function.load(Access::Acquire);
        if function.is_null() {
            // SAFETY: the client gives values that are there while the function runs.
            let (a, b) = unsafe { (a.bytes()?, b.bytes()?) };
            return Ok(self.compare(a, b) as c_int);
        }
        // SAFETY: nothing but such functions is ever stored there.
        let function = unsafe { mem::transmute::<*mut c_void, CompareFunction>(function) };
        // SAFETY: the client has given it for this, and both are values.
        Ok(unsafe { function(a, b) })
    }

    /// Compares by this function from now on, or, without one, as the flags say.
    pub(crate) fn give(&self, function: Option<CompareFunction>) {
        let function = function.map_or(ptr::null_mut(), |function| function as *mut c_void);
        self.function.store(function, Access::Release);
    }
}

/// A comparison and what is behind it. Both stay for ever: databases keep comparisons.
type NamedComparison = (&'static ClientOrder, &'static Comparison);

/// Orders by the file, the table and what is compared.
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

/// An open environment. The functions that clients have given for its file are forgotten with the last one.
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

/// The order of a table of this database; its comparison is known to the engine from now on.
pub(crate) fn order_of(
    opened: &OpenEnvironment,
    table: &[u8],
    of: ComparisonScope,
    database_flags: c_uint,
) -> CallResult<NamedComparison> {
    let key = (opened.database.path().to_owned(), table.to_owned(), of);
    let (given, comparison) =
        with_orders(|orders| *orders.named.entry(key).or_insert_with(|| make(table, of)));
    given.flags.store(database_flags, Access::Relaxed);
    opened.database.add_comparison(comparison)?;
    Ok((given, comparison))
}

/// Has the engine know the order that a table of integers gets when one of another size is put, by whatever process: handles of the table
/// go on then.
pub(crate) fn know_order_of_sizes(
    opened: &OpenEnvironment,
    table: &[u8],
    database_flags: c_uint,
) -> CallResult {
    match database_flags & flags::INTEGERDUP {
        0 => Ok(()),
        _ => order_of(opened, table, ComparisonScope::Values, database_flags).map(drop),
    }
}

fn make(table: &[u8], of: ComparisonScope) -> NamedComparison {
    let given: &'static ClientOrder = Box::leak(Box::new(ClientOrder::new(of)));
    let function = Box::leak(Box::new(|a: &[u8], b: &[u8]| given.compare(a, b)));
    let name = Box::leak(name_of(table, of).into_boxed_str());
    (given, Box::leak(Box::new(Comparison::new(name, function))))
}

/// The longest name of a table that stands in that of its order.
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
    use super::{ClientOrder, ComparisonScope, Ordering, Value, c_int, name_of};
    use crate::flags;

    unsafe extern "C" fn by_length(a: *const Value, b: *const Value) -> c_int {
        // SAFETY: the test gives it values.
        let (a, b) = unsafe { ((*a).len, (*b).len) };
        a.cmp(&b) as c_int
    }

    #[test]
    fn an_order_is_the_function_that_was_given() {
        let given = ClientOrder::new(ComparisonScope::Keys);
        assert_eq!(given.compare(b"ab", b"b"), Ordering::Less);
        given.flags.store(flags::REVERSEKEY, super::Access::Relaxed);
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
