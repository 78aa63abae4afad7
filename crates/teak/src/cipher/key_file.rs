//! Reads keys from files and environment variables.

use super::{aead::KEY_LEN, system::loose_permissions};
use crate::error::{Error, Result, shown};
use std::{
    env,
    ffi::OsStr,
    fs::File,
    io::{self, Read},
    path::Path,
};
use zeroize::Zeroizing;

/// The digits of a key, and a line break of two bytes.
const TEXT_LEN_MAX: usize = 2 * KEY_LEN + 2;

const FORM: &str = "a key has 32 bytes, or 64 hexadecimal digits";

/// Reads the key in a file.
pub(super) fn read(path: &Path) -> Result<Zeroizing<[u8; KEY_LEN]>> {
    let refused = |reason: String| unavailable(format!("{} {reason}", shown(path)));
    let (content, loose) =
        read_file(path).map_err(|error| refused(format!("cannot be read: {error}")))?;
    if let Some(bits) = loose {
        return Err(refused(format!(
            "can be read or changed by other users (mode {bits:03o}); let only its owner use it \
             (`chmod 600`)"
        )));
    }
    match without_line_break(&content) {
        bytes if bytes.len() == KEY_LEN => Ok(copied(bytes)),
        digits => decode(digits).ok_or_else(|| refused(format!("is not a key: {FORM}"))),
    }
}

/// Reads the key in an environment variable.
pub(super) fn read_variable(name: &OsStr) -> Result<Zeroizing<[u8; KEY_LEN]>> {
    let refused = |reason: &str| {
        let name = shown(Path::new(name));
        unavailable(format!("the environment variable {name} {reason}"))
    };
    let value = env::var_os(name).ok_or_else(|| refused("is not set"))?;
    let content = Zeroizing::new(value.into_encoded_bytes());
    decode(without_line_break(&content))
        .ok_or_else(|| refused("is not a key: it must have 64 hexadecimal digits"))
}

/// The beginning of a file, longer than any key, and its permissions if they are loose.
fn read_file(path: &Path) -> io::Result<(Zeroizing<Vec<u8>>, Option<u32>)> {
    let file = File::open(path)?;
    let loose = loose_permissions(&file.metadata()?);
    // With enough room from the beginning, no copies are left where the buffer was before.
    let mut content = Zeroizing::new(Vec::with_capacity(2 * TEXT_LEN_MAX));
    file.take(TEXT_LEN_MAX as u64 + 1)
        .read_to_end(&mut content)?;
    Ok((content, loose))
}

/// A key of 32 bytes may end with a line break of its own, so nothing is removed from it.
fn without_line_break(content: &[u8]) -> &[u8] {
    if content.len() == KEY_LEN {
        return content;
    }
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    match content.strip_suffix(b"\r") {
        Some(shorter) if content.len() != KEY_LEN => shorter,
        _ => content,
    }
}

fn decode(digits: &[u8]) -> Option<Zeroizing<[u8; KEY_LEN]>> {
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let mut key = Zeroizing::new([0; KEY_LEN]);
    if pairs.len() != KEY_LEN {
        return None;
    }
    for (byte, [high, low]) in key.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(key)
}

fn digit(character: u8) -> Option<u8> {
    let value = char::from(character).to_digit(16)?;
    u8::try_from(value).ok()
}

fn copied(bytes: &[u8]) -> Zeroizing<[u8; KEY_LEN]> {
    let mut key = Zeroizing::new([0; KEY_LEN]);
    key.copy_from_slice(bytes);
    key
}

/// The error if there is no key.
pub(super) fn unavailable(reason: String) -> Error {
    Error::KeyUnavailable { reason }
}
