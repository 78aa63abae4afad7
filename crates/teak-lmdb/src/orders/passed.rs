//! The values that a client passes to a call, while that call runs in this thread.
//!
//! The client's comparison is given the client's own value where the engine compares its bytes.

use crate::{border::Value, compare::ComparisonScope, limits::MAX_KEY};
use std::{
    cell::{Cell, RefCell},
    cmp::Ordering,
    collections::HashMap,
    ffi::c_int,
    ptr,
};

/// The client's value, and the bytes that the engine gets for it, which may be a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassedValue {
    pub(super) value: *const Value,
    pub(super) bytes: *const [u8],
}

thread_local! {
    /// A key and a value of a key.
    pub(super) static PASSED: [Cell<Option<PassedValue>>; 2] = const { [Cell::new(None), Cell::new(None)] };
    pub(super) static RANKS: RefCell<Option<HashMap<Vec<u8>, usize>>> = const { RefCell::new(None) };
}

fn by_rank(a: &[u8], b: &[u8]) -> Option<Ordering> {
    RANKS.with_borrow(|ranks| {
        let ranks = ranks.as_ref()?;
        Some(ranks.get(a)?.cmp(ranks.get(b)?))
    })
}

/// The client's value for `bytes`. `None` if the engine has changed the memory that it points to.
fn passed(of: ComparisonScope, bytes: &[u8]) -> Option<*const Value> {
    let passed = PASSED.with(|all| all[of as usize].get())?;
    if !ptr::eq(passed.bytes, bytes) {
        return None;
    }
    // SAFETY: it lives as long as the `SoughtValue`, and so do its bytes, which the client passed
    // for a call.
    let is_same = unsafe { (*passed.value).bytes() } == Ok(bytes);
    is_same.then_some(passed.value)
}

/// Compares by `function`, whose arguments are a value of the client's, or one that looks like it,
/// and stored bytes.
pub(super) fn compare(
    of: ComparisonScope,
    a: &[u8],
    b: &[u8],
    function: impl Fn(*const Value, &[u8]) -> c_int,
) -> Ordering {
    if let Some(value) = passed(of, a) {
        return function(value, b).cmp(&0);
    }
    if let Some(value) = passed(of, b) {
        return 0.cmp(&function(value, a));
    }
    if a == b {
        // Does not call the function: that of `mdb_load -a` returns "greater" for all.
        return Ordering::Equal;
    }
    if let (ComparisonScope::Values, Some(ordering)) = (of, by_rank(a, b)) {
        return ordering;
    }
    with_trailing_zeros(a, |a| function(a, b)).cmp(&0)
}

/// Passes bytes the way a client may: with null values after their own, and with zeros after the
/// bytes.
fn with_trailing_zeros(bytes: &[u8], work: impl FnOnce(*const Value) -> c_int) -> c_int {
    #[repr(align(16))]
    struct Room([u8; MAX_KEY + 17]);
    let mut room = Room([0; MAX_KEY + 17]);
    let mut values = [Value::default(); 4];
    values[0] = match room.0.get_mut(..bytes.len()) {
        Some(copy) => {
            copy.copy_from_slice(bytes);
            Value {
                len: bytes.len(),
                bytes: room.0.as_mut_ptr().cast(),
            }
        }
        None => Value::new(bytes),
    };
    work(values.as_ptr())
}
