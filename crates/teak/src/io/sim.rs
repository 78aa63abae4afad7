//! The simulated disk: a file in heap memory that records every operation, fails on request, and
//! can produce any state that a crash could have left.
//!
//! It behaves as Linux does with a file. Written bytes are visible at once through mappings, and
//! are on the disk after a successful flush that began later. A failed flush leaves its pages
//! marked as clean: they are not on the disk, and no later flush writes them unless they are
//! written again.
//!
//! A flush takes time: it begins and ends, and other calls may come between, including other
//! flushes. Bytes written meanwhile may or may not reach the disk. No lock is held while a flush
//! runs, and [`on_flush`](SimDisk::on_flush) lets a test act during that time.
//!
//! Bytes changed through a [`WritableExtent`](super::WritableExtent) count as written at the time
//! of [`mark_written`](super::Storage::mark_written).

mod crash;
mod event;
mod fault;
mod log;

pub use crash::{CrashPoints, OpenBlock};
pub use event::DiskEvent;
pub use fault::{Call, Fault};

use super::{
    address_range::AddressRange,
    log_storage::LogLocation,
    mapping::Mapping,
    mutex::lock,
    ranges::Ranges,
    storage::{Storage, end_within},
    writable::{Claims, WritableMapping},
};
use crate::planted::planted;
use crash::BlockLayout;
use fault::FaultPlan;
use log::SimLog;
use std::{
    collections::BTreeSet,
    fmt,
    io::{self, IoSlice},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

/// A disk with one file on it. Clones are handles of the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk {
    inner: Arc<SimDiskInner>,
    /// The process that has this handle.
    process: u64,
}

#[derive(Debug)]
struct SimDiskInner {
    address_range: Arc<AddressRange>,
    mapping: Arc<Mapping>,
    writable: Arc<WritableMapping>,
    claims: Arc<Claims>,
    state: Mutex<SimDiskState>,
    on_flush: Mutex<Option<FlushHook>>,
    /// Number of calls of `begin_write_back`.
    write_backs: AtomicU64,
}

/// The hook that is called while a flush runs.
#[derive(Clone)]
struct FlushHook(Arc<dyn Fn() + Send + Sync>);

#[derive(Debug)]
struct SimDiskState {
    len: u64,
    /// Content of the disk before the first event.
    initial: Arc<Vec<u8>>,
    /// `None` if databases on this disk have no log.
    log: Option<SimLog>,
    events: Vec<Arc<DiskEvent>>,
    /// Bytes that have no blocks since they were given back.
    holes: Ranges,
    faults: FaultPlan,
    processes: SimProcesses,
}

/// The simulated processes that have handles.
#[derive(Default, Debug)]
struct SimProcesses {
    /// Number of processes, without the first.
    count: u64,
    /// Processes that were killed: their handles have no effect any more.
    killed: BTreeSet<u64>,
    /// Processes to be killed later.
    scheduled_kills: Vec<ScheduledKill>,
}

/// A process to be killed later.
struct ScheduledKill {
    process: u64,
    /// Number of calls that it still makes.
    calls_left: u64,
    then: Box<dyn FnOnce() + Send>,
}

impl fmt::Debug for ScheduledKill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduledKill")
            .field("process", &self.process)
            .field("calls_left", &self.calls_left)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for FlushHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FlushHook")
    }
}

impl SimDisk {
    /// Creates a disk with an empty file, which can grow to `capacity_bytes`. Memory is used as the
    /// file grows.
    #[must_use]
    pub fn new(capacity_bytes: usize) -> Self {
        Self::from_image(Vec::new(), capacity_bytes)
    }

    /// Creates a disk whose file has the content `image`, all of it on the disk. The file can grow
    /// to `capacity_bytes`, or to the length of the image if that is more.
    #[must_use]
    pub fn from_image(image: Vec<u8>, capacity_bytes: usize) -> Self {
        let disk = Self::with_memory(&image, capacity_bytes);
        lock(&disk.inner.state).initial = Arc::new(image);
        disk
    }

