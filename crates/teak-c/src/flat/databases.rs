//! Twins of the functions for databases, transactions and tickets.

use super::arguments::slice;
use crate::{
    changes::teak_db_wait_for_commit,
    codes::teak_code,
    database::{
        teak_db, teak_db_close, teak_db_get_stat, teak_db_open_bytes, teak_db_stat, teak_db_sync,
        teak_db_ticket,
    },
    error::teak_error,
    metrics::{teak_db_metrics, teak_metrics},
    options::teak_options,
    tickets::{
        teak_ticket, teak_ticket_end, teak_ticket_poll, teak_ticket_transaction, teak_ticket_wait,
    },
    transactions::{
        teak_txn, teak_txn_begin_read, teak_txn_begin_write, teak_txn_begin_write_within,
        teak_txn_checkpoint, teak_txn_commit, teak_txn_commit_async, teak_txn_end, teak_txn_id,
        teak_txn_refresh, teak_txn_release, teak_txn_roll_back, teak_txn_roll_back_to,
        teak_txn_savepoint, teak_txn_set_durability,
    },
};
use std::ffi::c_void;

/// teak_db_open_bytes with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_db_open_bytes(
    bytes: *const c_void,
    bytes_len: usize,
    options: *const teak_options,
    db: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_db_open_bytes(
            slice(bytes, bytes_len),
            options,
            db.cast::<teak_db>(),
            error,
        )
    }
}

/// teak_db_close with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_db_close(db: u64, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_db_close(teak_db { handle: db }, error) }
}

/// teak_db_sync with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_db_sync(db: u64, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_db_sync(teak_db { handle: db }, error) }
}

/// teak_db_ticket with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_db_ticket(
    db: u64,
    transaction: u64,
    ticket: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_db_ticket(
            teak_db { handle: db },
            transaction,
            ticket.cast::<teak_ticket>(),
            error,
        )
    }
}

/// teak_db_get_stat with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_db_get_stat(
    db: u64,
    stat: *mut teak_db_stat,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_db_get_stat(teak_db { handle: db }, stat, error) }
}

/// teak_db_metrics with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_db_metrics(
    db: u64,
    metrics: *mut teak_metrics,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_db_metrics(teak_db { handle: db }, metrics, error) }
}

/// teak_db_wait_for_commit with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_db_wait_for_commit(
    db: u64,
    after: u64,
    limit_ms: u64,
    newest: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_db_wait_for_commit(teak_db { handle: db }, after, limit_ms, newest, error) }
}

/// teak_txn_begin_read with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_begin_read(
    db: u64,
    txn: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_txn_begin_read(teak_db { handle: db }, txn.cast::<teak_txn>(), error) }
}

/// teak_txn_begin_write with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_begin_write(
    db: u64,
    txn: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_txn_begin_write(teak_db { handle: db }, txn.cast::<teak_txn>(), error) }
}

/// teak_txn_begin_write_within with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_begin_write_within(
    db: u64,
    limit_ms: u64,
    txn: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_txn_begin_write_within(
            teak_db { handle: db },
            limit_ms,
            txn.cast::<teak_txn>(),
            error,
        )
    }
}

/// teak_txn_refresh with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_refresh(txn: u64, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_txn_refresh(teak_txn { handle: txn }, error) }
}

/// teak_txn_commit with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_commit(
    txn: u64,
    id: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_txn_commit(teak_txn { handle: txn }, id, error) }
}

/// teak_txn_commit_async with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_commit_async(
    txn: u64,
    ticket: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        teak_txn_commit_async(
            teak_txn { handle: txn },
            ticket.cast::<teak_ticket>(),
            error,
        )
    }
}

/// teak_txn_checkpoint with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_checkpoint(
    txn: u64,
    id: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_txn_checkpoint(teak_txn { handle: txn }, id, error) }
}

/// teak_txn_end with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_end(txn: u64, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_txn_end(teak_txn { handle: txn }, error) }
}

/// teak_txn_id with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_id(
    txn: u64,
    id: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_txn_id(teak_txn { handle: txn }, id, error) }
}

/// teak_txn_set_durability with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_set_durability(
    txn: u64,
    durability: u32,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_txn_set_durability(teak_txn { handle: txn }, durability, error) }
}

/// teak_txn_roll_back with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_roll_back(txn: u64, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_txn_roll_back(teak_txn { handle: txn }, error) }
}

/// teak_txn_savepoint with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_savepoint(
    txn: u64,
    savepoint: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_txn_savepoint(teak_txn { handle: txn }, savepoint, error) }
}

/// teak_txn_roll_back_to with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_roll_back_to(
    txn: u64,
    savepoint: u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_txn_roll_back_to(teak_txn { handle: txn }, savepoint, error) }
}

/// teak_txn_release with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_txn_release(
    txn: u64,
    savepoint: u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_txn_release(teak_txn { handle: txn }, savepoint, error) }
}

/// teak_ticket_poll with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_ticket_poll(ticket: u64, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_ticket_poll(teak_ticket { handle: ticket }, error) }
}

/// teak_ticket_wait with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_ticket_wait(
    ticket: u64,
    limit_ms: u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_ticket_wait(teak_ticket { handle: ticket }, limit_ms, error) }
}

/// teak_ticket_transaction with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_ticket_transaction(
    ticket: u64,
    transaction: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_ticket_transaction(teak_ticket { handle: ticket }, transaction, error) }
}

/// teak_ticket_end with scalar arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_ticket_end(ticket: u64, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_ticket_end(teak_ticket { handle: ticket }, error) }
}
