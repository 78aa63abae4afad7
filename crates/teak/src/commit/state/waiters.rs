//! Threads and tickets that wait for commits to become durable, and the sleeping background thread.
//!
//! Invariants:
//!
//! 1. A thread is in the list from when it goes to sleep until it is woken. A thread that wakes up
//!    and is not in the list has been chosen to continue.
//! 2. A ticket is in the list at most once.

use crate::TransactionId;
use std::{
    mem,
    task::Waker,
    thread::{Thread, ThreadId},
};

/// A ticket that waits to be woken.
#[derive(Debug)]
struct WaitingTicket {
    id: u64,
    transaction: TransactionId,
    waker: Waker,
}

/// A thread that waits for its commit to become durable.
#[derive(Debug)]
struct WaitingThread {
    transaction: TransactionId,
    thread: Thread,
}

/// All that wait.
#[derive(Default, Debug)]
pub(crate) struct Waiters {
    tickets: Vec<WaitingTicket>,
    threads: Vec<WaitingThread>,
    /// Number of threads that wait for tickets.
    ticket_thread_count: usize,
    is_flusher_asleep: bool,
}

impl Waiters {
    /// Adds a thread that waits for the end of a flush.
    pub(crate) fn add_thread(&mut self, transaction: TransactionId, thread: Thread) {
        debug_assert!(!self.has_thread(thread.id()), "a thread waits once");
        self.threads.push(WaitingThread {
            transaction,
            thread,
        });
    }

    pub(crate) fn has_thread(&self, id: ThreadId) -> bool {
        self.threads.iter().any(|waiting| waiting.thread.id() == id)
    }

    /// Takes the threads to wake when a flush is over: one that begins the next flush, and those
    /// whose wait is over.
    pub(super) fn take_threads(&mut self, durable: TransactionId, has_failed: bool) -> Vec<Thread> {
        let is_over = |thread: &mut WaitingThread| has_failed || thread.transaction <= durable;
        let over: Vec<_> = self.threads.extract_if(.., is_over).collect();
        debug_assert!(
            !has_failed || self.threads.is_empty(),
            "no thread waits for a flush after a failure"
        );
        let next = (!self.threads.is_empty()).then(|| self.threads.swap_remove(0));
        let woken = next.into_iter().chain(over);
        woken.map(|waiting| waiting.thread).collect()
    }

    /// Registers the waker of ticket `id`. Returns the waker that it replaces.
    pub(crate) fn set_waker(
        &mut self,
        id: u64,
        transaction: TransactionId,
        waker: Waker,
    ) -> Option<Waker> {
        match self.tickets.iter_mut().find(|ticket| ticket.id == id) {
            Some(known) => {
                debug_assert_eq!(
                    known.transaction, transaction,
                    "a ticket waits for one commit"
                );
                Some(mem::replace(&mut known.waker, waker))
            }
            None => {
                self.tickets.push(WaitingTicket {
                    id,
                    transaction,
                    waker,
                });
                None
            }
        }
    }

    /// Removes ticket `id`, and returns its waker.
    pub(crate) fn remove_ticket(&mut self, id: u64) -> Option<Waker> {
        let index = self.tickets.iter().position(|ticket| ticket.id == id)?;
        let removed = self.tickets.swap_remove(index);
        debug_assert!(
            self.tickets.iter().all(|ticket| ticket.id != id),
            "a ticket is in the list at most once"
        );
        Some(removed.waker)
    }

    /// Takes the wakers of tickets whose commits are durable.
    pub(super) fn take_due_wakers(&mut self, durable: TransactionId) -> Vec<Waker> {
        let is_due = |ticket: &mut WaitingTicket| ticket.transaction <= durable;
        let due = self.tickets.extract_if(.., is_due);
        due.map(|ticket| ticket.waker).collect()
    }

    /// Takes the wakers of all tickets.
    pub(super) fn take_all_wakers(&mut self) -> Vec<Waker> {
        self.tickets.drain(..).map(|ticket| ticket.waker).collect()
    }

    pub(super) fn has_wakers(&self) -> bool {
        !self.tickets.is_empty()
    }

    /// Whether any ticket waits for a commit, by its waker or in a thread.
    pub(crate) fn has_tickets(&self) -> bool {
        self.ticket_thread_count > 0 || self.has_wakers()
    }

    /// Whether threads wait for tickets.
    pub(crate) fn has_ticket_threads(&self) -> bool {
        self.ticket_thread_count > 0
    }

    pub(crate) fn begin_ticket_wait(&mut self) {
        self.ticket_thread_count += 1;
    }

    pub(crate) fn end_ticket_wait(&mut self) {
        assert!(self.ticket_thread_count > 0, "a wait began before it ends");
        self.ticket_thread_count -= 1;
    }

    pub(crate) fn set_flusher_asleep(&mut self, is_asleep: bool) {
        debug_assert!(
            self.is_flusher_asleep != is_asleep,
            "there is one background thread"
        );
        self.is_flusher_asleep = is_asleep;
    }

    pub(crate) fn is_flusher_asleep(&self) -> bool {
        self.is_flusher_asleep
    }
}
