//! The result codes.

use std::ffi::{CStr, c_char};

/// The result of a function: success, "no", or the reason of a failure. Later versions may add
/// codes.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[must_use]
pub enum teak_code {
    /// Done, or yes.
    TEAK_OK = 0,
    /// No: no such record, nothing after the last one, nothing newer, not durable yet. Not an
    /// error.
    TEAK_NONE = 1,

    /// The handle was closed, has ended, or never existed.
    TEAK_INVALID_HANDLE = 16,
    /// The handle is in use by another call, or its object is still needed.
    TEAK_BUSY = 17,
    /// The table or transaction belongs to another database, or to an earlier opening of this one.
    TEAK_WRONG_DATABASE = 18,
    /// A read transaction was passed where a write transaction is needed, or the reverse.
    TEAK_WRONG_TRANSACTION = 19,
    /// An argument is invalid: the message says which.
    TEAK_INVALID_ARGUMENT = 20,
    /// A field is set in a structure that this library does not know.
    TEAK_TOO_NEW = 21,
    /// An internal error of the library; please report it. The transaction can only be rolled back.
    TEAK_PANIC = 22,
    /// An error that has no code yet: the message describes it.
    TEAK_OTHER = 23,

    /// The operating system refused an operation on the file: see system_code.
    TEAK_IO = 32,
    /// The file does not exist and was not to be created. Or an open database's file, which must
    /// keep its name, lost it.
    TEAK_FILE_NOT_FOUND = 33,
    /// A database was to be created where a file exists.
    TEAK_FILE_EXISTS = 34,
    /// The file is not a Teak database.
    TEAK_NOT_A_DATABASE = 35,
    /// The file needs a newer version of Teak.
    TEAK_UNKNOWN_FORMAT = 36,
    /// The database is in use and cannot be shared.
    TEAK_IN_USE = 37,
    /// The content of the file differs from what was written: see page.
    TEAK_CORRUPTED = 38,
    /// A write or flush failed earlier: nothing can be written until the database is reopened.
    TEAK_POISONED = 39,
    /// The file is on a network file system.
    TEAK_NETWORK_FILE_SYSTEM = 40,
    /// This process has the database open with other options.
    TEAK_OPTIONS_DIFFER = 41,
    /// This process was forked from the one that opened the database.
    TEAK_FORKED = 42,
    /// A read transaction has lost its state: it was cancelled, or parked and given up.
    TEAK_SNAPSHOT_LOST = 43,
    /// There is a newer state than the one on which the transaction was to begin.
    TEAK_SNAPSHOT_STALE = 44,
    /// No named snapshot has this name.
    TEAK_SNAPSHOT_NOT_FOUND = 45,
    /// A named snapshot has this name already.
    TEAK_SNAPSHOT_EXISTS = 46,
    /// The only free space is kept for a reader of an old state: see process and thread.
    TEAK_HELD_BY_READER = 47,
    /// There are too many readers.
    TEAK_TOO_MANY_READERS = 48,
    /// The size limit is reached.
    TEAK_FULL = 49,
    /// A key is longer than the page size allows.
    TEAK_KEY_TOO_LONG = 50,
    /// A value of a multi-value table is longer than the page size allows.
    TEAK_VALUE_TOO_LONG = 51,
    /// The sequence of a table has too few numbers left.
    TEAK_SEQUENCE_EXHAUSTED = 52,
    /// No table has this name.
    TEAK_TABLE_NOT_FOUND = 53,
    /// A table has this name already.
    TEAK_TABLE_EXISTS = 54,
    /// A table was created with other options.
    TEAK_TABLE_MISMATCH = 55,
    /// The comparison of a table was not registered.
    TEAK_COMPARISON_MISSING = 56,
    /// The keys of a table are not in the order of its comparison.
    TEAK_COMPARISON_MISMATCH = 57,
    /// A key or value cannot be decoded.
    TEAK_DECODE = 58,
    /// The input is not sorted, or does not follow the existing records.
    TEAK_NOT_SORTED = 59,
    /// The database is open read-only.
    TEAK_READ_ONLY = 60,
    /// An error interrupted a change of the transaction: it can only be rolled back.
    TEAK_TRANSACTION_BROKEN = 61,
    /// The progress callback ended the operation.
    TEAK_CANCELLED = 62,
    /// The key does not open the encrypted database.
    TEAK_WRONG_KEY = 63,
    /// The key of the database could not be read or fetched.
    TEAK_KEY_UNAVAILABLE = 64,
    /// The database is encrypted, and no key was given.
    TEAK_KEY_NEEDED = 65,
    /// A key was given for a database that is not encrypted.
    TEAK_NOT_ENCRYPTED = 66,
    /// A transaction is prepared: nothing else can be written until it is decided.
    TEAK_TRANSACTION_PREPARED = 67,
    /// No prepared transaction has this name.
    TEAK_PREPARED_NOT_FOUND = 68,
}

