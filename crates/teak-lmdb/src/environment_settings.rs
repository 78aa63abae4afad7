//! `mdb_env_set_*` and `mdb_env_get_*`: settings of an environment.

use crate::{
    border::{answer, live, own},
    codes::Code,
    environment::Environment,
    flags,
    limits::MAX_KEY,
};
use std::{
    ffi::{c_char, c_int, c_uint, c_void},
    ptr,
    sync::atomic::Ordering,
};

/// Sets or clears flags that can be changed.
///
/// # Safety
///
/// `environment` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_set_flags(
    environment: *mut Environment,
    changed: c_uint,
    is_on: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    answer(|| unsafe { live(environment) }?.set_flags(changed, is_on != 0))
}

/// Returns the flags of an environment.
///
/// # Safety
///
/// `environment` is a handle, and `flags` points to memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_get_flags(
    environment: *mut Environment,
    flags: *mut c_uint,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (environment, out) = unsafe { (live(environment)?, own(flags)?) };
        *out = environment.flags() & (flags::CHANGEABLE | flags::CHANGELESS);
        Ok(())
    })
}

/// Sets the map size: the limit of the file's length in bytes.
///
/// # Safety
///
/// `environment` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_set_mapsize(environment: *mut Environment, size: usize) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let environment = unsafe { live(environment) }?;
        let size = size as u64;
        match environment.opened() {
            Ok(opened) => opened.set_map_size(size),
            Err(_) => environment.want(|wanted| wanted.map_size = (size != 0).then_some(size)),
        }
    })
}

/// Sets the maximum number of readers, before the environment is opened.
///
/// # Safety
///
/// `environment` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_set_maxreaders(
    environment: *mut Environment,
    readers: c_uint,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let environment = unsafe { live(environment) }?;
        if readers == 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        environment.want(|wanted| wanted.max_readers = readers)
    })
}

/// Returns the maximum number of readers.
///
/// # Safety
///
/// `environment` is a handle, and `readers` points to memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_get_maxreaders(
    environment: *mut Environment,
    readers: *mut c_uint,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (environment, readers) = unsafe { (live(environment)?, own(readers)?) };
        *readers = environment.max_readers();
        Ok(())
    })
}

/// Sets the maximum number of open named databases, before the environment is opened.
///
/// # Safety
///
/// `environment` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_set_maxdbs(
    environment: *mut Environment,
    databases: c_uint,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let environment = unsafe { live(environment) }?;
        environment.want(|wanted| wanted.max_databases = databases as usize)
    })
}

/// Returns the length of the longest key in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_get_maxkeysize(_environment: *mut Environment) -> c_int {
    MAX_KEY as c_int
}

/// Stores a pointer for the client.
///
/// # Safety
///
/// `environment` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_set_userctx(
    environment: *mut Environment,
    context: *mut c_void,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let environment = unsafe { live(environment) }?;
        environment.user_context.store(context, Ordering::Release);
        Ok(())
    })
}

/// Returns the client's pointer.
///
/// # Safety
///
/// `environment` is null or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_get_userctx(environment: *mut Environment) -> *mut c_void {
    // SAFETY: the caller's promise.
    match unsafe { live(environment) } {
        Ok(environment) => environment.user_context.load(Ordering::Acquire),
        Err(_) => ptr::null_mut(),
    }
}

/// Stores the client's function for failed assertions, which nothing calls.
///
/// # Safety
///
/// `environment` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_env_set_assert(
    environment: *mut Environment,
    function: Option<unsafe extern "C" fn(*mut Environment, *const c_char)>,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let environment = unsafe { live(environment) }?;
        let function = function.map_or(ptr::null_mut(), |function| function as *mut c_void);
        environment
            .assert_function
            .store(function, Ordering::Release);
        Ok(())
    })
}
