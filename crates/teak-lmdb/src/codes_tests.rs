//! The error codes match `docs/errors.md`.

use super::Code;
use crate::{messages::mdb_strerror, system};
use std::ffi::CStr;
use teak::testing::{documented, samples};

/// The name of a code.
fn name_of(code: i32) -> String {
    let of_system = match code {
        libc::EIO => "the system's code",
        libc::ENOENT => "ENOENT",
        libc::EEXIST => "EEXIST",
        libc::EBUSY => "EBUSY",
        system::ON_NETWORK => "EREMOTE",
        libc::EACCES => "EACCES",
        libc::ECANCELED => "ECANCELED",
        libc::EINVAL => "EINVAL",
        _ => "",
    };
    if code > 0 {
        return of_system.to_owned();
    }
    // SAFETY: it returns a string.
    let text = unsafe { CStr::from_ptr(mdb_strerror(code)) };
    let text = text.to_str().expect("ASCII");
    text.split(':').next().unwrap_or_default().to_owned()
}

#[test]
fn errors_of_the_engine_have_the_codes_that_are_documented() {
    for (name, error) in samples() {
        assert_eq!(documented(name)[5], name_of(Code::from(error).0), "{name}");
    }
}