impl teak_code {
    /// A sentence that describes the code.
    fn text(self) -> &'static CStr {
        match self {
            Self::TEAK_OK => c"done",
            Self::TEAK_NONE => c"not found",
            Self::TEAK_INVALID_HANDLE => c"the handle was closed, or never existed",
            Self::TEAK_BUSY => c"the handle is in use",
            Self::TEAK_WRONG_DATABASE => c"the handle belongs to another database",
            Self::TEAK_WRONG_TRANSACTION => c"the transaction has the wrong kind",
            Self::TEAK_INVALID_ARGUMENT => c"an argument is invalid",
            Self::TEAK_TOO_NEW => c"a structure has fields that this library does not know",
            Self::TEAK_PANIC => c"internal error of the library",
            Self::TEAK_OTHER => c"an error without a code",
            Self::TEAK_IO => c"the operating system refused an operation",
            Self::TEAK_FILE_NOT_FOUND => c"there is no such database",
            Self::TEAK_FILE_EXISTS => c"the file already exists",
            Self::TEAK_NOT_A_DATABASE => c"the file is not a Teak database",
            Self::TEAK_UNKNOWN_FORMAT => c"the database needs a newer version of Teak",
            Self::TEAK_IN_USE => c"the database is in use and cannot be shared",
            Self::TEAK_CORRUPTED => c"the database is damaged",
            Self::TEAK_POISONED => c"an earlier write or flush failed",
            Self::TEAK_NETWORK_FILE_SYSTEM => c"the file is on a network file system",
            Self::TEAK_OPTIONS_DIFFER => c"the database is open with other options",
            Self::TEAK_FORKED => c"this process was forked from the one that opened the database",
            Self::TEAK_SNAPSHOT_LOST => c"the read transaction has lost its state",
            Self::TEAK_SNAPSHOT_STALE => c"there is a newer state",
            Self::TEAK_SNAPSHOT_NOT_FOUND => c"there is no such snapshot",
            Self::TEAK_SNAPSHOT_EXISTS => c"the snapshot already exists",
            Self::TEAK_HELD_BY_READER => c"a reader keeps the only free space",
            Self::TEAK_TOO_MANY_READERS => c"there are too many readers",
            Self::TEAK_FULL => c"the size limit is reached",
            Self::TEAK_KEY_TOO_LONG => c"the key is too long",
            Self::TEAK_VALUE_TOO_LONG => c"the value is too long",
            Self::TEAK_SEQUENCE_EXHAUSTED => c"the sequence has too few numbers left",
            Self::TEAK_TABLE_NOT_FOUND => c"there is no such table",
            Self::TEAK_TABLE_EXISTS => c"the table already exists",
            Self::TEAK_TABLE_MISMATCH => c"the table has other options",
            Self::TEAK_COMPARISON_MISSING => c"the comparison of the table was not registered",
            Self::TEAK_COMPARISON_MISMATCH => c"the table is not in the order of its comparison",
            Self::TEAK_DECODE => c"the bytes cannot be decoded",
            Self::TEAK_NOT_SORTED => c"the input is not sorted",
            Self::TEAK_READ_ONLY => c"the database is open read-only",
            Self::TEAK_TRANSACTION_BROKEN => c"the transaction can only be rolled back",
            Self::TEAK_CANCELLED => c"the progress callback ended the operation",
            Self::TEAK_WRONG_KEY => c"the key does not open the database",
            Self::TEAK_KEY_UNAVAILABLE => c"there is no key for the database",
            Self::TEAK_KEY_NEEDED => c"the database is encrypted",
            Self::TEAK_NOT_ENCRYPTED => c"the database is not encrypted",
            Self::TEAK_TRANSACTION_PREPARED => c"a prepared transaction is to be decided first",
            Self::TEAK_PREPARED_NOT_FOUND => c"there is no such prepared transaction",
        }
    }

    /// All codes.
    const ALL: [Self; 47] = [
        Self::TEAK_OK,
        Self::TEAK_NONE,
        Self::TEAK_INVALID_HANDLE,
        Self::TEAK_BUSY,
        Self::TEAK_WRONG_DATABASE,
        Self::TEAK_WRONG_TRANSACTION,
        Self::TEAK_INVALID_ARGUMENT,
        Self::TEAK_TOO_NEW,
        Self::TEAK_PANIC,
        Self::TEAK_OTHER,
        Self::TEAK_IO,
        Self::TEAK_FILE_NOT_FOUND,
        Self::TEAK_FILE_EXISTS,
        Self::TEAK_NOT_A_DATABASE,
        Self::TEAK_UNKNOWN_FORMAT,
        Self::TEAK_IN_USE,
        Self::TEAK_CORRUPTED,
        Self::TEAK_POISONED,
        Self::TEAK_NETWORK_FILE_SYSTEM,
        Self::TEAK_OPTIONS_DIFFER,
        Self::TEAK_FORKED,
        Self::TEAK_SNAPSHOT_LOST,
        Self::TEAK_SNAPSHOT_STALE,
        Self::TEAK_SNAPSHOT_NOT_FOUND,
        Self::TEAK_SNAPSHOT_EXISTS,
        Self::TEAK_HELD_BY_READER,
        Self::TEAK_TOO_MANY_READERS,
        Self::TEAK_FULL,
        Self::TEAK_KEY_TOO_LONG,
        Self::TEAK_VALUE_TOO_LONG,
        Self::TEAK_SEQUENCE_EXHAUSTED,
        Self::TEAK_TABLE_NOT_FOUND,
        Self::TEAK_TABLE_EXISTS,
        Self::TEAK_TABLE_MISMATCH,
        Self::TEAK_COMPARISON_MISSING,
        Self::TEAK_COMPARISON_MISMATCH,
        Self::TEAK_DECODE,
        Self::TEAK_NOT_SORTED,
        Self::TEAK_READ_ONLY,
        Self::TEAK_TRANSACTION_BROKEN,
        Self::TEAK_CANCELLED,
        Self::TEAK_WRONG_KEY,
        Self::TEAK_KEY_UNAVAILABLE,
        Self::TEAK_KEY_NEEDED,
        Self::TEAK_NOT_ENCRYPTED,
        Self::TEAK_TRANSACTION_PREPARED,
        Self::TEAK_PREPARED_NOT_FOUND,
    ];
}

