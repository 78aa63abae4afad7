//! The FFI boundary: conversions of arguments and results, and catching panics.

use crate::{failure::Failure, teak_code};
use std::{
    ffi::{CStr, c_char, c_void},
    mem::size_of,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    ptr, slice,
};

/// The result of functions within this crate.
pub(crate) type CallResult = Result<teak_code, Failure>;

/// The result of a function that has succeeded.
pub(crate) const OK: CallResult = Ok(teak_code::TEAK_OK);

/// The result of a function that answers yes or no.
pub(crate) fn whether(is_so: bool) -> teak_code {
    match is_so {
        true => teak_code::TEAK_OK,
        false => teak_code::TEAK_NONE,
    }
}

/// A sequence of arbitrary bytes. If the length is 0, the address may be NULL.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_slice {
    /// The first byte.
    pub data: *const c_void,
    /// The number of bytes.
    pub len: usize,
}

// SAFETY: it is an address and a length; code that reads the bytes has its own safety argument.
unsafe impl Send for teak_slice {}
// SAFETY: it is an address and a length; code that reads the bytes has its own safety argument.
unsafe impl Sync for teak_slice {}

impl teak_slice {
    /// A C slice of `bytes`.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self {
            data: bytes.as_ptr().cast(),
            len: bytes.len(),
        }
    }

    /// No bytes, at no address.
    pub(crate) const NOTHING: Self = Self {
        data: ptr::null(),
        len: 0,
    };

    /// The bytes.
    ///
    /// # Safety
    ///
    /// They are valid and unchanged for `'v`.
    pub(crate) unsafe fn bytes<'v>(self) -> Result<&'v [u8], Failure> {
        // SAFETY: the caller's promise.
        unsafe { array(self.data.cast(), self.len) }
    }
}

/// A slice of a C array.
///
/// # Safety
///
/// The array has `len` valid elements, which do not change for `'v`.
pub(crate) unsafe fn array<'v, T>(data: *const T, len: usize) -> Result<&'v [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    refuse_impossible(data, len)?;
    // SAFETY: the pointer is not null and aligned, the length is possible, and the caller promises
    // the rest.
    Ok(unsafe { slice::from_raw_parts(data, len) })
}

/// A mutable slice of a C array.
///
/// # Safety
///
/// The array has `len` valid elements, and nothing else accesses them for `'v`.
pub(crate) unsafe fn array_mut<'v, T>(data: *mut T, len: usize) -> Result<&'v mut [T], Failure> {
    if len == 0 {
        return Ok(&mut []);
    }
    refuse_impossible(data, len)?;
    // SAFETY: the pointer is not null and aligned, the length is possible, and the caller promises
    // the rest.
    Ok(unsafe { slice::from_raw_parts_mut(data, len) })
}

fn refuse_impossible<T>(data: *const T, len: usize) -> Result<(), Failure> {
    if data.is_null() {
        let text =
            format!("a null pointer was passed with a length of {len}; only length 0 is allowed");
        return Err(Failure::invalid_argument(text));
    }
    let bytes = len.checked_mul(size_of::<T>());
    if bytes
        .and_then(|bytes| isize::try_from(bytes).ok())
        .is_none()
    {
        let text = format!(
            "no memory can have this many bytes: {len} times {}",
            size_of::<T>()
        );
        return Err(Failure::invalid_argument(text));
    }
    match data.is_aligned() {
        true => Ok(()),
        false => Err(Failure::invalid_argument(
            "a pointer to an array is not aligned",
        )),
    }
}

/// A path of the file system: any bytes on Unix, and UTF-8 elsewhere.
///
/// # Safety
///
/// `path` is null or points to a zero-terminated string that is valid for `'v`.
pub(crate) unsafe fn path<'v>(path: *const c_char) -> Result<&'v Path, Failure> {
    if path.is_null() {
        return Err(Failure::invalid_argument("the path is a null pointer"));
    }
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) };
    path_of(path)
}

#[cfg(unix)]
fn path_of(path: &CStr) -> Result<&Path, Failure> {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    Ok(Path::new(OsStr::from_bytes(path.to_bytes())))
}

