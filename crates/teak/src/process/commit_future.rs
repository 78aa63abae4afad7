//! A future that waits for a commit of this process or of another one.

use crate::{Error, Result, TransactionId, instance::opening::Opening, unique_id::unique_id};
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

/// Completes when readers see a commit after a given one, or may do so. Fails if the opening is
/// closed.
#[derive(Debug)]
pub(crate) struct CommitFuture {
    opening: Arc<Opening>,
    after: TransactionId,
    id: u64,
}

impl CommitFuture {
    pub(crate) fn new(opening: &Arc<Opening>, after: TransactionId) -> Self {
        Self {
            opening: Arc::clone(opening),
            after,
            id: unique_id(),
        }
    }

    fn is_over(&self) -> Result<bool> {
        let published = &self.opening.readable()?.committer.published;
        Ok(published.visible() > self.after)
    }
}

impl Future for CommitFuture {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.is_over()? {
            return Poll::Ready(Ok(()));
        }
        let waiters = &self.opening.engine().committer.published.waiters;
        let registered = waiters.register(self.id, self.after.0, context.waker().clone());
        registered.map_err(Error::io("starting the thread that waits for commits"))?;
        match self.is_over()? {
            true => Poll::Ready(Ok(())),
            false => Poll::Pending,
        }
    }
}

impl Drop for CommitFuture {
    fn drop(&mut self) {
        let engine = self.opening.engine();
        // In a forked child nobody may ever release the lock of the list.
        if engine.refuse_forked().is_ok() {
            engine.committer.published.waiters.forget(self.id);
        }
    }
}