    /// Returns the disk after the process was killed now, while the machine keeps running. The file
    /// is as written, including writes through writable extents that were not marked yet. Bytes
    /// that are not certainly on the disk have the same possible states as here. Later operations
    /// on this disk do not affect the new one. Planned faults and the hook are not copied. No
    /// thread may be writing to an extent meanwhile.
    #[must_use]
    pub fn after_kill(&self) -> Self {
        let capacity_bytes = self.inner.address_range.len() as usize;
        self.after_kill_with(
            (&self.process_crash(), &self.log()),
            usize::MAX,
            capacity_bytes,
        )
    }

    /// Like [`after_kill`](Self::after_kill), with the process killed at this point of a walk
    /// through the events of this disk. The file can grow to `capacity_bytes`.
    #[must_use]
    pub fn after_kill_at(&self, point: &CrashPoints, capacity_bytes: usize) -> Self {
        let log = point.log().map_or(&[][..], CrashPoints::memory);
        let files = (point.memory(), log);
        self.after_kill_with(files, point.event_index(), capacity_bytes)
    }

    fn after_kill_with(
        &self,
        (memory, log): (&[u8], &[u8]),
        event_count: usize,
        capacity_bytes: usize,
    ) -> Self {
        let disk = Self::with_memory(memory, capacity_bytes);
        let from = lock(&self.inner.state);
        let mut to = lock(&disk.inner.state);
        to.initial = Arc::clone(&from.initial);
        to.log = from.log.as_ref().map(|from| SimLog {
            initial: Arc::clone(&from.initial),
            content: log.to_vec(),
            cached: from.cached.clone(),
        });
        let event_count = event_count.min(from.events.len());
        to.events = from.events[..event_count].to_vec();
        drop(to);
        disk
    }

    /// A disk whose file has this content, of which nothing is known to be on the disk.
    fn with_memory(memory: &[u8], capacity_bytes: usize) -> Self {
        let address_range = AddressRange::zeroed(capacity_bytes.max(memory.len()));
        let address_range = Arc::new(address_range.expect("memory for the simulated disk"));
        let len = memory.len() as u64;
        let claims = Arc::new(Claims::default());
        claims.set_file_len(len).expect("nobody has an extent yet");
        let writable = Arc::new(WritableMapping::new(
            Arc::clone(&address_range),
            Arc::clone(&claims),
        ));
        // Through an extent, which is much faster than storing next to readers.
        // SAFETY: nobody has the disk yet.
        if let Some(mut extent) = unsafe { writable.extent(0, memory.len()) } {
            extent.copy_from_slice(memory);
        }
        let inner = SimDiskInner {
            mapping: Arc::new(Mapping::new(Arc::clone(&address_range), len)),
            writable,
            address_range,
            claims,
            state: Mutex::new(SimDiskState {
                len,
                initial: Arc::default(),
                log: None,
                events: Vec::new(),
                holes: Ranges::default(),
                faults: FaultPlan::default(),
                processes: SimProcesses::default(),
            }),
            on_flush: Mutex::default(),
            write_backs: AtomicU64::new(0),
        };
        Self {
            inner: Arc::new(inner),
            process: 0,
        }
    }

    /// Calls `hook` in each flush of the file, after its begin and before its end, on the flushing
    /// thread and without a lock of the disk. The hook may do anything to the disk, and a flush of
    /// its own calls it again. Replaces the previous hook.
    pub fn on_flush(&self, hook: impl Fn() + Send + Sync + 'static) {
        *lock(&self.inner.on_flush) = Some(FlushHook(Arc::new(hook)));
    }

    /// Removes the hook of flushes.
    pub fn forget_on_flush(&self) {
        *lock(&self.inner.on_flush) = None;
    }

    /// Makes the call with this index fail, counted from 0 as [`calls`](Self::calls) does.
    pub fn fail_on(&self, call_index: u64, fault: Fault) {
        lock(&self.inner.state).faults.plan(call_index, fault);
    }

    /// Removes all planned faults.
    pub fn heal(&self) {
        lock(&self.inner.state).faults.heal();
    }

    /// Number of calls, including failed ones.
    #[must_use]
    pub fn calls(&self) -> u64 {
        lock(&self.inner.state).faults.calls().len() as u64
    }

    /// Number of requests to begin writing back, which promise nothing.
    #[cfg(test)]
    pub(crate) fn write_back_count(&self) -> u64 {
        self.inner.write_backs.load(Ordering::Relaxed)
    }

