//! How C learns the reason for the failure of a function.

use crate::{
    failure::Failure,
    ffi::{CallResult, Grows, caught, teak_slice},
    teak_code,
};
use std::{ffi::c_char, io, mem::offset_of};

/// The bytes of the message of a teak_error.
pub const TEAK_MESSAGE_LEN: usize = 1024;

/// The details of an error. The caller sets size and passes its address to a function. A function
/// that fails fills in the rest; one that succeeds leaves it alone. The pointer may be NULL if the
/// details are not needed.
///
/// ```c
/// teak_error error = {.size = sizeof error};
/// teak_db db;
/// teak_options options = {.size = sizeof options, .create = TEAK_CREATE_NEVER};
/// assert(teak_db_open("/nowhere", &options, &db, &error) == TEAK_FILE_NOT_FOUND);
/// assert(error.code == TEAK_FILE_NOT_FOUND);
/// puts(error.message);
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct teak_error {
    /// sizeof(teak_error).
    pub size: usize,
    /// The teak_code that the function returned.
    pub code: i32,
    /// With TEAK_IO: the errno of the system; otherwise 0.
    pub system_code: i32,
    /// With TEAK_CORRUPTED: the damaged page; otherwise UINT64_MAX.
    pub page: u64,
    /// With TEAK_HELD_BY_READER: the process of the reader, if it is known; otherwise 0.
    pub process: u32,
    /// Zero.
    pub reserved: u32,
    /// With TEAK_HELD_BY_READER: the system's number of the reader's thread; otherwise 0.
    pub thread: u64,
    /// With TEAK_HELD_BY_READER: the state that the reader sees; with TEAK_SNAPSHOT_STALE: the
    /// newest one; with TEAK_NOT_SORTED: the index of the record in the input, from 0; otherwise 0.
    pub number: u64,
    /// A description and advice, in UTF-8, zero-terminated, and cut off if it does not fit.
    pub message: [c_char; TEAK_MESSAGE_LEN],
}

/// Returns advice about an errno of the system, in UTF-8, in the words of this library's messages.
/// Empty for rare ones. The string lives as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn teak_remedy(system_code: i32) -> teak_slice {
    let remedy = teak::remedy(&io::Error::from_raw_os_error(system_code));
    remedy.map_or(teak_slice::NOTHING, |remedy| {
        teak_slice::new(remedy.as_bytes())
    })
}

impl Failure {
    /// Fills in C's error structure.
    ///
    /// # Safety
    ///
    /// `error` is null or points to a structure of as many bytes as its size says.
    #[cold]
    pub(crate) unsafe fn report(self, error: *mut teak_error) -> teak_code {
        let mut reported = teak_error {
            size: 0,
            code: self.code as i32,
            system_code: self.system_code,
            page: self.page,
            process: self.reader.0,
            reserved: 0,
            thread: self.reader.1,
            number: self.number,
            message: [0; TEAK_MESSAGE_LEN],
        };
        let fitting = self
            .message
            .char_indices()
            .take_while(|(at, character)| at + character.len_utf8() < TEAK_MESSAGE_LEN);
        let bytes = self
            .message
            .bytes()
            .take(fitting.map(|(_, character)| character.len_utf8()).sum());
        for (to, from) in reported.message.iter_mut().zip(bytes) {
            *to = from as c_char;
        }
        // SAFETY: the caller's promise.
        unsafe { reported.write_to(error) };
        self.code
    }
}

/// Runs `work` and reports its result to C.
///
/// # Safety
///
/// `error` is null or points to a structure of as many bytes as its size says.
#[inline]
pub(crate) unsafe fn answer(
    error: *mut teak_error,
    work: impl FnOnce() -> CallResult,
) -> teak_code {
    match caught(work) {
        Ok(code) => code,
        // SAFETY: the caller's promise.
        Err(failure) => unsafe { failure.report(error) },
    }
}

// SAFETY: it begins with its size and has no padding.
unsafe impl Grows for teak_error {
    const NAME: &'static str = "teak_error";
}

const _: () = assert!(offset_of!(teak_error, message) == 48);

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
