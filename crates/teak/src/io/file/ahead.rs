//! Growing ahead: a thread allocates the expected growth of the file and fills it with zeros, while
//! the writer continues. The system may need milliseconds to provide memory for a huge page, which
//! no commit should wait for.
//!
//! The new length is not published. The file is longer than the known length, as after an aborted
//! transaction. Another process may meanwhile attach, write to the file, grow it and truncate it.
//! The thread therefore only makes calls that change no existing bytes. Blocks are allocated
//! without changing the length, and zeros are *appended*, which the system does at the end of the
//! file at that moment. Some file systems ignore the append flag (overlayfs before Linux 6.7). For
//! unknown file systems callers do not grow ahead, and the offset given to the call is the end of
//! the file.
//!
//! A file that is shorter than its known length is left alone. Zeros would hide that another
//! program has truncated it.

use super::blocks::{HUGE_PAGE_LEN, zeros};
use crate::io::{
    forks::ForkGeneration,
    locked::{LockedFile, system_len},
    mutex::lock,
    sys::{Allocate, allocate, append},
    system::refuse_file_len,
};
use std::{
    fs::File,
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

/// The part of a file after its known length.
#[derive(Debug)]
pub(super) struct Ahead {
    state: Mutex<GrowthState>,
    changed: Condvar,
    /// A forked child has no thread that would ever finish.
    generation: ForkGeneration,
}

#[derive(Debug, Default)]
struct GrowthState {
    /// The known length of the file.
    known: u64,
    /// The length that the file should get.
    wanted: u64,
    /// The length that the file has been given.
    made: u64,
    is_running: bool,
    /// An allocation failed: blocks may be left after the end of the file.
    has_failed: bool,
}

impl Ahead {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            generation: ForkGeneration::current(),
        })
    }

    /// Begins to grow the file, whose length `known` is published, to `len`. Failures are repeated
    /// by the writer when it needs the space.
    pub(super) fn begin(self: &Arc<Self>, file: &Arc<LockedFile>, known: u64, len: u64) {
        let mut state = lock(&self.state);
        state.known = known;
        state.wanted = len;
        if state.is_running || state.has_failed {
            return;
        }
        // The file may have been truncated since.
        state.made = 0;
        let (ahead, file) = (Arc::clone(self), Arc::clone(file));
        let named = thread::Builder::new().name("teak-growth".to_owned());
        state.is_running = named.spawn(move || ahead.run(file)).is_ok();
    }

    fn run(&self, file: Arc<LockedFile>) {
        let mut state = lock(&self.state);
        debug_assert!(
            state.is_running,
            "one thread at a time grows the file ahead"
        );
        while state.made < state.wanted {
            let (known, wanted) = (state.known, state.wanted);
            drop(state);
            let made = append_zeros(&file, known, wanted);
            state = lock(&self.state);
            match made {
                Ok(len) => state.made = len,
                Err(_) => {
                    state.has_failed = true;
                    break;
                }
            }
            self.changed.notify_all();
        }
        // The file stays locked until it is dropped.
        drop(file);
        state.is_running = false;
        self.changed.notify_all();
    }

    /// Waits until the file has this length, unless the thread does not run. Returns the length
    /// that the file has been given.
    pub(super) fn wait_for(&self, len: u64) -> u64 {
        self.wait_while(|state| state.made < len).made
    }

    /// Waits until the thread stops. Returns whether blocks may be left after the end of the file,
    /// which the caller must release.
    pub(super) fn end(&self) -> bool {
        if self.generation.is_past() {
            return false;
        }
        lock(&self.state).wanted = 0;
        let mut state = self.wait_while(|_| true);
        state.made = 0;
        std::mem::take(&mut state.has_failed)
    }

    fn wait_while(&self, is_early: impl Fn(&GrowthState) -> bool) -> MutexGuard<'_, GrowthState> {
        let state = lock(&self.state);
        let waited = self.changed.wait_while(state, |state| {
            state.is_running && is_early(state) && !self.generation.is_past()
        });
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appends zeros up to the end of a huge page or to `wanted`, and returns the length of the file.
///
/// # Errors
///
/// - The system's error.
/// - `UnexpectedEof` if the file is shorter than `known`.
fn append_zeros(locked: &LockedFile, known: u64, wanted: u64) -> io::Result<u64> {
    let file: &File = locked;
    let old_len = uncut_len(locked, known)?;
    let end = (old_len + 1).next_multiple_of(HUGE_PAGE_LEN).min(wanted);
    if old_len >= end {
        return Ok(old_len);
    }
    let len = end - old_len;
    refuse_file_len(end)?;
    // Without this, a full disk could raise a signal later.
    if !allocate(file, old_len..end, Allocate::Keep)? {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // The allocation may have taken long.
    uncut_len(locked, old_len)?;
    let appended = append(file, &zeros(len as usize), old_len)?;
    appended.ok_or(io::ErrorKind::Unsupported)?;
    match system_len(locked)? {
        len if len < end => Err(io::ErrorKind::WriteZero.into()),
        len => Ok(len),
    }
}

/// The length of the file, if it is at least `known`.
fn uncut_len(file: &LockedFile, known: u64) -> io::Result<u64> {
    match system_len(file)? {
        len if len < known => Err(io::ErrorKind::UnexpectedEof.into()),
        len => Ok(len),
    }
}

#[cfg(test)]
#[path = "ahead_tests.rs"]
mod tests;
