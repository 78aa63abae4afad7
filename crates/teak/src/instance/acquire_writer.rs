//! Acquiring the writer lock, and the writer's state.

use crate::{Error, Result, share::WriterLockGuard};
use crate::{
    instance::{
        engine::Engine, held_writer_lock::HeldWriterLock, writer::WriterState,
        writer_permit::WriterPermit,
    },
    observe::events::Event,
    process::writer_lock::Acquisition,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

impl Engine {
    /// Waits for the writer lock without a limit.
    #[cfg(test)]
    pub(crate) fn acquire_writer(&self) -> Result<HeldWriterLock> {
        let writer_lock = self.try_acquire_writer(None)?;
        Ok(writer_lock.expect("without a limit the lock is always acquired"))
    }

    /// Waits for the writer lock, and for the writer's state. Gives up after `limit` and then
    /// returns `None`.
    pub(crate) fn try_acquire_writer(
        &self,
        limit: Option<Duration>,
    ) -> Result<Option<HeldWriterLock>> {
        let Some((permit, entered)) = self.try_enter(limit)? else {
            return Ok(None);
        };
        let mut writer = self.writer_of(permit)?;
        if let Acquisition::Acquired(taken) = entered {
            self.follow(&mut writer, taken)?;
        }
        Ok(Some(writer))
    }

    /// Waits for the writer lock. Gives up after `limit` and then returns `None`. The writer's
    /// state is up to date then.
    pub(crate) fn try_acquire_permit(
        &self,
        limit: Option<Duration>,
    ) -> Result<Option<WriterPermit>> {
        let Some((permit, entered)) = self.try_enter(limit)? else {
            return Ok(None);
        };
        if let Acquisition::Acquired(taken) = entered {
            self.follow(&mut self.take_writer_state()?, taken)?;
        }
        Ok(Some(permit))
    }

    /// The writer's state, for a thread that has the permit.
    pub(crate) fn writer_of(&self, permit: WriterPermit) -> Result<HeldWriterLock> {
        let mut writer = self.take_writer_state()?;
        writer.permit = Some(permit);
        Ok(writer)
    }

    /// Waits for the writer's state, which no other thread keeps for long while this one has the
    /// permit, or a small transaction has.
    pub(crate) fn take_writer_state(&self) -> Result<HeldWriterLock> {
        let writer_lock = self.writer_lock.as_ref().ok_or(Error::ReadOnly)?;
        let guard = writer_lock.take(None);
        Ok(self.held_writer_lock(guard.expect("without a limit the lock is always acquired")))
    }

    /// Waits for the writer lock: first in this process, then across processes. Gives up after
    /// `limit` and then returns `None`. The caller brings the writer's state up to date.
    fn try_enter(&self, limit: Option<Duration>) -> Result<Option<(WriterPermit, Acquisition)>> {
        self.refuse_unwritable()?;
        if limit != Some(Duration::ZERO) && self.permit_lock.is_taken_here() {
            self.committer
                .events
                .note(|| Event::WaitsForItself { limit });
            self.committer.events.deliver();
        }
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let Some(guard) = self.permit_lock.take(limit) else {
            return Ok(None);
        };
        let permit = self.permit(guard);
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let entered = self.committer.process_writer_lock.acquire(left);
        if let Err(refused) = self.refuse_unwritable() {
            // The cross-process lock remembers this process as its last holder, so the writer's
            // state must be read again.
            if entered != Acquisition::StillHeld
                && let Ok(mut writer) = self.take_writer_state()
            {
                writer.is_stale = true;
            }
            self.committer.process_writer_lock.undo(entered);
            return Err(refused);
        }
        Ok((entered != Acquisition::TimedOut).then_some((permit, entered)))
    }

    pub(crate) fn permit(&self, guard: WriterLockGuard<()>) -> WriterPermit {
        WriterPermit::new(guard, self.generation, &self.committer)
    }

    pub(crate) fn held_writer_lock(
        &self,
        writer_lock: WriterLockGuard<WriterState>,
    ) -> HeldWriterLock {
        HeldWriterLock::new(writer_lock, self.generation, Arc::clone(&self.committer))
    }
}
