//! Tests of how errors are reported to C.

use super::{TEAK_MESSAGE_LEN, teak_error};
use crate::{failure::Failure, teak_code as C};
use std::ffi::CStr;
use teak::testing::{documented, samples};

fn reported(failure: Failure) -> (C, teak_error) {
    // SAFETY: any bytes are a value.
    let mut error: teak_error = unsafe { std::mem::zeroed() };
    error.size = size_of::<teak_error>();
    // SAFETY: it has the size that it says.
    let code = unsafe { failure.report(&raw mut error) };
    (code, error)
}

fn text(error: &teak_error) -> &str {
    // SAFETY: the message is zero-terminated.
    let text = unsafe { CStr::from_ptr(error.message.as_ptr()) };
    text.to_str().expect("UTF-8")
}

#[test]
fn each_error_of_the_engine_has_its_code() {
    for (name, error) in samples() {
        let message = error.to_string();
        let (code, error) = reported(error.into());
        assert_eq!(documented(name)[4], format!("{code:?}"), "{name}");
        assert_eq!(error.code, code as i32);
        assert_eq!(text(&error), message);
        let is = |wanted| code == wanted;
        assert_eq!(error.system_code, if is(C::TEAK_IO) { 5 } else { 0 });
        assert_eq!(error.page, if is(C::TEAK_CORRUPTED) { 7 } else { u64::MAX });
        assert_eq!(
            error.process,
            if is(C::TEAK_HELD_BY_READER) { 3 } else { 0 }
        );
        assert_eq!(error.thread, if is(C::TEAK_HELD_BY_READER) { 4 } else { 0 });
        let number = match code {
            C::TEAK_SNAPSHOT_STALE => 2,
            C::TEAK_HELD_BY_READER => 5,
            C::TEAK_NOT_SORTED => 8,
            _ => 0,
        };
        assert_eq!(error.number, number);
    }
}

#[test]
fn a_long_message_is_cut_between_characters() {
    for len in [TEAK_MESSAGE_LEN - 1, TEAK_MESSAGE_LEN, 3 * TEAK_MESSAGE_LEN] {
        for begin in ["", "x"] {
            let long = format!("{begin}{}", "ß".repeat(len));
            let (_, error) = reported(Failure::invalid_argument(long));
            let text = text(&error);
            assert!((TEAK_MESSAGE_LEN - 2..TEAK_MESSAGE_LEN).contains(&text.len()));
            assert!(text.ends_with('ß'));
        }
    }
}

#[test]
fn the_error_may_be_null() {
    // SAFETY: nothing is written through a null pointer.
    let code = unsafe { Failure::in_use("word").report(std::ptr::null_mut()) };
    assert_eq!(code, C::TEAK_BUSY);
}