    /// The kinds of all calls, including failed ones.
    #[must_use]
    pub fn call_kinds(&self) -> Vec<Call> {
        lock(&self.inner.state).faults.calls().to_vec()
    }

    /// The calls that failed as planned, after the first `known` of them.
    #[must_use]
    pub fn failed_calls(&self, known: usize) -> Vec<Call> {
        let state = lock(&self.inner.state);
        let (failed, calls) = (state.faults.failed(), state.faults.calls());
        let new = failed.get(known..).unwrap_or_default();
        new.iter().map(|index| calls[*index as usize]).collect()
    }

    /// Kills the process that has this handle. The handle and its clones have no effect any more.
    /// Returns the handle of the next process, which finds everything that was written.
    #[must_use]
    pub fn kill(&self) -> Self {
        lock(&self.inner.state).processes.kill(self.process);
        self.for_another()
    }

    /// Returns a handle for another process that uses the same file.
    #[must_use]
    pub fn for_another(&self) -> Self {
        let processes = &mut lock(&self.inner.state).processes;
        processes.count += 1;
        Self {
            inner: Arc::clone(&self.inner),
            process: processes.count,
        }
    }

    /// Kills the process that has this handle at the call after the next `calls` calls that can
    /// fail. That call has no effect. `then` is called at that time, with the disk locked. Replaces
    /// an earlier plan for this process.
    pub fn kill_after(&self, calls: u64, then: impl FnOnce() + Send + 'static) {
        let processes = &mut lock(&self.inner.state).processes;
        processes.forget_death(self.process);
        processes.scheduled_kills.push(ScheduledKill {
            process: self.process,
            calls_left: calls,
            then: Box::new(then),
        });
    }

