//! An order of keys or values, for which a client may set a function.

use super::passed;
use crate::{
    border::Value,
    codes::CallResult,
    compare::{self, ComparisonScope},
};
use std::{
    cmp::Ordering,
    ffi::{c_int, c_uint, c_void},
    mem, ptr,
    sync::atomic::{AtomicPtr, AtomicU32, Ordering as Access},
};

/// A client's comparison.
pub type CompareFunction = unsafe extern "C" fn(*const Value, *const Value) -> c_int;

/// The order of the keys of a table, or of its values.
#[derive(Debug)]
pub(crate) struct ClientOrder {
    /// Null until a function is set.
    function: AtomicPtr<c_void>,
    flags: AtomicU32,
    of: ComparisonScope,
}

impl ClientOrder {
    pub(super) const fn new(of: ComparisonScope) -> Self {
        Self {
            function: AtomicPtr::new(ptr::null_mut()),
            flags: AtomicU32::new(0),
            of,
        }
    }

    /// The flags of the database, which decide the order while there is no function.
    pub(super) fn set_flags(&self, flags: c_uint) {
        self.flags.store(flags, Access::Relaxed);
    }

    /// Whether it compares keys or values.
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
        // SAFETY: only such functions are ever stored there.
        let function = unsafe { mem::transmute::<*mut c_void, CompareFunction>(function) };
        let call = |a: *const Value, b: &[u8]| {
            let b = Value::new(b);
            // SAFETY: the client has given it for this, and both are values.
            unsafe { function(a, &raw const b) }
        };
        passed::compare(self.of, a, b, call)
    }

    /// Compares two values of the client's, as its function does.
    pub(crate) fn compare_passed(&self, a: &Value, b: &Value) -> CallResult<c_int> {
        let function = self.function.load(Access::Acquire);
        if function.is_null() {
            // SAFETY: the client's values are valid while the function runs.
            let (a, b) = unsafe { (a.bytes()?, b.bytes()?) };
            return Ok(self.compare(a, b) as c_int);
        }
        // SAFETY: only such functions are ever stored there.
        let function = unsafe { mem::transmute::<*mut c_void, CompareFunction>(function) };
        // SAFETY: the client has given it for this, and both are values.
        Ok(unsafe { function(a, b) })
    }

    /// Sets the function. Without one, the flags decide the order.
    pub(crate) fn give(&self, function: Option<CompareFunction>) {
        let function = function.map_or(ptr::null_mut(), |function| function as *mut c_void);
        self.function.store(function, Access::Release);
    }
}
