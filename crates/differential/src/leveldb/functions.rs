//! The functions of a library with LevelDB's interface for C, found by name when the program runs:
//! two libraries with equal names are loaded side by side.

#![allow(unsafe_code)]

use anyhow::{Result, bail};
use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    os::unix::ffi::OsStrExt as _,
    path::Path,
    ptr::null_mut,
};

/// An object of the library.
pub(crate) type Object = *mut c_void;
/// The address of a pointer to the text of an error.
pub(crate) type ErrorText = *mut *mut c_char;
/// The address of bytes.
pub(crate) type Start = *const c_char;

pub(crate) type OnPut = extern "C" fn(Object, Start, usize, Start, usize);
pub(crate) type OnDelete = extern "C" fn(Object, Start, usize);
pub(crate) type OnDestroy = extern "C" fn(Object);
pub(crate) type OnCompare = extern "C" fn(Object, Start, usize, Start, usize) -> c_int;
pub(crate) type OnName = extern "C" fn(Object) -> Start;

macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $returned:ty)?;)*) => {
        /// The functions, by their names without `leveldb_`.
        #[derive(Debug)]
        pub(crate) struct LevelDbFunctions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $returned)?,)*
        }

        impl LevelDbFunctions {
            fn find(library: Object) -> Result<Self> {
                Ok(Self {
                    $($name: {
                        let address = find(library, concat!("leveldb_", stringify!($name)))?;
                        // SAFETY: the function of this name has this type in LevelDB's interface.
                        unsafe { std::mem::transmute::<Object, unsafe extern "C" fn($($argument),*) $(-> $returned)?>(address) }
                    },)*
                })
            }
        }
    };
}

functions! {
    open(Object, Start, ErrorText) -> Object;
    close(Object);
    put(Object, Object, Start, usize, Start, usize, ErrorText);
    delete(Object, Object, Start, usize, ErrorText);
    write(Object, Object, Object, ErrorText);
    get(Object, Object, Start, usize, *mut usize, ErrorText) -> *mut c_char;
    create_iterator(Object, Object) -> Object;
    create_snapshot(Object) -> Object;
    release_snapshot(Object, Object);
    property_value(Object, Start) -> *mut c_char;
    approximate_sizes(
        Object, c_int, *const Start, *const usize, *const Start, *const usize, *mut u64
    );
    compact_range(Object, Start, usize, Start, usize);
    destroy_db(Object, Start, ErrorText);
    repair_db(Object, Start, ErrorText);
    iter_destroy(Object);
    iter_valid(Object) -> u8;
    iter_seek_to_first(Object);
    iter_seek_to_last(Object);
    iter_seek(Object, Start, usize);
    iter_next(Object);
    iter_prev(Object);
    iter_key(Object, *mut usize) -> Start;
    iter_value(Object, *mut usize) -> Start;
    iter_get_error(Object, ErrorText);
    writebatch_create() -> Object;
    writebatch_destroy(Object);
    writebatch_clear(Object);
    writebatch_put(Object, Start, usize, Start, usize);
    writebatch_delete(Object, Start, usize);
    writebatch_iterate(Object, Object, OnPut, OnDelete);
    writebatch_append(Object, Object);
    options_create() -> Object;
    options_destroy(Object);
    options_set_comparator(Object, Object);
    options_set_filter_policy(Object, Object);
    options_set_create_if_missing(Object, u8);
    options_set_error_if_exists(Object, u8);
    options_set_paranoid_checks(Object, u8);
    options_set_write_buffer_size(Object, usize);
    options_set_block_size(Object, usize);
    options_set_block_restart_interval(Object, c_int);
    options_set_max_file_size(Object, usize);
    options_set_compression(Object, c_int);
    comparator_create(Object, OnDestroy, OnCompare, OnName) -> Object;
    comparator_destroy(Object);
    filterpolicy_create_bloom(c_int) -> Object;
    filterpolicy_destroy(Object);
    readoptions_create() -> Object;
    readoptions_destroy(Object);
    readoptions_set_snapshot(Object, Object);
    readoptions_set_verify_checksums(Object, u8);
    writeoptions_create() -> Object;
    writeoptions_destroy(Object);
    writeoptions_set_sync(Object, u8);
    free(Object);
}

impl LevelDbFunctions {
    /// Loads a library, which stays loaded. It uses its own symbols before those of others.
    pub(crate) fn load(library: &Path) -> Result<&'static Self> {
        let name = CString::new(library.as_os_str().as_bytes())?;
        let flags = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND;
        // SAFETY: the name is a string. The library's initialisation is part of what is compared.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        if handle.is_null() {
            bail!("{} cannot be loaded: {}", library.display(), last_error());
        }
        Ok(Box::leak(Box::new(Self::find(handle)?)))
    }

    /// Calls a function with the address of an error.
    pub(crate) fn call<R>(&self, call: impl FnOnce(ErrorText) -> R) -> Result<R, String> {
        let mut error: *mut c_char = null_mut();
        let returned = call(&raw mut error);
        match self.take(error, None) {
            None => Ok(returned),
            Some(text) => Err(String::from_utf8_lossy(&text).into_owned()),
        }
    }

    /// Takes a text or bytes of `malloc`, which the library frees.
    pub(crate) fn take(&self, text: *mut c_char, len: Option<usize>) -> Option<Vec<u8>> {
        if text.is_null() {
            return None;
        }
        // SAFETY: the library gave bytes of this length, or a string.
        let bytes = unsafe {
            match len {
                Some(len) => bytes(text, len).to_vec(),
                None => CStr::from_ptr(text).to_bytes().to_vec(),
            }
        };
        // SAFETY: it is of `malloc`, and not used any more.
        unsafe { (self.free)(text.cast()) };
        Some(bytes)
    }
}

fn find(library: Object, name: &str) -> Result<Object> {
    let symbol = CString::new(name)?;
    // SAFETY: the library is loaded, and the name is a string.
    let address = unsafe { libc::dlsym(library, symbol.as_ptr()) };
    if address.is_null() {
        bail!("the library has no {name}");
    }
    Ok(address)
}

fn last_error() -> String {
    // SAFETY: the text is valid until the next call of this kind, of which this thread makes none.
    let text = unsafe { libc::dlerror() };
    match text.is_null() {
        true => "for an unknown reason".to_owned(),
        // SAFETY: it is a string.
        false => unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned(),
    }
}

/// Bytes that a library gave.
///
/// # Safety
///
/// They are valid for `'a`.
pub(crate) unsafe fn bytes<'a>(start: Start, len: usize) -> &'a [u8] {
    match len {
        0 => &[],
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts(start.cast(), len) },
    }
}

/// The address of bytes.
pub(crate) fn start(bytes: &[u8]) -> Start {
    bytes.as_ptr().cast()
}
