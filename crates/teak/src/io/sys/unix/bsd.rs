//! Calls that FreeBSD and Apple's systems share.

use rustix::fs::statfs;
use std::{ffi::CStr, path::Path, ptr};

/// A value of the system by its name, as bytes.
pub(in crate::io::sys) fn system_value(name: &CStr) -> Option<Vec<u8>> {
    let mut value = vec![0; 64];
    let mut len = value.len();
    // SAFETY: the name ends with a zero byte, the buffer has that length, and nothing is set.
    let answer = unsafe {
        let buffer = value.as_mut_ptr().cast();
        libc::sysctlbyname(name.as_ptr(), buffer, &raw mut len, ptr::null_mut(), 0)
    };
    value.truncate(len);
    (answer == 0).then_some(value)
}

/// Whether something is on a network file system. Unknown cases count as local.
pub(crate) fn is_on_network(existing: &Path) -> bool {
    #[allow(clippy::unnecessary_cast)] // The types differ between systems.
    statfs(existing).is_ok_and(|found| found.f_flags as u64 & libc::MNT_LOCAL as u64 == 0)
}
