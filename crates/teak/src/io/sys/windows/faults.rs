//! Accesses to mapped files that fail.

use super::{check, sections};
use crate::io::sys::types::Access;
use std::{io, sync::OnceLock};
use windows_sys::Win32::{
    Foundation::{EXCEPTION_ACCESS_VIOLATION, EXCEPTION_IN_PAGE_ERROR},
    System::Diagnostics::Debug::{
        AddVectoredExceptionHandler, EXCEPTION_CONTINUE_EXECUTION, EXCEPTION_CONTINUE_SEARCH,
        EXCEPTION_POINTERS,
    },
};

/// Asked for the address of an access that failed.
static ABSORB: OnceLock<fn(usize) -> bool> = OnceLock::new();

/// Has `absorb` asked, once and for all, when an access to a mapped file fails. If it returns
/// `true`, the access is repeated.
pub(crate) fn catch_faults(absorb: fn(usize) -> bool) -> io::Result<()> {
    if ABSORB.set(absorb).is_err() {
        return Ok(());
    }
    // SAFETY: the handler has the right type. It touches no mapped file.
    let handle = unsafe { AddVectoredExceptionHandler(1, Some(on_exception)) };
    check((!handle.is_null()).into())
}

/// Of the information about both exceptions: the first number is one of these for an access that
/// reads or writes, and the second one is the address.
const READS: usize = 0;
const WRITES: usize = 1;

unsafe extern "system" fn on_exception(pointers: *mut EXCEPTION_POINTERS) -> i32 {
    // SAFETY: the system calls a handler with valid information.
    let record = unsafe { &*(*pointers).ExceptionRecord };
    let [access, address, ..] = record.ExceptionInformation;
    let absorb = || ABSORB.get().is_some_and(|absorb| absorb(address));
    let is_over = match record.ExceptionCode {
        EXCEPTION_IN_PAGE_ERROR => absorb(),
        EXCEPTION_ACCESS_VIOLATION => {
            let shown = match access {
                READS => sections::is_shown(address, Access::ReadOnly),
                WRITES => sections::is_shown(address, Access::ReadWrite),
                _ => None,
            };
            match shown {
                // Another thread was just replacing what is mapped there.
                Some(true) => true,
                // Another thread failed to replace it.
                Some(false) => absorb(),
                None => false,
            }
        }
        _ => false,
    };
    match is_over {
        true => EXCEPTION_CONTINUE_EXECUTION,
        false => EXCEPTION_CONTINUE_SEARCH,
    }
}
