//! The queue of futures that wait to begin a write transaction. One thread for each opening of a
//! database waits for the writer lock on behalf of all of them, in the order in which they came. It
//! takes part in the queue of threads, and waits for other processes as a thread does. It starts
//! when a future first has to wait, and ends when none is left.

use crate::{
    Error, Result, instance::opening::Opening, observe::trace::TraceOrigin, sync::lock,
    write::transaction::WriteTransaction,
};
use std::{
    collections::VecDeque,
    fmt, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    task::Waker,
    thread,
    time::Duration,
};

/// How long the thread waits for the writer lock before it checks whether the future still exists.
/// A database stays open that long after its last handle and its last future are dropped.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The futures of one opening that wait to begin.
#[derive(Default)]
pub(super) struct BeginQueue {
    state: Mutex<BeginQueueState>,
}

#[derive(Default)]
struct BeginQueueState {
    waiting: VecDeque<Arc<BeginRequest>>,
    has_thread: bool,
}

/// A future that waits to begin.
pub(super) struct BeginRequest {
    opening: Arc<Opening>,
    asked: TraceOrigin,
    pub(super) progress: Mutex<BeginProgress>,
}

pub(super) enum BeginProgress {
    Waiting(Waker),
    Begun(Box<Result<WriteTransaction>>),
    /// The future was dropped, or has its result.
    Ended,
}

impl BeginQueue {
    /// Begins at once, unless there are other writers. Otherwise returns the request that now
    /// waits.
    pub(super) fn begin(
        self: &Arc<Self>,
        opening: &Arc<Opening>,
        waker: &Waker,
    ) -> Result<Result<WriteTransaction, Arc<BeginRequest>>> {
        let engine = opening.writable()?;
        let is_first = lock(&self.state).waiting.is_empty();
        let at_once = Some(Duration::ZERO);
        if is_first
            && let Some(begun) =
                unless_prepared(WriteTransaction::begin_within(engine, at_once, None))?
        {
            return Ok(Ok(begun));
        }
        let request = Arc::new(BeginRequest {
            opening: Arc::clone(opening),
            asked: TraceOrigin::now(),
            progress: Mutex::new(BeginProgress::Waiting(waker.clone())),
        });
        let mut state = lock(&self.state);
        if !state.has_thread {
            let queue = Arc::clone(self);
            let named = thread::Builder::new().name("teak-begin".to_owned());
            let spawned = named.spawn(move || queue.run());
            spawned.map_err(Error::io(
                "starting the thread that waits for the writer lock",
            ))?;
            state.has_thread = true;
        }
        state.waiting.push_back(Arc::clone(&request));
        Ok(Err(request))
    }

    /// Removes a future that was dropped.
    pub(super) fn forget(&self, request: &Arc<BeginRequest>) {
        let mut state = lock(&self.state);
        state.waiting.retain(|other| !Arc::ptr_eq(other, request));
    }

    /// Begins for one future after the other.
    fn run(&self) {
        loop {
            let request = {
                let mut state = lock(&self.state);
                let Some(first) = state.waiting.front() else {
                    state.has_thread = false;
                    return;
                };
                Arc::clone(first)
            };
            if let Some(begun) = request.try_begin() {
                self.forget(&request);
                request.end(begun);
            }
        }
    }
}

/// A future waits while a transaction is prepared, as for other writers.
fn unless_prepared(begun: Result<Option<WriteTransaction>>) -> Result<Option<WriteTransaction>> {
    match begun {
        Err(Error::TransactionPrepared { .. }) => Ok(None),
        begun => begun,
    }
}

impl BeginRequest {
    /// Begins. `None` if the writer lock was not free for a while.
    fn try_begin(&self) -> Option<Result<WriteTransaction>> {
        let begun = self.opening.writable().and_then(|engine| {
            let (asked, limit) = (self.asked.clone(), Some(CHECK_INTERVAL));
            let begun = WriteTransaction::begin_asked(engine, asked, limit, None);
            let begun = unless_prepared(begun)?;
            // The thread that ends the transaction is another one.
            if begun.is_some() {
                engine.permit_lock.forget_taker();
            }
            Ok(begun)
        });
        begun.transpose()
    }

    /// Hands the result over. If the future was dropped, the transaction is rolled back.
    fn end(&self, begun: Result<WriteTransaction>) {
        let mut progress = lock(&self.progress);
        if matches!(*progress, BeginProgress::Ended) {
            drop(progress);
            return drop(begun);
        }
        let before = mem::replace(&mut *progress, BeginProgress::Begun(Box::new(begun)));
        drop(progress);
        if let BeginProgress::Waiting(waker) = before {
            // A panic in a waker must not stop this thread: others wait for it.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}

impl fmt::Debug for BeginQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BeginQueue")
    }
}
