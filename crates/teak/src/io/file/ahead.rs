//! Growing ahead: a thread allocates what the file will soon be longer by, and fills it with zeros, while its writer goes on.
//! Memory for a huge page may take the system milliseconds, which no commit is to wait for.
//!
//! Nobody is told of the length: the file is longer than anybody knows, as after a transaction that came to nothing. Another process may come, write
//! to it meanwhile, make it longer and cut it, so the thread makes only calls that change nothing that is there: blocks are allocated
//! without a change of the length, and zeros are *appended*, which the system does behind the end as it is at that moment. There are file systems
//! that forget to (overlayfs before Linux 6.7): the caller leaves out those that it does not know, and what is given as the place is the end.
//!
//! A file that is shorter than its writer knows stays as it is. Zeros would hide that somebody has cut it.

use super::blocks::{HUGE_PAGE_LEN, zeros};
use crate::io::{
    forks::ForkGeneration,
    locked::{LockedFile, system_len},
    mutex::lock,
    system::refuse_file_len,
};
use rustix::{
    fs::{FallocateFlags, fallocate},
    io::{ReadWriteFlags, pwritev2, retry_on_intr},
};
use std::{
    fs::File,
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

/// What a file is longer by than anybody knows.
#[derive(Debug)]
pub(super) struct Ahead {
    state: Mutex<GrowthState>,
    changed: Condvar,
    /// A child of the process has no thread that would ever be done.
    generation: ForkGeneration,
}

#[derive(Debug, Default)]
struct GrowthState {
    /// How long the file is known to be.
    known: u64,
    /// How long the file is to be.
    wanted: u64,
    /// How long it has been made.
    made: u64,
    is_running: bool,
    /// Blocks may be left behind the end.
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

    /// Has the file, whose length is known, made so long. What fails is tried again by who needs it.
    pub(super) fn begin(self: &Arc<Self>, file: &Arc<LockedFile>, known: u64, len: u64) {
        let mut state = lock(&self.state);
        state.known = known;
        state.wanted = len;
        if state.is_running || state.has_failed {
            return;
        }
        // Somebody may have cut it.
        state.made = 0;
        let (ahead, file) = (Arc::clone(self), Arc::clone(file));
        let named = thread::Builder::new().name("teak-growth".to_owned());
        state.is_running = named.spawn(move || ahead.run(file)).is_ok();
    }

    fn run(&self, file: Arc<LockedFile>) {
        let mut state = lock(&self.state);
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
        // It is locked for as long.
        drop(file);
        state.is_running = false;
        self.changed.notify_all();
    }

    /// Waits until the file is so long, unless that is not being done, and says how long it has been made.
    pub(super) fn wait_for(&self, len: u64) -> u64 {
        self.wait_while(|state| state.made < len).made
    }

    /// Waits until nothing is done any more. Says whether blocks may be left behind the end, which the caller gives back.
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

/// Appends zeros up to where a huge page ends, or to `wanted`, and says how long the file is.
///
/// # Errors
/// What the system answers; `UnexpectedEof` if the file is shorter than `known`.
fn append_zeros(locked: &LockedFile, known: u64, wanted: u64) -> io::Result<u64> {
    let file: &File = locked;
    let old_len = uncut_len(locked, known)?;
    let end = (old_len + 1).next_multiple_of(HUGE_PAGE_LEN).min(wanted);
    if old_len >= end {
        return Ok(old_len);
    }
    let len = end - old_len;
    refuse_file_len(end)?;
    // Without this a full disk could be a signal.
    retry_on_intr(|| fallocate(file, FallocateFlags::KEEP_SIZE, old_len, len))?;
    // Allocating may have taken long.
    uncut_len(locked, old_len)?;
    pwritev2(file, &zeros(len as usize), old_len, ReadWriteFlags::APPEND)?;
    match system_len(locked)? {
        len if len < end => Err(io::ErrorKind::WriteZero.into()),
        len => Ok(len),
    }
}

/// How long the file is, if that is no less than `known`.
fn uncut_len(file: &LockedFile, known: u64) -> io::Result<u64> {
    match system_len(file)? {
        len if len < known => Err(io::ErrorKind::UnexpectedEof.into()),
        len => Ok(len),
    }
}

#[cfg(test)]
#[path = "ahead_tests.rs"]
mod tests;
