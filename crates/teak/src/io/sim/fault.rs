//! Calls that fail when told to.

use std::{collections::BTreeMap, io};

/// What is asked of a disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Call {
    /// Bytes are written.
    Write,
    /// Bytes are written, and are to reach the disk before anything else is done.
    WriteThrough,
    /// The file is made longer or shorter.
    SetLen,
    /// A hole gets blocks.
    Allocate,
    /// Blocks are given back.
    Punch,
    /// All that was written is to reach the disk.
    Flush,
    /// The file is mapped for reading.
    Mapping,
    /// The file is mapped for writing.
    Writable,
}

/// How a call fails: it changes nothing, unless it is a write that is cut short, and returns this
/// error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The error number of the system, as `ENOSPC` is 28 on Linux.
    pub errno: i32,
    /// Whether all calls behind this one fail too.
    pub sticky: bool,
    /// How many calls behind this one fail too, if not all of them do.
    pub more: u64,
    /// Whether, of the calls behind this one, only those of the same kind fail.
    pub same_kind: bool,
    /// Of a write that fails, this share of the bytes was written, in parts of 256.
    pub written: u8,
}

impl Fault {
    /// There is no space left on the disk.
    pub const DISK_FULL: Self = Self::once(libc::ENOSPC);
    /// The disk could not read or write.
    pub const DISK_ERROR: Self = Self::once(libc::EIO);

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

    /// The same fault for all calls behind the first one, too.
    #[must_use]
    pub const fn for_ever(self) -> Self {
        Self {
            sticky: true,
            ..self
        }
    }

    /// The same fault for so many calls behind the first one, too; then the disk works again.
    #[must_use]
    pub const fn and_more(self, calls: u64) -> Self {
        Self {
            more: calls,
            ..self
        }
    }

    /// Behind the first call, only calls of its kind fail.
    #[must_use]
    pub const fn of_one_kind(self) -> Self {
        Self {
            same_kind: true,
            ..self
        }
    }

    /// Writes that fail have written some of their bytes, in parts of 256.
    #[must_use]
    pub const fn cut_short(self, written: u8) -> Self {
        Self { written, ..self }
    }

    pub(super) fn to_error(self) -> io::Error {
        io::Error::from_raw_os_error(self.errno)
    }

    /// How many of `len` bytes a write that fails has written.
    pub(super) fn written_of(self, len: usize) -> usize {
        len * usize::from(self.written) / 256
    }
}

/// Counts calls and lets those fail that are to fail.
#[derive(Debug, Default)]
pub(super) struct FaultPlan {
    calls: Vec<Call>,
    /// The calls that failed, by their index.
    failed: Vec<u64>,
    planned: BTreeMap<u64, Fault>,
    repeated: Option<RepeatedFault>,
}

/// A fault that goes on.
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

    /// Counts a call; the fault that it meets, if it is to fail.
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

    /// Counts a call that either changes nothing or is done.
    pub(super) fn count_call(&mut self, call: Call) -> io::Result<()> {
        self.count(call)
            .map_or(Ok(()), |fault| Err(fault.to_error()))
    }
}
