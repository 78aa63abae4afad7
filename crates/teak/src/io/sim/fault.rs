//! Planned failures of calls.

use crate::{io::Failure, planted::planted};
use std::{collections::BTreeMap, io};

/// A kind of call to the disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Call {
    /// Writes bytes.
    Write,
    /// Writes bytes, and waits until they are on the disk.
    WriteThrough,
    /// Grows or truncates the file.
    SetLen,
    /// Allocates blocks for a hole.
    Allocate,
    /// Gives blocks back.
    Punch,
    /// Flushes everything that was written.
    Flush,
    /// Maps the file for reading.
    Mapping,
    /// Maps the file for writing.
    Writable,
    /// Creates a write-ahead log.
    LogCreate,
    /// Makes room in the log.
    LogFill,
    /// Writes bytes of the log.
    LogWrite,
    /// Writes blocks of the log past the cache, and waits until they are on the disk.
    LogWriteDirect,
    /// Flushes the log or its name.
    LogFlush,
}

/// How a call fails: it returns this error and changes nothing, unless it is a partial write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The system's error number; `ENOSPC` is 28 on Linux.
    pub errno: i32,
    /// Whether all later calls fail too.
    pub sticky: bool,
    /// Number of later calls that fail too, unless all of them do.
    pub more: u64,
    /// Whether only later calls of the same kind fail.
    pub same_kind: bool,
    /// The share of the bytes that a failing write has written, in parts of 256.
    pub written: u8,
}

impl Fault {
    /// The disk is full.
    pub const DISK_FULL: Self = Self::once(Failure::DiskFull.code());
    /// The disk could not read or write.
    pub const DISK_ERROR: Self = Self::once(Failure::DiskFailed.code());

    /// One call fails.
    #[must_use]
    pub const fn once(errno: i32) -> Self {
        Self {
            errno,
            sticky: false,
            more: 0,
            same_kind: false,
            written: 0,
        }
    }

    /// Makes all later calls fail too.
    #[must_use]
    pub const fn for_ever(self) -> Self {
        Self {
            sticky: true,
            ..self
        }
    }

    /// Makes this many later calls fail too; after that the disk works again.
    #[must_use]
    pub const fn and_more(self, calls: u64) -> Self {
        Self {
            more: calls,
            ..self
        }
    }

    /// After the first call, only calls of its kind fail.
    #[must_use]
    pub const fn of_one_kind(self) -> Self {
        Self {
            same_kind: true,
            ..self
        }
    }

    /// Failing writes have written a share of their bytes, in parts of 256.
    #[must_use]
    pub const fn cut_short(self, written: u8) -> Self {
        Self { written, ..self }
    }

    pub(super) fn to_error(self) -> io::Error {
        planted!(HideCode => return Failure::DiskFailed.error());
        io::Error::from_raw_os_error(self.errno)
    }

    /// Number of bytes that a failing write of `len` bytes has written.
    pub(super) fn written_of(self, len: usize) -> usize {
        len * usize::from(self.written) / 256
    }
}

/// Counts calls and makes the planned ones fail.
#[derive(Debug, Default)]
pub(super) struct FaultPlan {
    calls: Vec<Call>,
    /// Indices of the calls that failed.
    failed: Vec<u64>,
    planned: BTreeMap<u64, Fault>,
    repeated: Option<RepeatedFault>,
}

/// A fault that continues with later calls.
#[derive(Debug)]
struct RepeatedFault {
    fault: Fault,
    first: Call,
    left: u64,
}

impl RepeatedFault {
    fn strikes(&self, call: Call) -> bool {
        (self.fault.sticky || self.left > 0) && (!self.fault.same_kind || call == self.first)
    }
}

impl FaultPlan {
    pub(super) fn plan(&mut self, call_index: u64, fault: Fault) {
        self.planned.insert(call_index, fault);
    }

    pub(super) fn heal(&mut self) {
        self.planned.clear();
        self.repeated = None;
    }

    pub(super) fn calls(&self) -> &[Call] {
        &self.calls
    }

    pub(super) fn failed(&self) -> &[u64] {
        &self.failed
    }

    /// Counts a call. Returns its fault if it has to fail.
    pub(super) fn count(&mut self, call: Call) -> Option<Fault> {
        let index = self.calls.len() as u64;
        self.calls.push(call);
        let planned = self.planned.get(&index).copied();
        if let Some(fault) = planned {
            self.repeated = Some(RepeatedFault {
                fault,
                first: call,
                left: fault.more,
            });
        }
        let fault = planned.or_else(|| {
            let repeated = self.repeated.as_mut().filter(|last| last.strikes(call))?;
            repeated.left = repeated.left.saturating_sub(1);
            Some(repeated.fault)
        });
        self.failed.extend(fault.map(|_| index));
        fault
    }

    /// Counts a call that either changes nothing or succeeds.
    pub(super) fn count_call(&mut self, call: Call) -> io::Result<()> {
        self.count(call)
            .map_or(Ok(()), |fault| Err(fault.to_error()))
    }
}
