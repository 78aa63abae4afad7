//! The border to C: what crosses it, and that panics do not.

use crate::{cause::Failure, teak_code};
use std::{
    ffi::{CStr, OsStr, c_char, c_void},
    mem::size_of,
    os::unix::ffi::OsStrExt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    ptr, slice,
};

/// What functions of this crate answer among themselves.
pub(crate) type CallResult = Result<teak_code, Failure>;

/// Done.
pub(crate) const OK: CallResult = Ok(teak_code::TEAK_OK);

/// Yes or no.
pub(crate) fn whether(is_so: bool) -> teak_code {
    match is_so {
        true => teak_code::TEAK_OK,
        false => teak_code::TEAK_NONE,
    }
}

/// Bytes, which may be any. Those of no length need no address.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_slice {
    /// Where they begin.
    pub data: *const c_void,
    /// How many there are.
    pub len: usize,
}

// SAFETY: it is an address and a length; who makes bytes of it answers for them.
unsafe impl Send for teak_slice {}
// SAFETY: it is an address and a length; who makes bytes of it answers for them.
unsafe impl Sync for teak_slice {}

impl teak_slice {
    /// What is in `bytes`, for C to look at.
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
    /// They are there, and stay as they are, for `'v`.
    pub(crate) unsafe fn bytes<'v>(self) -> Result<&'v [u8], Failure> {
        // SAFETY: the caller's promise.
        unsafe { array(self.data.cast(), self.len) }
    }
}

/// So many of C's things.
///
/// # Safety
///
/// They are there, and stay as they are, for `'v`.
pub(crate) unsafe fn array<'v, T>(data: *const T, len: usize) -> Result<&'v [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    refuse_impossible(data, len)?;
    // SAFETY: not null, aligned, of a length that memory can have, and the caller promises the rest.
    Ok(unsafe { slice::from_raw_parts(data, len) })
}

/// The same, to be filled in.
///
/// # Safety
///
/// They are there, and nobody else uses them, for `'v`.
pub(crate) unsafe fn array_mut<'v, T>(data: *mut T, len: usize) -> Result<&'v mut [T], Failure> {
    if len == 0 {
        return Ok(&mut []);
    }
    refuse_impossible(data, len)?;
    // SAFETY: not null, aligned, of a length that memory can have, and the caller promises the rest.
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

/// A path of the file system.
///
/// # Safety
///
/// `path` is null or leads to characters with a zero behind them, for `'v`.
pub(crate) unsafe fn path<'v>(path: *const c_char) -> Result<&'v Path, Failure> {
    if path.is_null() {
        return Err(Failure::invalid_argument("the path is a null pointer"));
    }
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) };
    Ok(Path::new(OsStr::from_bytes(path.to_bytes())))
}

/// A place for what a function gives.
pub(crate) struct OutParameter<T>(*mut T);

impl<T> OutParameter<T> {
    /// It must not be null.
    ///
    /// # Safety
    ///
    /// `place` is null or leads to memory for a `T`, as long as this is used.
    pub(crate) unsafe fn new(place: *mut T, name: &str) -> Result<Self, Failure> {
        match place.is_null() {
            true => Err(Failure::invalid_argument(format!(
                "{name} is a null pointer"
            ))),
            false => Ok(Self(place)),
        }
    }

    pub(crate) fn set(&self, value: T) {
        // SAFETY: there is memory for it.
        unsafe { self.0.write(value) };
    }
}

/// Gives something for which there may be no place.
///
/// # Safety
///
/// `place` is null or leads to memory for a `T`.
pub(crate) unsafe fn give<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write(value) };
    }
}

/// What `work` says, or that it has panicked.
#[inline]
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    // What a panic leaves half done is a transaction, which is marked as broken then.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(answer) => answer,
        Err(payload) => Err(Failure::panicked(&*payload)),
    }
}

/// Structures that begin with their size, which C sets, so that they can grow: what is missing in a shorter one is zero, and what is more in a
/// longer one must be.
///
/// # Safety
///
/// The first field is `size: usize`, any bytes are a value, and there is no padding.
pub(crate) unsafe trait Grows: Sized {
    /// What C calls it.
    const NAME: &'static str;

    /// What C has set.
    ///
    /// # Safety
    ///
    /// `from` is null, for nothing but zeros, or leads to as many bytes as it says.
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
        // SAFETY: both have so many bytes, and any bytes are a value; what is behind is there too.
        let rest = unsafe {
            ptr::copy_nonoverlapping(from.cast::<u8>(), ptr::from_mut(&mut value).cast(), known);
            slice::from_raw_parts(from.cast::<u8>().add(known), size - known)
        };
        match rest.iter().all(|byte| *byte == 0) {
            true => Ok(value),
            false => Err(Failure::too_new(Self::NAME)),
        }
    }

    /// Fills in what C has room for, and leaves the size as it is.
    ///
    /// # Safety
    ///
    /// `to` is null or leads to as many bytes as it says.
    unsafe fn write_to(&self, to: *mut Self) {
        if to.is_null() {
            return;
        }
        // SAFETY: the structure begins with its size.
        let size = unsafe { to.cast::<usize>().read_unaligned() }.min(size_of::<Self>());
        if let Some(len) = size.checked_sub(size_of::<usize>()) {
            let from = ptr::from_ref(self).cast::<u8>();
            // SAFETY: both have so many bytes behind their size.
            unsafe {
                let from = from.add(size_of::<usize>());
                let to = to.cast::<u8>().add(size_of::<usize>());
                ptr::copy_nonoverlapping(from, to, len);
            }
        }
    }
}

#[cfg(test)]
#[path = "border_tests.rs"]
mod tests;
