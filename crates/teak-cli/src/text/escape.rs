//! Bytes as readable text with escapes.
//!
//! The dump format's `print` encoding keeps the printable ASCII characters and writes all else as
//! `\` and two hexadecimal digits. Tab-separated text keeps UTF-8 too, and writes `\t`, `\n`, `\r`,
//! `\\`, and `\xHH` for control characters and for bytes that are not UTF-8, so that no field can
//! move a terminal's cursor or be taken for two.

use super::{Fault, hex};
use std::io::{self, Write};
use std::path::Path;

/// Appends `bytes` to `text` in the `print` encoding.
pub(super) fn encode_print(bytes: &[u8], text: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'\\' => text.extend(b"\\\\"),
            b' '..=b'~' => text.push(*byte),
            _ => {
                text.push(b'\\');
                text.extend(hex::pair(*byte));
            }
        }
    }
}

/// Appends the bytes that `text` stands for in the `print` encoding to `bytes`.
pub(super) fn decode_print(text: &[u8], bytes: &mut Vec<u8>) -> Result<(), Fault> {
    decode(text, bytes, |escape, position| match escape {
        [b'\\', ..] => Ok((b'\\', 1)),
        [high, low, ..] => escaped_byte([*high, *low], position).map(|byte| (byte, 2)),
        _ => Err(Fault {
            position: position + escape.len(),
            expected: "two hexadecimal digits behind the backslash",
        }),
    })
}

/// Writes one field of tab-separated text.
pub(crate) fn write_tsv_field(bytes: &[u8], output: &mut impl Write) -> io::Result<()> {
    for chunk in bytes.utf8_chunks() {
        write_tsv_text(chunk.valid(), output)?;
        write_tsv_bytes(chunk.invalid(), output)?;
    }
    Ok(())
}

fn write_tsv_text(text: &str, output: &mut impl Write) -> io::Result<()> {
    let mut plain_start = 0;
    let special = |(_, character): &(usize, char)| *character == '\\' || character.is_control();
    for (position, character) in text.char_indices().filter(special) {
        output.write_all(&text.as_bytes()[plain_start..position])?;
        plain_start = position + character.len_utf8();
        match character {
            '\t' => output.write_all(b"\\t")?,
            '\n' => output.write_all(b"\\n")?,
            '\r' => output.write_all(b"\\r")?,
            '\\' => output.write_all(b"\\\\")?,
            _ => write_tsv_bytes(&text.as_bytes()[position..plain_start], output)?,
        }
    }
    output.write_all(&text.as_bytes()[plain_start..])
}

fn write_tsv_bytes(bytes: &[u8], output: &mut impl Write) -> io::Result<()> {
    for byte in bytes {
        output.write_all(b"\\x")?;
        output.write_all(&hex::pair(*byte))?;
    }
    Ok(())
}

/// Appends the bytes that a field of tab-separated text stands for to `bytes`.
pub(super) fn decode_tsv_field(text: &[u8], bytes: &mut Vec<u8>) -> Result<(), Fault> {
    decode(text, bytes, |escape, position| match escape {
        [b't', ..] => Ok((b'\t', 1)),
        [b'n', ..] => Ok((b'\n', 1)),
        [b'r', ..] => Ok((b'\r', 1)),
        [b'\\', ..] => Ok((b'\\', 1)),
        [b'x', high, low, ..] => escaped_byte([*high, *low], position + 1).map(|byte| (byte, 3)),
        [b'x', rest @ ..] => Err(Fault {
            position: position + 1 + rest.len(),
            expected: "two hexadecimal digits behind \\x",
        }),
        _ => Err(Fault {
            position,
            expected: "t, n, r, x or another backslash behind the backslash",
        }),
    })
}

/// `bytes` as text that is safe on any terminal, for messages.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(bytes.len());
    // Writing into memory cannot fail.
    let _ = write_tsv_field(bytes, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// A path as text that is safe on any terminal.
pub(crate) fn shown_path(path: &Path) -> String {
    printable(path.as_os_str().as_encoded_bytes())
}

/// Copies `text`, asking `decode_escape` for the byte that an escape stands for and for the length
/// of the escape. It is given what follows the backslash and the position of that.
fn decode(
    text: &[u8],
    bytes: &mut Vec<u8>,
    decode_escape: impl Fn(&[u8], usize) -> Result<(u8, usize), Fault>,
) -> Result<(), Fault> {
    let mut position = 0;
    while let Some(distance) = text[position..].iter().position(|byte| *byte == b'\\') {
        bytes.extend_from_slice(&text[position..position + distance]);
        position += distance + 1;
        let (byte, len) = decode_escape(&text[position..], position)?;
        bytes.push(byte);
        position += len;
    }
    bytes.extend_from_slice(&text[position..]);
    Ok(())
}

fn escaped_byte(digits: [u8; 2], position: usize) -> Result<u8, Fault> {
    hex::decode_pair(digits).map_err(|offset| Fault {
        position: position + offset,
        expected: "a hexadecimal digit",
    })
}
