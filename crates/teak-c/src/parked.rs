//! Parked read transactions: unused for now, with a state that a writer may give up.

use crate::{
    error::{answer, teak_error},
    ffi::{OK, OutParameter},
    handles::HandleTable,
    names::OpenDatabase,
    teak_code,
    transactions::{insert_reader, take_reader, teak_txn},
};
use std::sync::Arc;
use teak::ParkedReadTxn;

/// A read transaction that is unused for now. A writer that needs the space may give up its state.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct teak_parked {
    /// Zero for none.
    pub handle: u64,
}

struct ParkedObject {
    opened: Arc<OpenDatabase>,
    parked: ParkedReadTxn,
}

static PARKED: HandleTable<ParkedObject> = HandleTable::new(6, "parked transaction");

/// Parks a read transaction, and ends its handle. Its state is kept unless a writer needs the
/// space. Meant for transactions of clients that may never return.
///
/// Threads: any, while no other call uses the transaction. Lives: values that were read must not be
/// used any more; the parked transaction until teak_parked_resume or teak_parked_end.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_INVALID_ARGUMENT if there
/// is a clone of it; TEAK_SNAPSHOT_LOST if it was cancelled, after which it has ended.
///
/// ```c
/// teak_txn txn;
/// teak_parked parked;
/// check(teak_txn_begin_read(db, &txn, &error));
/// check(teak_txn_park(txn, &parked, &error));
/// // ... much later
/// teak_code code = teak_parked_resume(parked, &txn, &error);
/// assert(code == TEAK_OK || code == TEAK_SNAPSHOT_LOST);
/// if (code == TEAK_OK)
///     check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_txn_park(
    txn: teak_txn,
    parked: *mut teak_parked,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(parked, "parked")?;
            out.set(teak_parked { handle: 0 });
            let (opened, txn) = take_reader(txn)?;
            let parked = txn.park()?;
            let handle = PARKED.insert(ParkedObject { opened, parked })?;
            out.set(teak_parked { handle });
            OK
        })
    }
}

/// Resumes reading the same state. The parked transaction ends even after an error.
///
/// Threads: any. Lives: as teak_txn_begin_read.
///
/// Errors: TEAK_SNAPSHOT_LOST if the state was given up, or the transaction cancelled: begin a new
/// one. TEAK_INVALID_HANDLE, TEAK_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_parked_resume(
    parked: teak_parked,
    txn: *mut teak_txn,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(txn, "txn")?;
            out.set(teak_txn { handle: 0 });
            let ParkedObject { opened, parked } = PARKED.remove(parked.handle)?;
            out.set(insert_reader(&opened, parked.resume()?)?);
            OK
        })
    }
}

/// Ends a parked transaction that will not be resumed.
///
/// Threads: any.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_parked_end(parked: teak_parked, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            drop(PARKED.remove(parked.handle)?);
            OK
        })
    }
}
