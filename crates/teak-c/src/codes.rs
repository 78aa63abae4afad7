//! What functions answer.

use std::ffi::{CStr, c_char};

/// What a function answers: done, no, or why not. New codes may come.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[must_use]
pub enum teak_code {
    /// Done, or yes.
    TEAK_OK = 0,
    /// No: no such record, nothing behind the last one, nothing newer, not durable yet. This is no error.
    TEAK_NONE = 1,

    /// A handle that was closed or ended, or never was one.
    TEAK_INVALID_HANDLE = 16,
    /// The handle is being used by another call, or what it stands for is still needed.
    TEAK_BUSY = 17,
    /// A table or transaction of another database, or of an earlier opening of this one.
    TEAK_WRONG_DATABASE = 18,
    /// A read transaction where a write transaction is wanted, or the reverse.
    TEAK_WRONG_TRANSACTION = 19,
    /// An argument makes no sense: the message says which.
    TEAK_INVALID_ARGUMENT = 20,
    /// A structure has fields set that this library does not know.
    TEAK_TOO_NEW = 21,
    /// The library has found an error of its own; please report it. A transaction in which it happens can only be rolled back.
    TEAK_PANIC = 22,
    /// Something for which this interface has no code yet: the message says what.
    TEAK_OTHER = 23,

    /// The operating system refused an operation on the file: see system_code.
    TEAK_IO = 32,
    /// There is no such file, and it was not to be created; or the file of an open database has lost its name, which was required.
    TEAK_FILE_NOT_FOUND = 33,
    /// A database was to be created where a file is already.
    TEAK_FILE_EXISTS = 34,
    /// The file is not a Teak database.
    TEAK_NOT_A_DATABASE = 35,
    /// The file needs a newer version of Teak.
    TEAK_UNKNOWN_FORMAT = 36,
    /// Somebody has the database open who cannot share it.
    TEAK_IN_USE = 37,
    /// What is on disk is not what was written there: see page.
    TEAK_CORRUPTED = 38,
    /// A write or flush failed before: nothing can be written until the database is opened anew.
    TEAK_POISONED = 39,
    /// The file is on a network file system.
    TEAK_NETWORK_FILE_SYSTEM = 40,
    /// This process has the database open with other options that matter.
    TEAK_OPTIONS_DIFFER = 41,
    /// This process was forked from the one that opened the database.
    TEAK_FORKED = 42,
    /// A read transaction has lost its state: it was cancelled, or parked and given up.
    TEAK_SNAPSHOT_LOST = 43,
    /// There is a newer state than the one to begin to write on.
    TEAK_SNAPSHOT_STALE = 44,
    /// There is no named snapshot of that name.
    TEAK_SNAPSHOT_NOT_FOUND = 45,
    /// There is a named snapshot of that name already.
    TEAK_SNAPSHOT_EXISTS = 46,
    /// A reader of an old state keeps the space that is wanted: see process and thread.
    TEAK_HELD_BY_READER = 47,
    /// There is no place for another reader.
    TEAK_TOO_MANY_READERS = 48,
    /// The limit of the size is reached.
    TEAK_FULL = 49,
    /// A key is longer than a page can carry.
    TEAK_KEY_TOO_LONG = 50,
    /// A value of a key that has several is longer than a page can carry.
    TEAK_VALUE_TOO_LONG = 51,
    /// The sequence of a table does not have so many numbers any more.
    TEAK_SEQUENCE_EXHAUSTED = 52,
    /// There is no table of that name.
    TEAK_TABLE_NOT_FOUND = 53,
    /// There is a table of that name already.
    TEAK_TABLE_EXISTS = 54,
    /// A table was created with other options.
    TEAK_TABLE_MISMATCH = 55,
    /// A table needs a comparison that the database was not opened with.
    TEAK_COMPARISON_MISSING = 56,
    /// The keys of a table are in another order than its comparison says.
    TEAK_COMPARISON_MISMATCH = 57,
    /// Bytes that cannot be read as what they should be.
    TEAK_DECODE = 58,
    /// Input that had to be sorted was not, or is not behind what is there.
    TEAK_NOT_SORTED = 59,
    /// The database is open for reading only.
    TEAK_READ_ONLY = 60,
    /// The transaction met an error halfway and can only be rolled back.
    TEAK_TRANSACTION_BROKEN = 61,
}

