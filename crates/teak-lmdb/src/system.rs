//! The differences of operating systems: types of the interface, files that clients get, errors.
//! `Mode`, the permissions of new files, is `mdb_mode_t`, and `FileHandle` is `mdb_filehandle_t`.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;
#[cfg(unix)]
pub use {libc::mode_t as Mode, std::os::fd::RawFd as FileHandle};
#[cfg(windows)]
pub use {std::ffi::c_ushort as Mode, std::os::windows::io::RawHandle as FileHandle};
