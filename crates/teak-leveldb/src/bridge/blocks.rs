//! Compression and checksums of blocks.

use super::types::tl_slice;
use std::ffi::c_void;

/// Compresses a block with snappy. `made` gets the result.
///
/// # Safety
///
/// The bytes are valid, and `made` can be called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_snappy_compress(
    plain: tl_slice,
    made: unsafe extern "C" fn(*mut c_void, tl_slice),
    context: *mut c_void,
) -> bool {
    // SAFETY: the caller's promise.
    match snap::raw::Encoder::new().compress_vec(unsafe { plain.bytes() }) {
        Ok(compressed) => {
            // SAFETY: the caller's promise.
            unsafe { made(context, tl_slice::of(&compressed)) };
            true
        }
        Err(_) => false,
    }
}

/// Decompresses a block with snappy. `made` gets the result.
///
/// # Safety
///
/// The bytes are valid, and `made` can be called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_snappy_decompress(
    compressed: tl_slice,
    made: unsafe extern "C" fn(*mut c_void, tl_slice),
    context: *mut c_void,
) -> bool {
    /// Snappy makes at most 64 bytes of 3.
    const RATIO_MAX: usize = 22;
    // SAFETY: the caller's promise.
    let compressed = unsafe { compressed.bytes() };
    let len = snap::raw::decompress_len(compressed).unwrap_or(usize::MAX);
    if len / RATIO_MAX > compressed.len() {
        return false;
    }
    match snap::raw::Decoder::new().decompress_vec(compressed) {
        Ok(plain) => {
            // SAFETY: the caller's promise.
            unsafe { made(context, tl_slice::of(&plain)) };
            true
        }
        Err(_) => false,
    }
}

/// The checksum CRC-32C of bytes, continued from that of earlier ones.
///
/// # Safety
///
/// The bytes are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_crc32c(before: u32, bytes: tl_slice) -> u32 {
    // SAFETY: the caller's promise.
    crc32c::crc32c_append(before, unsafe { bytes.bytes() })
}
