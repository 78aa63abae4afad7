//! This process's part in a database that others may have open as well.

use super::{
    demanded, lock,
    progress::{State, Written},
};
use crate::{
    Error, Result,
    commit::record::Record,
    error::is_full,
    share::{Membership, REGION_HEAD_LEN, Region, SharedLock, Slot, Taken},
    store::{Gate, Generation, LockFile, Storage},
};
use std::{
    io,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// At most so often somebody looks who has died.
const LOOKS_APART: Duration = Duration::from_millis(100);

/// The memory that processes share, and this process's place among them.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) region: Region,
    pub(super) lock_file: LockFile,
    /// This process, as the shared memory knows it.
    membership: Membership,
    pid_namespace: u64,
    /// Of the shared memory when the database was opened.
    epoch: u64,
    generation: Generation,
    storage: Arc<dyn Storage>,
    page_size: usize,
    looked: Mutex<Option<Instant>>,
}

impl Shared {
    pub(super) fn new(
        region: Region,
        epoch: u64,
        lock_file: LockFile,
        (membership, pid_namespace): (Membership, u64),
        storage: Arc<dyn Storage>,
        page_size: usize,
    ) -> Self {
        Self {
            page_size,
            epoch,
            generation: Generation::current(),
            region,
            lock_file,
            membership,
            pid_namespace,
            storage,
            looked: Mutex::default(),
        }
    }

    /// The owner of blocks of slots.
    pub(super) fn owner(&self) -> u64 {
        self.me().into()
    }

    /// What this process marks locks with.
    pub(super) fn me(&self) -> u32 {
        self.membership.token()
    }

    /// The id of the process that owns a block of slots, if it is known in this PID namespace.
    pub(super) fn process_of(&self, owner: u64) -> Option<u32> {
        let token = u32::try_from(owner).ok()?;
        (self.region.processes).process(token, self.pid_namespace)
    }

    /// Whether others have declared this process dead, although it lives: something in this process, or a system without
    /// locks of open file descriptions, has let go of its locks. What it had in the shared memory is another one's by now.
    #[inline]
    pub(super) fn is_evicted(&self) -> bool {
        !self.region.processes.is_current(self.membership)
    }

    /// Takes the state for this process, as all of them have it; `false` if there is nothing to be given back, since this is a
    /// child of the process.
    pub(super) fn take_state(&self, state: &mut State) -> bool {
        if self.generation.is_past() {
            return false;
        }
        let taken = self.take(&self.region.state);
        if self.is_ousted() {
            state.forget_foreign_target();
            state.fail_elsewhere();
            state.is_given_back = false;
            return true;
        }
        if !(state.is_given_back && taken == Taken::Again) {
            state.take_words(&self.region.load_state());
            state.is_given_back = true;
        }
        if taken == Taken::FromTheDead {
            self.look_for_newer(state);
            state.is_given_back = false;
        }
        if self.region.has_failed() {
            state.fail_elsewhere();
        }
        true
    }

