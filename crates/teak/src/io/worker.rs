//! Threads of a database, for whose end it waits.

use super::{
    mutex::lock,
    sys::{ARE_THREADS_FREE, join},
};
use std::{
    io,
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver},
    },
    thread::{self, JoinHandle},
};

type Work = Box<dyn FnOnce() + Send>;

/// A thread that does one piece of work.
///
/// A database may be closed by a destructor of thread-local data. On some systems a thread can
/// neither begin nor end while another one runs such destructors. There [`Self::wait`] waits for
/// the end of work that has begun, and only for a short time for the end of the thread.
#[derive(Debug)]
pub(crate) struct Worker {
    work: Arc<Mutex<Unbegun>>,
    /// Disconnected when the work is over and what it had is dropped.
    over: Receiver<()>,
    thread: JoinHandle<()>,
}

/// The work, until it begins.
struct Unbegun(Option<Work>);

impl std::fmt::Debug for Unbegun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Unbegun").field(&self.0.is_some()).finish()
    }
}

impl Worker {
    /// Starts a thread with this name.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(crate) fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let work = Arc::new(Mutex::new(Unbegun(Some(Box::new(work)))));
        let (sender, over) = mpsc::channel();
        let of_thread = Arc::clone(&work);
        let named = thread::Builder::new().name(name.to_owned());
        let thread = named.spawn(move || {
            let work = lock(&of_thread).0.take();
            if let Some(work) = work {
                work();
            }
            drop(sender);
        })?;
        Ok(Self { work, over, thread })
    }

    /// Whether this is the current thread.
    pub(crate) fn is_current(&self) -> bool {
        self.thread.thread().id() == thread::current().id()
    }

    /// Waits for the end of the work. Where threads are not free to begin, work that has not begun
    /// is dropped.
    pub(crate) fn wait(self) {
        assert!(!self.is_current(), "no thread waits for itself");
        if !ARE_THREADS_FREE {
            let unbegun = lock(&self.work).0.take();
            if unbegun.is_none() {
                // An error: nothing is ever sent.
                let _ = self.over.recv();
            }
        }
        join(self.thread);
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