    /// Whether the process that has this handle was killed.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        let state = lock(&self.inner.state);
        state.processes.killed.contains(&self.process)
    }

    /// Locks the state of the disk for a call of a live process.
    fn state(&self) -> io::Result<MutexGuard<'_, SimDiskState>> {
        let mut state = lock(&self.inner.state);
        state.processes.note_call(self.process);
        self.refuse_killed(&state)?;
        Ok(state)
    }

    fn refuse_killed(&self, state: &SimDiskState) -> io::Result<()> {
        match state.processes.killed.contains(&self.process) {
            true => Err(io::Error::other("the process was killed")),
            false => Ok(()),
        }
    }

    /// Notes the end of a call that waited for the disk, unless its process was killed meanwhile.
    fn end_call(&self, event: DiskEvent) -> io::Result<()> {
        let mut state = lock(&self.inner.state);
        self.refuse_killed(&state)?;
        state.events.push(Arc::new(event));
        Ok(())
    }

    /// Number of events: a crash can be taken at any index up to this one.
    #[must_use]
    pub fn event_count(&self) -> usize {
        lock(&self.inner.state).events.len()
    }

    /// The events, in order.
    #[must_use]
    pub fn events(&self) -> Vec<Arc<DiskEvent>> {
        lock(&self.inner.state).events.clone()
    }

    /// A walk through the events so far, with the crashes possible at each, in blocks of
    /// `granularity_bytes`: see [`CrashPoints`].
    ///
    /// # Panics
    ///
    /// If the granularity is not a power of two of at most 4096.
    #[must_use]
    pub fn crash_points(&self, granularity_bytes: usize) -> CrashPoints {
        self.crash_points_mixed(0, granularity_bytes, granularity_bytes)
    }

    /// Like [`crash_points`](Self::crash_points), with blocks of `head_granularity_bytes` in the
    /// first `head_len` bytes of the file.
    ///
    /// # Panics
    ///
    /// If a granularity is not a power of two of at most 4096, or `head_len` is not a multiple of
    /// 4096.
    #[must_use]
    pub fn crash_points_mixed(
        &self,
        head_len: u64,
        head_granularity_bytes: usize,
        granularity_bytes: usize,
    ) -> CrashPoints {
        let state = lock(&self.inner.state);
        CrashPoints::new(
            Arc::clone(&state.initial),
            state.log.as_ref().map(|log| Arc::clone(&log.initial)),
            state.events.clone(),
            BlockLayout::new(head_len, head_granularity_bytes, granularity_bytes),
        )
    }

    /// A possible content of the disk if the power fails now: see [`CrashPoints::power_cut`].
    ///
    /// # Panics
    ///
    /// If the granularity is not a power of two of at most 4096.
    pub fn power_cut(
        &self,
        choice: &mut dyn FnMut(usize) -> usize,
        granularity_bytes: usize,
    ) -> Vec<u8> {
        self.power_cut_at(self.event_count(), choice, granularity_bytes)
    }

    /// A possible content of the disk if the power had failed after the first `event_index` events.
    /// For many of these, walk through [`crash_points`](Self::crash_points) instead.
    ///
    /// # Panics
    ///
    /// If the granularity is not a power of two of at most 4096.
    pub fn power_cut_at(
        &self,
        event_index: usize,
        choice: &mut dyn FnMut(usize) -> usize,
        granularity_bytes: usize,
    ) -> Vec<u8> {
        let mut points = self.crash_points(granularity_bytes);
        while points.event_index() < event_index && points.advance().is_some() {}
        points.power_cut(choice)
    }

    /// The file after the process was killed now: everything written is there, including writes
    /// through writable extents that were not marked yet. No thread may be writing to an extent
    /// meanwhile.
    #[must_use]
    pub fn process_crash(&self) -> Vec<u8> {
        let state = lock(&self.inner.state);
        let mut image = vec![0; state.len as usize];
        assert!(
            self.inner.mapping.copy(0, &mut image),
            "the mapping covers the file"
        );
        image
    }

    /// Calls the hook for the time while the disk is busy.
    fn call_hook(&self) {
        let hook = lock(&self.inner.on_flush).clone();
        if let Some(FlushHook(hook)) = hook {
            hook();
        }
    }

    fn set_len_locked(&self, state: &mut SimDiskState, bytes: u64) -> io::Result<()> {
        if bytes > self.inner.address_range.len() {
            return Err(Fault::DISK_FULL.to_error());
        }
        if bytes == state.len {
            return Ok(());
        }
        if bytes < state.len {
            let cut_len = (state.len - bytes) as usize;
            // SAFETY: no state has pages where the file is cut.
            let cut = unsafe { self.inner.writable.extent(bytes, cut_len) };
            // `None` if there is a live extent, which is an error below.
            if let Some(mut cut) = cut {
                cut.fill(0);
            }
        }
        self.inner.claims.set_file_len(bytes)?;
        self.inner.mapping.set_file_len(bytes);
        state.len = bytes;
        state.holes.remove(bytes..u64::MAX);
        state.events.push(Arc::new(DiskEvent::SetLen { bytes }));
        Ok(())
    }

    /// Flushes the file, or the log without calling the hook, or fails as planned.
    fn flush_once(&self, call: Call) -> io::Result<()> {
        let of_file = |event: DiskEvent| match call {
            Call::LogFlush => event.of_log(),
            _ => event,
        };
        let (result, began) = {
            let mut state = self.state()?;
            let result = state.faults.count_call(call);
            state.events.push(Arc::new(of_file(DiskEvent::Flush)));
            (result, state.events.len() - 1)
        };
        if call == Call::Flush {
            self.call_hook();
        }
        let event = match result {
            Ok(()) => DiskEvent::FlushEnded { began },
            Err(_) => DiskEvent::FlushFailed { began },
        };
        self.end_call(of_file(event))?;
        result
    }
}

impl Storage for SimDisk {
    fn log_location(&self) -> Option<Arc<dyn LogLocation>> {
        self.location_of_log()
    }

    fn len(&self) -> u64 {
        lock(&self.inner.state).len
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.state()?;
        state.faults.count_call(Call::SetLen)?;
        self.set_len_locked(&mut state, bytes)
    }

    fn write(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let mut state = self.state()?;
        let fault = state.faults.count(Call::Write);
        let slices: Vec<&[u8]> = parts.iter().map(|part| &**part).collect();
        let mut bytes = slices.concat();
        end_within(offset, bytes.len() as u64, state.len)?;
        if let Some(fault) = fault {
            bytes.truncate(fault.written_of(bytes.len()));
        }
        self.inner.address_range.store(offset, &bytes);
        state.holes.remove(offset..offset + bytes.len() as u64);
        state.record_write(offset, bytes);
        planted!(IgnoreWriteError => return Ok(()));
        fault.map_or(Ok(()), |fault| Err(fault.to_error()))
    }

