//! The texts of errors.

use super::{
    Error, after, database, in_brackets, limit::limit, location, loss_text, reader_process, remedy,
    shown,
};
use std::fmt;

impl std::error::Error for Error {}

macro_rules! texts {
    ($($error:pat => $text:literal $(, $argument:expr)*;)*) => {
        impl fmt::Display for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($error => write!(f, $text $(, $argument)*),)*
                }
            }
        }
    };
}

texts! {
    Error::Io { operation, path, cause } =>
        "{operation}{} failed: {cause}{}{}",
        in_brackets(path.as_deref()), after(remedy(cause)), limit(operation, cause);
    Error::Cancelled { operation, path } =>
        "{operation}{} was cancelled by its progress callback; nothing of the result was kept",
        in_brackets(path.as_deref());
    Error::NotFound(path) =>
        "there is no database at {}; create it, or correct the path", shown(path);
    Error::AlreadyExists(path) => "{} already exists; open it, or remove it first", shown(path);
    Error::NotADatabase { path, reason } =>
        "{} is not a Teak database ({reason}); nothing was changed", shown(path);
    Error::UnknownFormat { path, detail } =>
        "{} needs a newer version of Teak ({detail}); upgrade to open it",
        database(path.as_deref());
    Error::InUse(path) =>
        "{} is in use by another process or handle, or by a child of a process that has ended; \
         close or end it first", shown(path);
    Error::NotALockFile { path, reason } =>
        "{} has the name of the database's lock file, but is not a lock file ({reason}); nothing \
         was changed; move it away, or use another lock file (`Options::lock_file`, `teak \
         --lock-file`)", shown(path);
    Error::Corrupted { page, detail, detected_by, table, keys } =>
        "page {page} is damaged ({detail}), found by {detected_by}{}; run `teak check` to list \
         all damage, then restore a backup, or save the readable part with `teak salvage`",
        location(table.as_deref(), keys.as_deref());
    Error::Poisoned { path } =>
        "an earlier write or flush of {} failed, so its state on disk is uncertain; close the \
         database and reopen it, which verifies it", database(path.as_deref());
    Error::LocksLost(path) =>
        "this process lost its locks on {}, so other processes took it for dead; nothing was \
         written since; find the code that unlocks or closes files that it did not open, then \
         close the database and reopen it", shown(path);
    Error::NameLost { path, moved_to } =>
        "{}; the transaction was not committed; put the file back, or close the database and open \
         the right one", loss_text(path, moved_to.as_deref());
    Error::NetworkFileSystem(path) =>
        "{} is on a network file system; move it to a local one, or set `Options::allow_network` \
         if only one machine uses it", shown(path);
    Error::WrongKey { path, reason } =>
        "the key does not open {} ({reason}); give the key that it was created with, or that was \
         set last", database(path.as_deref());
    Error::KeyUnavailable { reason } =>
        "there is no key for the database: {reason}; correct that, or give another key";
    Error::KeyNeeded(path) =>
        "{} is encrypted; give its key (`Options::encryption_key`, `teak --key-file`)", shown(path);
    Error::EncryptionNotBuilt(path) =>
        "{} is encrypted, and this program was built without encryption; build it with the \
         feature `encryption` of the crate `teak`", shown(path);
    Error::NotEncrypted(path) =>
        "{} is not encrypted, but a key was given; open it without a key, or copy it to an \
         encrypted database (`teak backup --compact --encrypt`)", shown(path);
    Error::OptionsDiffer { option } =>
        "this process has the database open with another `{option}`; use the same value, or that \
         handle or a clone of it";
    Error::Forked =>
        "this process was forked from the one that opened the database, and cannot use its \
         handles and transactions; open the database in this process";
    Error::SnapshotLost =>
        "this read transaction has lost its state: it was cancelled, or was parked while a writer \
         wanted the space; drop it and begin a new one";
    Error::SnapshotStale { held, newest } =>
        "the reader sees the state of transaction {held}, but transaction {newest} is newer; \
         begin at the newest state, or refresh the reader and decide again";
    Error::SnapshotNotFound(name) =>
        "there is no snapshot {name:?}; `Database::snapshots` and `teak snapshot list` list the \
         snapshots";
    Error::SnapshotExists(name) =>
        "snapshot {name:?} already exists; drop it first, or choose another name";
    Error::TransactionPrepared { name } =>
        "the transaction {name:?} is prepared, and nothing else can be written until it is decided; \
         commit it or roll it back, with `Database::commit_prepared` and \
         `Database::rollback_prepared`, or with `teak prepared`";
    Error::PreparedNotFound(name) =>
        "there is no prepared transaction {name:?}: it was committed, rolled back, or never prepared; \
         `Database::prepared` and `teak prepared` list them";
    Error::HeldByReader { process, thread, lag, kept_bytes, .. } =>
        "all reusable space is held by a reader ({kept_bytes} bytes, a lag of {lag} commits, {}, \
         thread {thread}); end that reader, or let the file grow", reader_process(*process);
    Error::TooManyReaders(max) =>
        "{max} read transactions are open, which is the maximum; end some of them";
    Error::Full { limit_bytes } =>
        "the database has reached its size limit of {limit_bytes} bytes; raise the limit, or \
         delete records and commit";
    Error::KeyTooLong { len, max } =>
        "a key of {len} bytes is too long; keys of this database have at most {max} bytes";
    Error::SequenceExhausted { table, next, count } =>
        "the sequence of table {table:?} is at {next} and has fewer than {count} numbers left; \
         draw fewer, or keep the numbers in records";
    Error::ValueTooLong { len, max } =>
        "a value of {len} bytes is too long for a multi-value table; values there have at most \
         {max} bytes";
    Error::TableNotFound(name) =>
        "there is no table {name:?}; list the tables with `Transaction::tables` or `teak tables`, \
         or create it with `WriteTxn::create_table` or `teak table create`";
    Error::TableExists(name) =>
        "table {name:?} already exists; choose another name, or drop it first";
    Error::TableMismatch { name, stored, asked } =>
        "table {name:?} has {stored}, not {asked}; open it with its own options (`Transaction::tables` \
         and `teak tables` list them), or drop it and create it with other options";
    Error::TableTypeMismatch { name, stored, asked } =>
        "table {name:?} has the types {stored}, not {asked}; open it with the types it was created \
         with, or with the codec `Raw`, which reads any bytes, or record other types for it \
         (`WriteTxn::set_table_types`)";
    Error::ComparisonMissing { table, comparison } =>
        "table {table:?} uses the comparison {comparison:?}, which was not registered; open the \
         database with it (`Options::comparison`)";
    Error::ComparisonMismatch { table, comparison } =>
        "the keys of table {table:?} are not in the order of the comparison {comparison:?}; open \
         the database with the comparison that the table was created with";
    Error::Decode { expected, detail } =>
        "a record cannot be read as {expected}: {detail}; open the table with the types it was \
         written with";
    Error::Encode { expected, detail } =>
        "a key or value cannot be written as {expected}: {detail}; give one that the codec can \
         encode";
    Error::NotSorted { index } =>
        "record {index} of the input is not greater than the one before it; sort the input, or \
         load it as unsorted";
    Error::ReadOnly => "the database is open read-only; open it for writing";
    Error::TransactionBroken =>
        "an earlier error left this transaction unfinished; roll it back and begin again";
    Error::InvalidArgument(text) => "{text}";
}
