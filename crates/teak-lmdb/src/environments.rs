//! `mdb_env_*`: opening, closing, copying and describing environments.

use crate::{
    border::{EnvironmentInfo, Stat, answer, live, own, unanswered},
    codes::{CallResult, Code},
    copy,
    environment::Environment,
    flags,
    limits::PAGES_MORE,
    registry::HasRegistry,
    system::{self, FileHandle, Mode},
    transaction,
};
use std::{
    ffi::{CStr, c_char, c_int, c_uint},
    ptr,
};

/// Makes a handle of an environment.
///
/// # Safety
///
/// `environment` points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_create(environment: *mut *mut Environment) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let out = unsafe { own(environment) }?;
        let made = Box::into_raw(Box::new(Environment::new()));
        *out = Environment::registry().insert(made)?;
        Ok(())
    })
}

/// Opens the database at `path`, or makes it.
///
/// # Safety
///
/// `environment` is a handle, and `path` a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_open(
    environment: *mut Environment,
    path: *const c_char,
    asked: c_uint,
    mode: Mode,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let environment = unsafe { live(environment) }?;
        // SAFETY: the caller's promise.
        let path = unsafe { string(path) }?;
        environment.open(path, asked, system::mode_bits(mode))
    })
}

/// Closes an environment, and frees its handle.
///
/// # Safety
///
/// `environment` is null or a handle, which is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_close(environment: *mut Environment) {
    unanswered(|| {
        let registry = Environment::registry();
        if let Some(found) = registry.find(environment) {
            registry.end(environment);
            // SAFETY: it was made by `mdb_env_create`, and nothing uses it any more.
            drop(unsafe { Box::from_raw(found) });
        }
        Ok(())
    });
}

/// Copies the database to another directory, or file.
///
/// # Safety
///
/// `environment` is a handle, and `path` a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_copy(environment: *mut Environment, path: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { mdb_env_copy2(environment, path, 0) }
}

/// Like [`mdb_env_copy`], with flags: [`flags::CP_COMPACT`].
///
/// # Safety
///
/// As for [`mdb_env_copy`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_copy2(
    environment: *mut Environment,
    path: *const c_char,
    asked: c_uint,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let environment = unsafe { live(environment) }?;
        // SAFETY: the caller's promise.
        let path = unsafe { string(path) }?;
        copy::to_path(environment.opened()?, path, asked)
    })
}

/// Copies the database to a descriptor, which may be a pipe's.
///
/// # Safety
///
/// `environment` is a handle; the descriptor is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_copyfd(
    environment: *mut Environment,
    descriptor: FileHandle,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { mdb_env_copyfd2(environment, descriptor, 0) }
}

/// Like [`mdb_env_copyfd`], with flags: [`flags::CP_COMPACT`].
///
/// # Safety
///
/// As for [`mdb_env_copyfd`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_copyfd2(
    environment: *mut Environment,
    descriptor: FileHandle,
    asked: c_uint,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let environment = unsafe { live(environment) }?;
        copy::to_descriptor(environment.opened()?, descriptor, asked)
    })
}

/// Returns counts of the main database, as of the last commit.
///
/// # Safety
///
/// `environment` is a handle, and `stat` points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_stat(environment: *mut Environment, stat: *mut Stat) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (environment, stat) = unsafe { (live(environment)?, own(stat)?) };
        *stat = transaction::stat_of_main(environment.opened()?)?;
        Ok(())
    })
}

/// Returns the properties of an environment.
///
/// # Safety
///
/// `environment` is a handle, and `info` points to memory for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_info(
    environment: *mut Environment,
    info: *mut EnvironmentInfo,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (environment, out) = unsafe { (live(environment)?, info) };
        let opened = environment.opened()?;
        let stat = opened.database.stat()?;
        let info = EnvironmentInfo {
            map_address: ptr::null_mut(),
            map_size: usize::try_from(opened.map_size()?).unwrap_or(usize::MAX),
            last_page: (stat.page_count - 1).saturating_sub(PAGES_MORE) as usize,
            last_transaction: opened.last_transaction()? as usize,
            max_readers: opened.max_readers,
            reader_count: match opened.has(flags::NOLOCK) {
                true => 0,
                false => opened.reader_slots.high_water() as c_uint,
            },
        };
        if out.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: not null, and the caller promises room, which need not hold anything yet.
        unsafe { out.write(info) };
        Ok(())
    })
}

/// Makes all commits durable. Without `force`, only if the flags ask for durable commits.
///
/// # Safety
///
/// `environment` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_sync(environment: *mut Environment, force: c_int) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let opened = unsafe { live(environment) }?.opened()?;
        opened.refuse_read_only()?;
        if force != 0 || !opened.has(flags::NOSYNC) {
            opened.database.sync()?;
        }
        Ok(())
    })
}

/// Returns the path that the environment was opened with; null before that.
///
/// # Safety
///
/// `environment` is a handle, and `path` points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_get_path(
    environment: *mut Environment,
    path: *mut *const c_char,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (environment, out) = unsafe { (live(environment)?, own(path)?) };
        *out = match environment.opened() {
            Ok(opened) => opened.path.as_ptr(),
            Err(_) => ptr::null(),
        };
        Ok(())
    })
}

/// Returns a descriptor of the data file, which the client can use to lock it.
///
/// # Safety
///
/// `environment` is a handle, and `descriptor` points to memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_get_fd(
    environment: *mut Environment,
    descriptor: *mut FileHandle,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (environment, out) = unsafe { (live(environment)?, own(descriptor)?) };
        *out = match environment.opened() {
            Ok(opened) => system::handle_of(&opened.data),
            Err(_) => system::NO_FILE,
        };
        Ok(())
    })
}

/// The C string at a pointer, which must not be null.
///
/// # Safety
///
/// It is null or a string that is valid for `'s`.
unsafe fn string<'s>(string: *const c_char) -> CallResult<&'s CStr> {
    match string.is_null() {
        true => Err(Code::INVALID_ARGUMENT),
        // SAFETY: the caller's promise.
        false => Ok(unsafe { CStr::from_ptr(string) }),
    }
}
