//! What a call of the client looks for, while it runs in this thread.

use super::ComparisonScope;
use crate::{
    border::Value, codes::CallResult, environment::MAX_KEY, handles::OpenDatabase,
    untracked_cursor::UntrackedCursor,
};
use std::{
    cell::{Cell, RefCell},
    cmp::Ordering,
    collections::HashMap,
    ffi::c_int,
    ptr,
};

/// The client's value, and the bytes that the engine is given for it: the same, or a copy.
#[derive(Clone, Copy, Debug)]
struct PassedValue {
    value: *const Value,
    bytes: *const [u8],
}

thread_local! {
    /// A key and a value of a key.
    static PASSED: [Cell<Option<PassedValue>>; 2] = const { [Cell::new(None), Cell::new(None)] };
    static RANKS: RefCell<Option<HashMap<Vec<u8>, usize>>> = const { RefCell::new(None) };
}

/// As long as this lives, the client's comparison is given the client's value where the engine compares certain bytes.
#[derive(Debug)]
pub(crate) struct SoughtValue {
    of: ComparisonScope,
    /// What the call looks for in which the client's comparison has made this one.
    before: Option<PassedValue>,
}

impl SoughtValue {
    /// `None` where the table is not in an order of the client's. What both lead to has to live as long as this.
    #[inline]
    pub(crate) fn new(
        open: &OpenDatabase,
        of: ComparisonScope,
        value: &Value,
        bytes: &[u8],
    ) -> Option<Self> {
        open.order(of)?;
        let passed = PassedValue { value, bytes };
        let before = PASSED.with(|all| all[of as usize].replace(Some(passed)));
        Some(Self { of, before })
    }
}

impl Drop for SoughtValue {
    fn drop(&mut self) {
        PASSED.with(|all| all[self.of as usize].set(self.before));
    }
}

/// As long as this lives, the values of one key are compared by their places among them: for clients whose comparison looks at what
/// they pass and not at the bytes, and so cannot compare two stored values.
#[derive(Debug)]
pub(crate) struct RankComparison {
    /// Those of the call in which the client's comparison has made this one.
    before: Option<HashMap<Vec<u8>, usize>>,
}

impl RankComparison {
    /// The values of the key that a walk is on.
    pub(crate) fn of(mut walk: UntrackedCursor) -> CallResult<Self> {
        let mut ranks = HashMap::new();
        walk.first_value()?;
        loop {
            ranks.insert(walk.value()?.to_vec(), ranks.len());
            if !walk.next_value()? {
                break;
            }
        }
        let before = RANKS.replace(Some(ranks));
        Ok(Self { before })
    }
}

impl Drop for RankComparison {
    fn drop(&mut self) {
        RANKS.set(self.before.take());
    }
}

fn by_rank(a: &[u8], b: &[u8]) -> Option<Ordering> {
    RANKS.with_borrow(|ranks| {
        let ranks = ranks.as_ref()?;
        Some(ranks.get(a)?.cmp(ranks.get(b)?))
    })
}

/// The client's value that stands for `bytes`. It does no more where the engine has changed what it leads to.
fn passed(of: ComparisonScope, bytes: &[u8]) -> Option<*const Value> {
    let passed = PASSED.with(|all| all[of as usize].get())?;
    if !ptr::eq(passed.bytes, bytes) {
        return None;
    }
    // SAFETY: it lives as long as the `SoughtValue`, and so do its bytes, which the client gives for a call.
    let is_same = unsafe { (*passed.value).bytes() } == Ok(bytes);
    is_same.then_some(passed.value)
}

/// Compares by `function`, which is given a value of the client's, or something that looks like one, and stored bytes.
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
        // Whatever the function says of it: `mdb_load -a` brings one that says "greater" of all.
        return Ordering::Equal;
    }
    if let (ComparisonScope::Values, Some(ordering)) = (of, by_rank(a, b)) {
        return ordering;
    }
    with_trailing_zeros(a, |a| function(a, b)).cmp(&0)
}

/// Bytes as a client may pass them: with more values behind their own, which are null, and with zeros behind the bytes.
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