    fn begin_write_back(&self) {
        self.inner.write_backs.fetch_add(1, Ordering::Relaxed);
    }

    fn write_through(&self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        planted!(EntryUnsynced => return self.write(offset, &[IoSlice::new(bytes)]).map(|()| true));
        let (fault, began) = {
            let mut state = self.state()?;
            let fault = state.faults.count(Call::WriteThrough);
            end_within(offset, bytes.len() as u64, state.len)?;
            let written = fault.map_or(bytes.len(), |fault| fault.written_of(bytes.len()));
            self.inner.address_range.store(offset, &bytes[..written]);
            state.record_write(offset, bytes[..written].to_vec());
            if fault.is_some() {
                state.events.push(Arc::new(DiskEvent::Flush));
            }
            (fault, state.events.len().saturating_sub(1))
        };
        self.call_hook();
        let event = match fault {
            None => DiskEvent::Synced {
                offset,
                len: bytes.len() as u64,
            },
            Some(_) => DiskEvent::FlushFailed { began },
        };
        self.end_call(event)?;
        fault.map_or(Ok(true), |fault| Err(fault.to_error()))
    }

    fn flush(&self) -> io::Result<()> {
        planted!(SkipFlush => return Ok(()));
        let flushed = self.flush_once(Call::Flush);
        planted!(RetryFlush => return flushed.or_else(|_| self.flush_once(Call::Flush)));
        planted!(IgnoreFlushError => return Ok(()));
        flushed
    }

    fn mapping(&self) -> io::Result<Arc<Mapping>> {
        self.state()?.faults.count_call(Call::Mapping)?;
        Ok(Arc::clone(&self.inner.mapping))
    }

    fn secure(&self, offset: u64, len: u64) -> io::Result<bool> {
        let mut state = self.state()?;
        let end = end_within(offset, len, state.len)?;
        if state.holes.touches(&(offset..end)) {
            state.faults.count_call(Call::Allocate)?;
            state.holes.remove(offset..end);
        }
        Ok(true)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<bool> {
        let mut state = self.state()?;
        let end = end_within(offset, len, state.len)?;
        state.faults.count_call(Call::Punch)?;
        self.inner
            .address_range
            .store(offset, &vec![0; len as usize]);
        state.holes.insert(offset..end);
        state
            .events
            .push(Arc::new(DiskEvent::Punch { offset, len }));
        Ok(true)
    }

    fn writable(&self) -> io::Result<Option<Arc<WritableMapping>>> {
        self.state()?.faults.count_call(Call::Writable)?;
        Ok(Some(Arc::clone(&self.inner.writable)))
    }

    /// Bytes after the end of the file are not recorded.
    fn mark_written(&self, offset: u64, len: u64) {
        let mut state = lock(&self.inner.state);
        if self.refuse_killed(&state).is_err() {
            return;
        }
        let end = offset.saturating_add(len).min(state.len);
        let mut bytes = vec![0; end.saturating_sub(offset) as usize];
        if self.inner.mapping.copy(offset, &mut bytes) {
            state.record_write(offset, bytes);
        }
    }
}

impl SimProcesses {
    fn kill(&mut self, process: u64) {
        self.forget_death(process);
        self.killed.insert(process);
    }

    fn forget_death(&mut self, process: u64) {
        self.scheduled_kills
            .retain(|death| death.process != process);
    }

    /// Counts a call of a process, which may be its last.
    fn note_call(&mut self, process: u64) {
        let mut scheduled_kills = self.scheduled_kills.iter_mut();
        let Some(index) = scheduled_kills.position(|death| death.process == process) else {
            return;
        };
        match self.scheduled_kills[index].calls_left.checked_sub(1) {
            Some(left) => self.scheduled_kills[index].calls_left = left,
            None => {
                let death = self.scheduled_kills.swap_remove(index);
                self.killed.insert(process);
                (death.then)();
            }
        }
    }
}

impl SimDiskState {
    fn record_write(&mut self, offset: u64, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.events
                .push(Arc::new(DiskEvent::Write { offset, bytes }));
        }
    }
}

#[cfg(test)]
mod tests;
