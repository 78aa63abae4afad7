//! Tests of how C is told of errors.

use super::{Failure, TEAK_MESSAGE_LEN, teak_error};
use crate::teak_code as C;
use std::{ffi::CStr, io, path::PathBuf};
use teak::{Error, PageNumber, TransactionId};

fn told(failure: Failure) -> (C, teak_error) {
    // SAFETY: any bytes are a value.
    let mut error: teak_error = unsafe { std::mem::zeroed() };
    error.size = size_of::<teak_error>();
    // SAFETY: it has the size that it says.
    let code = unsafe { failure.tell(&raw mut error) };
    (code, error)
}

fn text(error: &teak_error) -> &str {
    // SAFETY: there is a zero at its end.
    let text = unsafe { CStr::from_ptr(error.message.as_ptr()) };
    text.to_str().expect("UTF-8")
}

#[test]
fn each_error_of_the_engine_has_its_code() {
    let path = || PathBuf::from("x");
    let name = || "x".to_owned();
    let errors = [
        (
            Error::Io {
                operation: "reading",
                source: io::Error::from_raw_os_error(5),
            },
            C::TEAK_IO,
        ),
        (Error::NotFound(path()), C::TEAK_FILE_NOT_FOUND),
        (Error::AlreadyExists(path()), C::TEAK_FILE_EXISTS),
        (
            Error::NotADatabase {
                path: path(),
                reason: name(),
            },
            C::TEAK_NOT_A_DATABASE,
        ),
        (Error::UnknownFormat(name()), C::TEAK_UNKNOWN_FORMAT),
        (Error::InUse(path()), C::TEAK_IN_USE),
        (
            Error::Corrupted {
                page: PageNumber(7),
                detail: name(),
                detected_by: "lookup",
                table: None,
                keys: None,
            },
            C::TEAK_CORRUPTED,
        ),
        (Error::Poisoned, C::TEAK_POISONED),
        (Error::LocksLost(path()), C::TEAK_POISONED),
        (
            Error::NameLost {
                path: path(),
                moved_to: None,
            },
            C::TEAK_FILE_NOT_FOUND,
        ),
        (
            Error::NetworkFileSystem(path()),
            C::TEAK_NETWORK_FILE_SYSTEM,
        ),
        (Error::OptionsDiffer { option: "x" }, C::TEAK_OPTIONS_DIFFER),
        (Error::Forked, C::TEAK_FORKED),
        (Error::SnapshotLost, C::TEAK_SNAPSHOT_LOST),
        (
            Error::SnapshotStale {
                held: TransactionId(1),
                newest: TransactionId(2),
            },
            C::TEAK_SNAPSHOT_STALE,
        ),
        (Error::SnapshotNotFound(name()), C::TEAK_SNAPSHOT_NOT_FOUND),
        (Error::SnapshotExists(name()), C::TEAK_SNAPSHOT_EXISTS),
        (
            Error::HeldByReader {
                process: Some(3),
                thread: 4,
                transaction: TransactionId(5),
                lag: 6,
                kept_bytes: 7,
            },
            C::TEAK_HELD_BY_READER,
        ),
        (Error::TooManyReaders(1), C::TEAK_TOO_MANY_READERS),
        (Error::Full { limit_bytes: 1 }, C::TEAK_FULL),
        (Error::KeyTooLong { len: 2, max: 1 }, C::TEAK_KEY_TOO_LONG),
        (
            Error::SequenceExhausted {
                table: name(),
                next: 1,
                count: 1,
            },
            C::TEAK_SEQUENCE_EXHAUSTED,
        ),
        (
            Error::ValueTooLong { len: 2, max: 1 },
            C::TEAK_VALUE_TOO_LONG,
        ),
        (Error::TableNotFound(name()), C::TEAK_TABLE_NOT_FOUND),
        (Error::TableExists(name()), C::TEAK_TABLE_EXISTS),
        (
            Error::TableMismatch {
                name: name(),
                detail: name(),
            },
            C::TEAK_TABLE_MISMATCH,
        ),
        (
            Error::ComparisonMissing {
                table: name(),
                comparison: name(),
            },
            C::TEAK_COMPARISON_MISSING,
        ),
        (
            Error::ComparisonMismatch {
                table: name(),
                comparison: name(),
            },
            C::TEAK_COMPARISON_MISMATCH,
        ),
        (
            Error::Decode {
                expected: "x",
                detail: name(),
            },
            C::TEAK_DECODE,
        ),
        (Error::NotSorted { index: 8 }, C::TEAK_NOT_SORTED),
        (Error::ReadOnly, C::TEAK_READ_ONLY),
        (Error::TransactionBroken, C::TEAK_TRANSACTION_BROKEN),
        (Error::InvalidArgument(name()), C::TEAK_INVALID_ARGUMENT),
    ];
    for (error, expected) in errors {
        let message = error.to_string();
        let (code, error) = told(error.into());
        assert_eq!((code, error.code), (expected, expected as i32));
        assert_eq!(text(&error), message);
        let is = |wanted| expected == wanted;
        assert_eq!(error.system_code, if is(C::TEAK_IO) { 5 } else { 0 });
        assert_eq!(error.page, if is(C::TEAK_CORRUPTED) { 7 } else { u64::MAX });
        assert_eq!(
            error.process,
            if is(C::TEAK_HELD_BY_READER) { 3 } else { 0 }
        );
        assert_eq!(error.thread, if is(C::TEAK_HELD_BY_READER) { 4 } else { 0 });
        let number = match expected {
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
            let (_, error) = told(Failure::invalid_argument(long));
            let text = text(&error);
            assert!((TEAK_MESSAGE_LEN - 2..TEAK_MESSAGE_LEN).contains(&text.len()));
            assert!(text.ends_with('ß'));
        }
    }
}

#[test]
fn nobody_has_to_ask() {
    // SAFETY: nothing is written to nowhere.
    let code = unsafe { Failure::in_use("word").tell(std::ptr::null_mut()) };
    assert_eq!(code, C::TEAK_BUSY);
}
