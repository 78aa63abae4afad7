//! Beginning to write without blocking a thread.

use super::{
    Database, WriteTxn,
    begin_queue::{BeginProgress, BeginRequest},
};
#[cfg(doc)]
use crate::Error;
use crate::{Result, sync::lock};
use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

impl Database {
    /// Begins a write transaction like [`Database::begin_write`], without blocking the thread: the
    /// future completes when it is this transaction's turn. Works with any executor. Futures begin
    /// in the order in which they were first polled. While any has to wait, one thread of the
    /// database waits for all of them, also for writers of other processes. Dropping a future gives
    /// its turn up.
    ///
    /// If an earlier transaction found no space and there are pages to be released, one commit's
    /// worth of them is released first, and the id of the transaction is greater by one.
    ///
    /// A task that has a [`WriteTxn`] must not wait for another one: it would wait for itself
    /// forever.
    ///
    /// ```
    /// # use teak::{Database, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let visit = async |name: &str| -> teak::Result<()> {
    ///     let mut txn = database.begin_write_async().await?;
    ///     let visits = txn.create_table::<Str, u64>("visits")?;
    ///     let before = visits.get(&txn, name)?.unwrap_or(0);
    ///     visits.insert(&mut txn, name, before + 1)?;
    ///     txn.commit_async()?.await
    /// };
    /// # use std::{pin::pin, task::{Context, Waker}, thread, time::Duration};
    /// # let mut visited = pin!(visit("Ada"));
    /// # while visited.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
    /// #     thread::sleep(Duration::from_millis(1));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::Poisoned`] after a failed write or flush; [`Error::Io`] if
    /// releasing dropped pages fails for another reason than lack of space, or if no thread can be
    /// started; [`Error::InvalidArgument`] if the database has been closed, also while waiting.
    pub fn begin_write_async(&self) -> impl Future<Output = Result<WriteTxn>> + Send + use<> {
        BeginWrite {
            database: self.clone(),
            request: None,
        }
    }
}

/// The future of [`Database::begin_write_async`].
struct BeginWrite {
    database: Database,
    /// `None` until it has to wait.
    request: Option<Arc<BeginRequest>>,
}

impl Future for BeginWrite {
    type Output = Result<WriteTxn>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<WriteTxn>> {
        let waker = context.waker();
        let Some(request) = &self.request else {
            return match self
                .database
                .begin_queue
                .begin(&self.database.opening, waker)
            {
                Ok(Ok(begun)) => Poll::Ready(Ok(WriteTxn::new(begun))),
                Ok(Err(request)) => {
                    self.request = Some(request);
                    Poll::Pending
                }
                Err(error) => Poll::Ready(Err(error)),
            };
        };
        let mut progress = lock(&request.progress);
        match mem::replace(&mut *progress, BeginProgress::Ended) {
            BeginProgress::Begun(begun) => Poll::Ready((*begun).map(WriteTxn::new)),
            _ => {
                *progress = BeginProgress::Waiting(waker.clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for BeginWrite {
    fn drop(&mut self) {
        if let Some(request) = &self.request {
            self.database.begin_queue.forget(request);
            // Dropped without a lock: a transaction that has begun is rolled back.
            let ended = mem::replace(&mut *lock(&request.progress), BeginProgress::Ended);
            drop(ended);
        }
    }
}