#[cfg(not(unix))]
fn path_of(path: &CStr) -> Result<&Path, Failure> {
    let text = path.to_str().map(Path::new);
    text.map_err(|_| Failure::invalid_argument("the path is not UTF-8; convert it first"))
}

/// A pointer to memory for a result.
pub(crate) struct OutParameter<T>(*mut T);

impl<T> OutParameter<T> {
    /// Refuses a null pointer.
    ///
    /// # Safety
    ///
    /// `pointer` is null, or points to memory for a `T` while this value is used.
    pub(crate) unsafe fn new(pointer: *mut T, name: &str) -> Result<Self, Failure> {
        match pointer.is_null() {
            true => Err(Failure::invalid_argument(format!(
                "{name} is a null pointer"
            ))),
            false => Ok(Self(pointer)),
        }
    }

    pub(crate) fn set(&self, value: T) {
        // SAFETY: `new` was promised memory for a `T`.
        unsafe { self.0.write(value) };
    }
}

/// Stores a result unless the pointer is null.
///
/// # Safety
///
/// `pointer` is null or points to memory for a `T`.
pub(crate) unsafe fn give<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: the caller's promise.
        unsafe { pointer.write(value) };
    }
}

/// Runs `work` and turns a panic into a failure.
#[inline]
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    // A panic can leave a transaction half changed; that transaction is marked as broken.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(answer) => answer,
        Err(payload) => Err(Failure::panicked(&*payload)),
    }
}

/// Structures that begin with their size, which C sets, so that later versions can add fields.
/// Fields missing from a shorter structure read as zero. Extra fields of a longer one must be zero.
///
/// # Safety
///
/// The first field is `size: usize`, any bytes are a valid value, and there is no padding.
pub(crate) unsafe trait Grows: Sized {
    /// The name in C.
    const NAME: &'static str;

    /// Reads the structure that C has filled in.
    ///
    /// # Safety
    ///
    /// `from` is null, which stands for zeros, or points to as many bytes as its size says.
    unsafe fn read_from(from: *const Self) -> Result<Self, Failure> {
        // SAFETY: any bytes are a value.
        let mut value: Self = unsafe { std::mem::zeroed() };
        if from.is_null() {
            return Ok(value);
        }
        // SAFETY: the structure begins with its size.
        let size = unsafe { from.cast::<usize>().read_unaligned() };
        if size < size_of::<usize>() || size > 1 << 16 {
            let name = Self::NAME;
            let text = format!("the size field of a {name} is {size}; set it to sizeof({name})");
            return Err(Failure::invalid_argument(text));
        }
        let known = size.min(size_of::<Self>());
        // SAFETY: both have that many bytes, any bytes are a valid value, and the bytes after the
        // known fields are readable too.
        let rest = unsafe {
            ptr::copy_nonoverlapping(from.cast::<u8>(), ptr::from_mut(&mut value).cast(), known);
            slice::from_raw_parts(from.cast::<u8>().add(known), size - known)
        };
        match rest.iter().all(|byte| *byte == 0) {
            true => Ok(value),
            false => Err(Failure::too_new(Self::NAME)),
        }
    }

    /// Fills in the fields that C has room for. Does not change the size.
    ///
    /// # Safety
    ///
    /// `to` is null or points to as many bytes as its size says.
    unsafe fn write_to(&self, to: *mut Self) {
        if to.is_null() {
            return;
        }
        // SAFETY: the structure begins with its size.
        let size = unsafe { to.cast::<usize>().read_unaligned() }.min(size_of::<Self>());
        if let Some(len) = size.checked_sub(size_of::<usize>()) {
            let from = ptr::from_ref(self).cast::<u8>();
            // SAFETY: both have that many bytes after the size field.
            unsafe {
                let from = from.add(size_of::<usize>());
                let to = to.cast::<u8>().add(size_of::<usize>());
                ptr::copy_nonoverlapping(from, to, len);
            }
        }
    }
}

#[cfg(test)]
#[path = "ffi_tests.rs"]
mod tests;