impl teak_code {
    /// A sentence about it.
    fn text(self) -> &'static CStr {
        match self {
            Self::TEAK_OK => c"done",
            Self::TEAK_NONE => c"there is none",
            Self::TEAK_INVALID_HANDLE => c"the handle was closed or never was one",
            Self::TEAK_BUSY => c"the handle is in use",
            Self::TEAK_WRONG_DATABASE => c"the handle is of another database",
            Self::TEAK_WRONG_TRANSACTION => c"the transaction is of the wrong kind",
            Self::TEAK_INVALID_ARGUMENT => c"an argument makes no sense",
            Self::TEAK_TOO_NEW => c"a structure has fields that this library does not know",
            Self::TEAK_PANIC => c"the library has found an error of its own",
            Self::TEAK_OTHER => c"an error that has no code yet",
            Self::TEAK_IO => c"the operating system refused an operation",
            Self::TEAK_FILE_NOT_FOUND => c"there is no such database",
            Self::TEAK_FILE_EXISTS => c"there is such a file already",
            Self::TEAK_NOT_A_DATABASE => c"the file is not a Teak database",
            Self::TEAK_UNKNOWN_FORMAT => c"the database needs a newer version of Teak",
            Self::TEAK_IN_USE => c"the database is in use by somebody who cannot share it",
            Self::TEAK_CORRUPTED => c"the database is damaged",
            Self::TEAK_POISONED => c"an earlier write or flush failed",
            Self::TEAK_NETWORK_FILE_SYSTEM => c"the file is on a network file system",
            Self::TEAK_OPTIONS_DIFFER => c"the database is open with other options",
            Self::TEAK_FORKED => c"this process was forked from the one that opened the database",
            Self::TEAK_SNAPSHOT_LOST => c"the read transaction has lost its state",
            Self::TEAK_SNAPSHOT_STALE => c"there is a newer state",
            Self::TEAK_SNAPSHOT_NOT_FOUND => c"there is no such snapshot",
            Self::TEAK_SNAPSHOT_EXISTS => c"there is such a snapshot already",
            Self::TEAK_HELD_BY_READER => c"a reader keeps the space that is wanted",
            Self::TEAK_TOO_MANY_READERS => c"there is no place for another reader",
            Self::TEAK_FULL => c"the limit of the size is reached",
            Self::TEAK_KEY_TOO_LONG => c"the key is too long",
            Self::TEAK_VALUE_TOO_LONG => c"the value is too long",
            Self::TEAK_SEQUENCE_EXHAUSTED => c"the sequence has not so many numbers any more",
            Self::TEAK_TABLE_NOT_FOUND => c"there is no such table",
            Self::TEAK_TABLE_EXISTS => c"there is such a table already",
            Self::TEAK_TABLE_MISMATCH => c"the table has other options",
            Self::TEAK_COMPARISON_MISSING => c"the comparison of the table is missing",
            Self::TEAK_COMPARISON_MISMATCH => c"the table is not in the order of its comparison",
            Self::TEAK_DECODE => c"bytes cannot be read as what they should be",
            Self::TEAK_NOT_SORTED => c"the input is not sorted",
            Self::TEAK_READ_ONLY => c"the database is open for reading only",
            Self::TEAK_TRANSACTION_BROKEN => c"the transaction can only be rolled back",
        }
    }

    /// All of them.
    const ALL: [Self; 40] = [
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
    ];
}

/// A sentence about a code, which lives as long as the library. The message of a teak_error says more. Any thread; a number that is
/// no code is said to be none.
///
/// ```c
/// puts(teak_code_text(TEAK_TABLE_NOT_FOUND));
/// ```
#[unsafe(no_mangle)]
pub extern "C" fn teak_code_text(code: i32) -> *const c_char {
    let known = teak_code::ALL
        .into_iter()
        .find(|known| *known as i32 == code);
    known
        .map_or(c"no code of this library", |known| known.text())
        .as_ptr()
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
        assert_eq!(text(-1), c"no code of this library");
        assert_eq!(text(2), c"no code of this library");
    }
}