/// Returns a sentence that describes a code. The string lives as long as the library. The message
/// of a teak_error says more. Any thread. Unknown numbers are described as such.
///
/// ```c
/// puts(teak_code_text(TEAK_TABLE_NOT_FOUND));
/// ```
#[unsafe(no_mangle)]
pub extern "C" fn teak_code_text(code: i32) -> *const c_char {
    let known = teak_code::ALL
        .into_iter()
        .find(|known| *known as i32 == code);
    known.map_or(c"unknown code", |known| known.text()).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::{CStr, teak_code, teak_code_text};
    use std::collections::HashSet;

    #[test]
    fn each_code_has_a_number_and_a_text_of_its_own() {
        let numbers: HashSet<_> = teak_code::ALL.iter().map(|code| *code as i32).collect();
        let texts: HashSet<_> = teak_code::ALL.iter().map(|code| code.text()).collect();
        assert_eq!(numbers.len(), teak_code::ALL.len());
        assert_eq!(texts.len(), teak_code::ALL.len());
    }

    #[test]
    fn texts_are_found_by_numbers() {
        let text = |code| {
            // SAFETY: the texts are constants.
            unsafe { CStr::from_ptr(teak_code_text(code)) }
        };
        for code in teak_code::ALL {
            assert_eq!(text(code as i32), code.text());
        }
        assert_eq!(text(-1), c"unknown code");
        assert_eq!(text(2), c"unknown code");
    }
}
