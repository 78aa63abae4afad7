//! Several batches that wait at the same time are one transaction, as in LevelDB.

use crate::failure::{Failure, Result};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// The greatest size of batches that are written together.
const GROUP_MAX: usize = 1 << 20;
/// A batch up to this size is not made to wait for much more than itself.
const SMALL: usize = 128 << 10;

/// The queue of writers.
#[derive(Default)]
pub(crate) struct Writers {
    queue: Mutex<Queue>,
    /// Bytes of the batches that are being written or wait.
    batch_bytes: AtomicUsize,
}

/// A batch that is being written or waits.
struct CountedBatch<'w> {
    batch_bytes: &'w AtomicUsize,
    len: usize,
}

impl Drop for CountedBatch<'_> {
    fn drop(&mut self) {
        self.batch_bytes.fetch_sub(self.len, Relaxed);
    }
}

#[derive(Default)]
struct Queue {
    /// Whether a writer writes now.
    is_busy: bool,
    waiting: VecDeque<Arc<Waiter>>,
}

/// A writer that waits.
struct Waiter {
    /// A copy of its batch, which another writer may write. `None` if it is too large for that.
    batch: Option<Vec<u8>>,
    is_synced: bool,
    done: Mutex<Option<Result<()>>>,
    wake: Condvar,
}

impl Writers {
    pub(crate) fn batch_bytes(&self) -> usize {
        self.batch_bytes.load(Relaxed)
    }

    /// Writes a batch with `write`, alone or together with others: here, or in the thread of
    /// another writer. `write` gets all batches in the order in which they came, and whether they
    /// must be durable.
    pub(crate) fn write(
        &self,
        batch: &[u8],
        is_synced: bool,
        write: impl FnOnce(&[&[u8]], bool) -> Result<()>,
    ) -> Result<()> {
        self.batch_bytes.fetch_add(batch.len(), Relaxed);
        let _counted = CountedBatch {
            batch_bytes: &self.batch_bytes,
            len: batch.len(),
        };
        let mut queue = locked(&self.queue);
        if queue.is_busy || !queue.waiting.is_empty() {
            let waiter = Arc::new(Waiter {
                batch: (batch.len() <= GROUP_MAX).then(|| batch.to_vec()),
                is_synced,
                done: Mutex::new(None),
                wake: Condvar::new(),
            });
            queue.waiting.push_back(Arc::clone(&waiter));
            loop {
                if let Some(done) = locked(&waiter.done).take() {
                    return done;
                }
                let is_first = queue
                    .waiting
                    .front()
                    .is_some_and(|it| Arc::ptr_eq(it, &waiter));
                if is_first && !queue.is_busy {
                    break;
                }
                let woken = waiter.wake.wait(queue);
                queue = woken.unwrap_or_else(PoisonError::into_inner);
            }
            queue.waiting.pop_front();
        }
        queue.is_busy = true;
        let others = queue.take_group(batch.len(), is_synced);
        drop(queue);

        let group = GroupWrite {
            writers: self,
            others: &others,
            done: None,
        };
        let mut batches = vec![batch];
        batches.extend(others.iter().filter_map(|other| other.batch.as_deref()));
        let done = write(&batches, is_synced);
        group.end(done)
    }
}

impl Queue {
    /// Takes the writers whose batches are written together with one of `len` bytes. A writer that
    /// wants its batch durable does not join one that does not.
    fn take_group(&mut self, len: usize, is_synced: bool) -> Vec<Arc<Waiter>> {
        let max = if len <= SMALL { len + SMALL } else { GROUP_MAX };
        let mut size = len;
        let mut group = Vec::new();
        while let Some(next) = self.waiting.front() {
            let Some(batch) = &next.batch else { break };
            size += batch.len();
            if size > max || (next.is_synced && !is_synced) {
                break;
            }
            group.extend(self.waiting.pop_front());
        }
        group
    }
}

/// A group that is being written. Its end wakes the writers of the group and the next one, also
/// if it panicked.
struct GroupWrite<'w> {
    writers: &'w Writers,
    others: &'w [Arc<Waiter>],
    done: Option<Result<()>>,
}

impl GroupWrite<'_> {
    fn end(mut self, done: Result<()>) -> Result<()> {
        self.done = Some(done.clone());
        done
    }
}

impl Drop for GroupWrite<'_> {
    fn drop(&mut self) {
        let done = self.done.take();
        let done = done.unwrap_or_else(|| Err(Failure::panicked()));
        let mut queue = locked(&self.writers.queue);
        queue.is_busy = false;
        for other in self.others {
            *locked(&other.done) = Some(done.clone());
            other.wake.notify_one();
        }
        if let Some(next) = queue.waiting.front() {
            next.wake.notify_one();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
