//! One of each error of the engine, for the tests that compare `docs/errors.md` with the code.

use super::*;

/// The text of `docs/errors.md`.
pub(super) const DOCUMENT: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/repository/docs/errors.md"
));

/// The name of each variant, and an error of it.
pub fn samples() -> Vec<(&'static str, Error)> {
    let path = || PathBuf::from("coins.teak");
    let name = || "coins".to_owned();
    vec![
        (
            "Io",
            Error::Io {
                operation: "flushing the file",
                path: Some(path()),
                cause: io::Error::from_raw_os_error(5).into(),
            },
        ),
        (
            "Cancelled",
            Error::Cancelled {
                operation: "writing the backup",
                path: Some(path()),
            },
        ),
        ("NotFound", Error::NotFound(path())),
        ("AlreadyExists", Error::AlreadyExists(path())),
        (
            "NotADatabase",
            Error::NotADatabase {
                path: path(),
                reason: "it is empty".to_owned(),
            },
        ),
        (
            "UnknownFormat",
            Error::UnknownFormat {
                path: Some(path()),
                detail: "version 2".to_owned(),
            },
        ),
        ("InUse", Error::InUse(path())),
        (
            "NotALockFile",
            Error::NotALockFile {
                path: PathBuf::from("coins.teak-lock"),
                reason: "it is a directory".to_owned(),
            },
        ),
        (
            "Corrupted",
            Error::Corrupted {
                page: PageNumber(7),
                detail: "the checksum differs".to_owned(),
                detected_by: "lookup",
                table: Some(name()),
                keys: Some(Box::new(KeyRange::single(b"BTC"))),
            },
        ),
        ("Poisoned", Error::Poisoned { path: Some(path()) }),
        ("LocksLost", Error::LocksLost(path())),
        (
            "NameLost",
            Error::NameLost {
                path: path(),
                moved_to: Some(PathBuf::from("old.teak")),
            },
        ),
        ("NetworkFileSystem", Error::NetworkFileSystem(path())),
        (
            "WrongKey",
            Error::WrongKey {
                path: Some(path()),
                reason: "its data keys are encrypted with another key",
            },
        ),
        (
            "KeyUnavailable",
            Error::KeyUnavailable {
                reason: "coins.key cannot be read: permission denied".to_owned(),
            },
        ),
        ("KeyNeeded", Error::KeyNeeded(path())),
        ("EncryptionNotBuilt", Error::EncryptionNotBuilt(path())),
        ("NotEncrypted", Error::NotEncrypted(path())),
        (
            "OptionsDiffer",
            Error::OptionsDiffer {
                option: "verification",
            },
        ),
        ("Forked", Error::Forked),
        ("SnapshotLost", Error::SnapshotLost),
        (
            "SnapshotStale",
            Error::SnapshotStale {
                held: TransactionId(1),
                newest: TransactionId(2),
            },
        ),
        (
            "SnapshotNotFound",
            Error::SnapshotNotFound("monday".to_owned()),
        ),
        ("SnapshotExists", Error::SnapshotExists("monday".to_owned())),
        (
            "TransactionPrepared",
            Error::TransactionPrepared {
                name: "transfer 7".to_owned(),
            },
        ),
        (
            "PreparedNotFound",
            Error::PreparedNotFound("transfer 7".to_owned()),
        ),
        (
            "HeldByReader",
            Error::HeldByReader {
                process: Some(3),
                thread: 4,
                transaction: TransactionId(5),
                lag: 6,
                kept_bytes: 4096,
            },
        ),
        ("TooManyReaders", Error::TooManyReaders(126)),
        ("Full", Error::Full { limit_bytes: 65536 }),
        (
            "KeyTooLong",
            Error::KeyTooLong {
                len: 2000,
                max: 1356,
            },
        ),
        (
            "SequenceExhausted",
            Error::SequenceExhausted {
                table: name(),
                next: u64::MAX,
                count: 2,
            },
        ),
        (
            "ValueTooLong",
            Error::ValueTooLong {
                len: 2000,
                max: 1356,
            },
        ),
        ("TableNotFound", Error::TableNotFound(name())),
        ("TableExists", Error::TableExists(name())),
        (
            "TableMismatch",
            Error::TableMismatch {
                name: name(),
                stored: "several values per key (`MultiTable`)".to_owned(),
                asked: "one value per key (`Table`)".to_owned(),
            },
        ),
        (
            "TableTypeMismatch",
            Error::TableTypeMismatch {
                name: name(),
                stored: Box::new(TableTypes::new("u64", "str")),
                asked: Box::new(TableTypes::new("str", "str")),
            },
        ),
        (
            "ComparisonMissing",
            Error::ComparisonMissing {
                table: name(),
                comparison: "by length".to_owned(),
            },
        ),
        (
            "ComparisonMismatch",
            Error::ComparisonMismatch {
                table: name(),
                comparison: "by length".to_owned(),
            },
        ),
        (
            "Decode",
            Error::Decode {
                expected: "u64".into(),
                detail: "it has 3 bytes".to_owned(),
            },
        ),
        (
            "Encode",
            Error::Encode {
                expected: "my-app.moment".into(),
                detail: "it is before 1970".to_owned(),
            },
        ),
        ("NotSorted", Error::NotSorted { index: 8 }),
        ("ReadOnly", Error::ReadOnly),
        ("TransactionBroken", Error::TransactionBroken),
        (
            "InvalidArgument",
            Error::InvalidArgument(
                "a page size of 5000 is not possible; choose 4096, 8192, 16384, 32768 or 65536"
                    .to_owned(),
            ),
        ),
    ]
}

/// The cells of the row of `docs/errors.md` that begins with this one.
pub fn documented(first: &str) -> Vec<&'static str> {
    let begin = format!("| `{first}` | ");
    let row = DOCUMENT.lines().find(|line| line.starts_with(&begin));
    let row = row.unwrap_or_else(|| panic!("docs/errors.md has no row for {first}"));
    row.trim_matches('|').split(" | ").map(str::trim).collect()
}
