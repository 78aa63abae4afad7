//! Creating keys, and changing the key of a database.

use crate::{
    database::{DATABASES, teak_db},
    encryption::teak_encryption,
    error::{answer, teak_error},
    ffi::{Grows, OK, path},
    teak_code,
};
use std::ffi::c_char;
use teak::EncryptionKey;

/// Changes the key of an encrypted database, which no other process may have open. Only the key in
/// `encryption` opens it afterwards. Pages are not written again. The cipher of `encryption` does
/// not matter.
///
/// Threads: any.
///
/// Errors: TEAK_NOT_ENCRYPTED; TEAK_IN_USE; TEAK_KEY_UNAVAILABLE; those of a commit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_change_key(
    db: teak_db,
    encryption: *const teak_encryption,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let key = teak_encryption::read_from(encryption)?.key()?;
            let open = DATABASES.read(db.handle)?.for_call();
            open.database.change_encryption_key(&key)?;
            OK
        })
    }
}

/// Writes a new random key to a new file, as 64 hexadecimal digits. On Unix only this user may read
/// it. Returns when the file is on the disk.
///
/// Threads: any.
///
/// Errors: TEAK_FILE_EXISTS; TEAK_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_key_create(path: *const c_char, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            EncryptionKey::create_file(self::path(path)?)?;
            OK
        })
    }
}
