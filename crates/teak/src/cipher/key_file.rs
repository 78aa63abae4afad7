//! Reads keys from files and environment variables, passphrases from files, and creates files with
//! keys.

use super::{
    aead::KEY_LEN,
    system::{create_private_file, loose_permissions, random},
};
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

/// The longest passphrase in a file.
const PASSPHRASE_LEN_MAX: usize = 4096;

/// Reads the key in a file.
pub(super) fn read(path: &Path) -> Result<Zeroizing<[u8; KEY_LEN]>> {
    let content = read_private(path, TEXT_LEN_MAX)?;
    match without_line_break(&content) {
        bytes if bytes.len() == KEY_LEN => Ok(copied(bytes)),
        digits => decode(digits).ok_or_else(|| refused(path, &format!("is not a key: {FORM}"))),
    }
}

/// Reads the passphrase in a file: all of it, but for a line break at the end.
pub(super) fn read_passphrase(path: &Path) -> Result<Zeroizing<Vec<u8>>> {
    let mut passphrase = read_private(path, PASSPHRASE_LEN_MAX)?;
    if passphrase.len() > PASSPHRASE_LEN_MAX {
        let reason = format!("is too long: a passphrase has at most {PASSPHRASE_LEN_MAX} bytes");
        return Err(refused(path, &reason));
    }
    for line_break in [b'\n', b'\r'] {
        passphrase.pop_if(|last| *last == line_break);
    }
    match passphrase.is_empty() {
        false => Ok(passphrase),
        true => Err(refused(path, "has no passphrase")),
    }
}

/// Creates a file with a new random key, in hexadecimal digits.
pub(super) fn create(path: &Path) -> Result<Zeroizing<[u8; KEY_LEN]>> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let key = Zeroizing::new(random::<KEY_LEN>()?);
    let mut text = Zeroizing::new(Vec::with_capacity(TEXT_LEN_MAX));
    for byte in key.iter() {
        text.extend([byte >> 4, byte & 0xf].map(|digit| DIGITS[usize::from(digit)]));
    }
    text.push(b'\n');
    create_private_file(path, &text)?;
    Ok(key)
}

fn refused(path: &Path, reason: &str) -> Error {
    unavailable(format!("{} {reason}", shown(path)))
}

/// At most one byte more than `len_max` of a file that only its owner may use.
fn read_private(path: &Path, len_max: usize) -> Result<Zeroizing<Vec<u8>>> {
    let (content, loose) = read_file(path, len_max)
        .map_err(|error| refused(path, &format!("cannot be read: {error}")))?;
    match loose {
        None => Ok(content),
        Some(bits) => Err(refused(
            path,
            &format!(
                "can be read or changed by other users (mode {bits:03o}); let only its owner use \
                 it (`chmod 600`)"
            ),
        )),
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

/// The beginning of a file, at most one byte more than `len_max`, and its permissions if they are
/// loose.
fn read_file(path: &Path, len_max: usize) -> io::Result<(Zeroizing<Vec<u8>>, Option<u32>)> {
    let file = File::open(path)?;
    let loose = loose_permissions(&file.metadata()?);
    // With enough room from the beginning, no copies are left where the buffer was before.
    let mut content = Zeroizing::new(Vec::with_capacity(2 * len_max));
    file.take(len_max as u64 + 1).read_to_end(&mut content)?;
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
