//! Tickets, which report when a commit is on the disk.

use crate::{
    error::{answer, teak_error},
    failure::Failure,
    ffi::{OK, OutParameter, whether},
    handles::HandleTable,
    teak_code,
};
use event::TicketEvent;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Wake, Waker},
    time::Duration,
};
use teak::{Error, Ticket};

mod event;

/// A ticket of a commit. It reports when the commit is on the disk.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct teak_ticket {
    /// Zero for none.
    pub handle: u64,
}

pub(crate) struct TicketObject {
    ticket: Ticket,
    event: Option<Arc<TicketEvent>>,
}

static TICKETS: HandleTable<TicketObject> = HandleTable::new(3, "ticket");

impl Wake for TicketEvent {
    fn wake(self: Arc<Self>) {
        self.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notify();
    }
}

pub(crate) fn insert(ticket: Ticket) -> Result<teak_ticket, Failure> {
    let event = None;
    let handle = TICKETS.insert(TicketObject { ticket, event })?;
    Ok(teak_ticket { handle })
}

/// Returns TEAK_OK if the commit is on the disk, and TEAK_NONE if not yet. Does not wait.
///
/// Threads: any.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_FORKED; TEAK_IO or TEAK_POISONED if a write or
/// flush failed, so the commit may be lost in a power failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_ticket_poll(
    ticket: teak_ticket,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let held = TICKETS.read(ticket.handle)?;
            Ok(whether(held.ticket.is_durable()?))
        })
    }
}

/// Waits until the commit is on the disk, and returns TEAK_OK. Waits at most the given number of
/// milliseconds and then returns TEAK_NONE; UINT64_MAX waits without a limit.
///
/// Threads: any, and several may wait with one ticket.
///
/// Errors: those of teak_ticket_poll.
///
/// ```c
/// teak_txn txn;
/// teak_table table;
/// teak_ticket ticket;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("log"), NULL, &table, &error));
/// check(teak_insert(txn, table, teak_text("1"), teak_text("begun"), &error));
/// check(teak_txn_commit_async(txn, &ticket, &error)); // readers see it now
/// check(teak_ticket_wait(ticket, UINT64_MAX, &error)); // and now it is on the disk
/// check(teak_ticket_end(ticket, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_ticket_wait(
    ticket: teak_ticket,
    limit_ms: u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let ticket = TICKETS.read(ticket.handle)?.ticket.clone();
            if limit_ms == u64::MAX {
                ticket.wait()?;
                return OK;
            }
            Ok(whether(
                ticket.wait_timeout(Duration::from_millis(limit_ms))?,
            ))
        })
    }
}

/// Stores a descriptor for poll, epoll and the like. It becomes readable when the outcome of the
/// commit is known; teak_ticket_poll then returns it.
///
/// Threads: any, while no other call uses the ticket. Lives: the descriptor belongs to the ticket
/// and is closed with it; each call returns the same one.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_FORKED; TEAK_IO if the process has no descriptor
/// left, and on Windows, where use teak_ticket_wait or teak_ticket_poll.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_ticket_descriptor(
    ticket: teak_ticket,
    descriptor: *mut i32,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(descriptor, "descriptor")?;
            let held = &mut *TICKETS.change(ticket.handle)?;
            out.set(held.descriptor()?);
            OK
        })
    }
}

impl TicketObject {
    fn descriptor(&mut self) -> Result<i32, Failure> {
        if let Some(event) = &self.event {
            return Ok(event.descriptor());
        }
        let event = TicketEvent::new().map_err(|cause| Error::Io {
            operation: "creating an event descriptor",
            path: None,
            cause: cause.into(),
        })?;
        let event = Arc::new(event);
        let waker = Waker::from(Arc::clone(&event));
        let decided = Future::poll(Pin::new(&mut self.ticket), &mut Context::from_waker(&waker));
        if decided.is_ready() {
            event.notify();
        }
        let descriptor = event.descriptor();
        self.event = Some(event);
        Ok(descriptor)
    }
}

/// Stores the number of the commit.
///
/// Threads: any.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_ticket_transaction(
    ticket: teak_ticket,
    transaction: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(transaction, "transaction")?;
            out.set(TICKETS.read(ticket.handle)?.ticket.transaction().0);
            OK
        })
    }
}

/// Ends a ticket. This does not affect the commit.
///
/// Threads: any, while no other call uses the ticket; threads that wait with it continue to wait.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_ticket_end(ticket: teak_ticket, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            drop(TICKETS.remove(ticket.handle)?);
            OK
        })
    }
}