    /// What a process is told that was declared dead.
    #[cold]
    pub(super) fn evicted(&self) -> Error {
        if self.region.is_lost() {
            return Error::io("reading the lock file")(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "somebody has cut it short, or its disk does not give it; nothing was written since; close the database and open it again",
            ))
            .at(self.lock_file.path());
        }
        Error::LocksLost(self.lock_file.path().to_path_buf())
    }

    /// Whether another process has recovered the database from a failure since this one opened it, or has declared
    /// this one dead: the state is not this one's any more.
    pub(super) fn is_ousted(&self) -> bool {
        self.region.epoch() != self.epoch || self.is_evicted()
    }

    /// Takes over the state that the processes share.
    pub(super) fn join(&self, state: &mut State) {
        self.take_state(state);
        self.give_back(state);
    }

    /// Gives the state to the others.
    pub(super) fn give_back(&self, state: &mut State) {
        if !state.is_given_back && !self.is_ousted() {
            self.region.store_state(&state.to_words());
            state.is_given_back = true;
        }
        self.release(|region| &region.state);
    }

    /// Gives a lock back.
    pub(super) fn release(&self, lock: impl Fn(&Region) -> &SharedLock) {
        lock(&self.region).give_back(self.me());
        // What this process has lost the others have, perhaps, and wait. What readers pin here stays pinned until they end.
        if self.is_evicted()
            && self.region.is_lost()
            && let Ok(memory) = self.lock_file.map(REGION_HEAD_LEN)
        {
            lock(&Region::new(memory)).abandon(self.me());
        }
    }

    /// Waits for a lock.
    pub(super) fn take(&self, lock: &SharedLock) -> Taken {
        self.try_take(lock, None)
            .expect("without a limit there is no end but the lock")
    }

    /// Waits for a lock, for as long as `limit`.
    pub(super) fn try_take(&self, lock: &SharedLock, limit: Option<Duration>) -> Option<Taken> {
        let is_alive = |process| is_alive(&self.lock_file, &self.region, process);
        lock.take(self.me(), limit, is_alive)
    }

    /// Looks in the file for a commit that is newer than what is known: whoever wrote its record may have died before he could say
    /// so.
    pub(super) fn look_for_newer(&self, state: &mut State) {
        for slot in 0..crate::commit::record::SLOT_COUNT {
            if let Ok(Some(record)) = self.record_in(slot)
                && record.sequence > state.newest.sequence
            {
                state.note_written(Written::of(&record));
            }
        }
    }

    /// The record in a slot, if there is one that can be read.
    pub(super) fn record_in(&self, slot: u8) -> Result<Option<Record>> {
        let mapping = self
            .storage
            .mapping()
            .map_err(Error::io("mapping the file"))?;
        let mut bytes = vec![0; self.page_size];
        let offset = u64::from(slot) * self.page_size as u64;
        if !demanded::copy(&mapping, offset, &mut bytes)? {
            return Ok(None);
        }
        let record = Record::decode(&bytes, slot).ok();
        Ok(record.filter(|record| record.page_size as usize == self.page_size))
    }

    /// Notes that nothing more may be written, by any process. Where only this one has lost its part, others go on.
    pub(super) fn set_failed(&self) {
        if !self.is_evicted() {
            self.region.set_failed();
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.region.has_failed() || self.is_ousted()
    }

    /// Whether something has failed since this process opened the database, so that what it reads has to be compared again.
    #[inline]
    pub(super) fn is_distrusted(&self) -> bool {
        self.region.has_failed_since(self.epoch)
    }

    /// Takes a block of slots for this process; `None` if all are taken.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no room for one.
    pub(super) fn take_block(&self) -> Result<Option<Vec<Slot>>> {
        let table = &self.region.readers;
        let taken = table.take_block(self.owner(), |bytes| self.lock_file.allocate(bytes));
        let refused = Error::io("making room for readers in the lock file");
        taken.map_err(|error| refused(error).at(self.lock_file.path()))
    }

    /// Looks, if nobody has lately, which processes have died, and gives up what they pin.
    pub(super) fn bury_the_dead(&self) {
        let mut looked = lock(&self.looked);
        if looked.is_some_and(|looked| looked.elapsed() < LOOKS_APART) {
            return;
        }
        *looked = Some(Instant::now());
        // With the gate nobody takes the place of a dead process meanwhile.
        if let Some(_gate) = self.lock_file.try_gate() {
            self.give_up_blocks_of_the_dead();
        }
    }

    fn give_up_blocks_of_the_dead(&self) {
        let readers = &self.region.readers;
        // Whoever cannot see all of the table leaves the dead to others.
        for owner in readers.owners().unwrap_or_default() {
            let is_other = owner != self.owner();
            if is_other && !is_alive(&self.lock_file, &self.region, owner as u32) {
                let _ = readers.give_up_blocks(owner);
            }
        }
    }

    /// What is left to others of a process that was killed, for tests in which one process plays several. What it does from then on
    /// comes to nothing.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn die(&self) -> io::Result<()> {
        self.region.die()?;
        self.lock_file.drop_locks();
        Ok(())
    }

    /// Has nothing more to do with the others. The shared memory may end after this.
    pub(super) fn leave(&self, gate: Option<Gate<'_>>) {
        // What cannot be given up now is that of a dead process.
        let _ = self.region.readers.give_up_blocks(self.owner());
        let Some(_gate) = gate else {
            return;
        };
        if matches!(self.lock_file.has_others(), Ok(false)) {
            self.lock_file.remove();
        }
        let is_own = !self.is_evicted();
        self.region.processes.leave(self.membership);
        if is_own {
            self.lock_file.give_up_place(self.membership.place());
        }
    }
}

/// Whether the process with this token lives. One that has lost its lock is declared dead first, so that it sees that if it lives all the same.
pub(super) fn is_alive(lock_file: &LockFile, region: &Region, token: u32) -> bool {
    let Some(suspect) = region.processes.suspect(token) else {
        return false;
    };
    lock_file.is_alive(suspect.place()) || !region.processes.declare_dead(suspect)
}

/// Why the lock file at `lock_path` of the database at `path` was not opened.
pub(super) fn not_opened(error: io::Error, lock_path: &Path, path: &Path) -> Error {
    match error.kind() {
        io::ErrorKind::ResourceBusy => Error::InUse(path.to_path_buf()),
        // The engine's own, with the reason; the system's have a number.
        io::ErrorKind::InvalidInput if error.raw_os_error().is_none() => Error::NotALockFile {
            path: lock_path.to_path_buf(),
            reason: error.to_string(),
        },
        _ => lock_file_error(error).at(lock_path),
    }
}

/// What went wrong with the lock file.
pub(super) fn lock_file_error(error: io::Error) -> Error {
    Error::io(OPENING)(error)
}

const OPENING: &str = "opening the lock file";

/// Whether a database was not opened since there can be no lock file: the disk has no block for one.
pub(super) fn is_lack_of_lock_file(error: &Error) -> bool {
    matches!(error, Error::Io { operation: OPENING, source, .. } if is_full(source))
}
