//! `mdb_env_*`.

use crate::{
    border::{EnvironmentInfo, Stat, answer, caught, live, own, unanswered},
    codes::{CallResult, Code},
    copy,
    environment::Environment,
    flags,
    limits::{MAX_KEY, PAGES_MORE},
    readers,
    registry::HasRegistry,
    transaction,
};
use std::{
    ffi::{CStr, CString, c_char, c_int, c_uint, c_void},
    os::fd::AsRawFd,
    process, ptr,
    sync::atomic::Ordering,
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
    mode: libc::mode_t,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let environment = unsafe { live(environment) }?;
        // SAFETY: the caller's promise.
        let path = unsafe { string(path) }?;
        environment.open(path, asked, mode)
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
pub unsafe extern "C" fn mdb_env_copyfd(environment: *mut Environment, descriptor: c_int) -> c_int {
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
    descriptor: c_int,
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
    descriptor: *mut c_int,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (environment, out) = unsafe { (live(environment)?, own(descriptor)?) };
        *out = match environment.opened() {
            Ok(opened) => opened.data.as_raw_fd(),
            Err(_) => -1,
        };
        Ok(())
    })
}

/// Sets how long the file may become.
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

/// Sets how many readers there may be, before the environment is opened.
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

/// Sets how many named databases can be open, before the environment is opened.
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

/// The longest key.
#[unsafe(no_mangle)]
pub extern "C" fn mdb_env_get_maxkeysize(_environment: *mut Environment) -> c_int {
    MAX_KEY as c_int
}

/// Keeps a pointer of the client's.
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

/// The pointer that is kept.
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

/// Keeps a function for failed assertions.
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

/// A client's function that is given lines.
pub type MessageFunction = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;

/// Calls `function` with a line for each reader. A negative answer ends the calls.
///
/// # Safety
///
/// `environment` is a handle, and `function` can be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_reader_list(
    environment: *mut Environment,
    function: Option<MessageFunction>,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    let lines = match (unsafe { live(environment) }, function) {
        (Ok(environment), Some(_)) => caught(|| lines(environment)),
        _ => return -1,
    };
    let (Ok(lines), Some(function)) = (lines, function) else {
        return -1;
    };
    let mut answered = 0;
    for line in lines {
        // SAFETY: the caller's promise; the line is a string.
        answered = unsafe { function(line.as_ptr(), context) };
        if answered < 0 {
            break;
        }
    }
    answered
}

/// The lines of the readers: those of this environment by their slots, those of other processes as
/// the engine lists them.
fn lines(environment: &Environment) -> CallResult<Vec<CString>> {
    let opened = environment.opened().ok();
    let Some(opened) = opened.filter(|opened| !opened.has(flags::NOLOCK)) else {
        return Ok(vec![c"(no reader locks)\n".to_owned()]);
    };
    let own = process::id();
    let mut lines: Vec<_> = opened
        .reader_slots
        .listed()
        .map(|listed| readers::line(own, listed))
        .collect();
    for reader in opened.database.readers()? {
        let other = reader.process.unwrap_or(0);
        if other != own {
            let listed = (reader.thread as usize, Some(reader.transaction.0));
            lines.push(readers::line(other, listed));
        }
    }
    match lines.is_empty() {
        true => lines.push("(no active readers)\n".into()),
        false => lines.insert(0, "    pid     thread     txnid\n".into()),
    }
    let lines = lines
        .into_iter()
        .map(CString::new)
        .collect::<Result<_, _>>();
    lines.map_err(|_| Code::INVALID_ARGUMENT)
}

/// Checks for readers of dead processes. The engine removes them by itself, so there are none.
///
/// # Safety
///
/// `environment` is a handle, and `dead` is null or points to memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_reader_check(
    environment: *mut Environment,
    dead: *mut c_int,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        unsafe { live(environment) }?;
        // SAFETY: the caller's promise.
        if let Some(dead) = unsafe { dead.as_mut() } {
            *dead = 0;
        }
        Ok(())
    })
}

/// A string of C's.
///
/// # Safety
///
/// It is null or a string that stays for `'s`.
unsafe fn string<'s>(string: *const c_char) -> CallResult<&'s CStr> {
    match string.is_null() {
        true => Err(Code::INVALID_ARGUMENT),
        // SAFETY: the caller's promise.
        false => Ok(unsafe { CStr::from_ptr(string) }),
    }
}
