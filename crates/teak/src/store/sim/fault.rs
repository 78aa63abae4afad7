//! Calls that fail when told to.

use std::{collections::BTreeMap, io};

/// How a call fails: it changes nothing and returns this error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The error number of the system, as `ENOSPC` is 28 on Linux.
    pub errno: i32,
    /// Whether all calls behind this one fail too.
    pub sticky: bool,
}

impl Fault {
    /// There is no space left on the disk.
    pub const DISK_FULL: Self = Self {
        errno: libc::ENOSPC,
        sticky: false,
    };
    /// The disk could not read or write.
    pub const DISK_ERROR: Self = Self {
        errno: libc::EIO,
        sticky: false,
    };

    /// The same fault for all calls behind the first one, too.
    #[must_use]
    pub const fn for_ever(self) -> Self {
        Self {
            sticky: true,
            ..self
        }
    }

    pub(super) fn to_error(self) -> io::Error {
        io::Error::from_raw_os_error(self.errno)
    }
}

/// Counts calls and lets those fail that are to fail.
#[derive(Debug, Default)]
pub(super) struct Faults {
    calls: u64,
    planned: BTreeMap<u64, Fault>,
    lasting: Option<Fault>,
}

impl Faults {
    pub(super) fn plan(&mut self, call_index: u64, fault: Fault) {
        self.planned.insert(call_index, fault);
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    pub(super) fn count_call(&mut self) -> io::Result<()> {
        let fault = self.planned.get(&self.calls).copied().or(self.lasting);
        self.calls += 1;
        let Some(fault) = fault else { return Ok(()) };
        if fault.sticky {
            self.lasting = Some(fault);
        }
        Err(fault.to_error())
    }
}
