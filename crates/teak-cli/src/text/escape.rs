//! Bytes as readable text with escapes.
//!
//! The dump format's `print` encoding keeps the printable ASCII characters and writes everything
//! else as `\` and two hexadecimal digits. Tab-separated text also keeps UTF-8. It writes `\t`,
//! `\n`, `\r`, `\\`, and `\xHH` for bytes that are not UTF-8 and for [hidden](is_hidden)
//! characters. A field therefore cannot move a terminal's cursor, reorder the displayed text, or
//! look like two fields.

use super::{fault::LineFault, hex};
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

/// Decodes `text` from the `print` encoding and appends it to `bytes`.
pub(super) fn decode_print(text: &[u8], bytes: &mut Vec<u8>) -> Result<(), LineFault> {
    decode(text, bytes, |escape, position| match escape {
        [b'\\', ..] => Ok((b'\\', 1)),
        [high, low, ..] => escaped_byte([*high, *low], position).map(|byte| (byte, 2)),
        _ => Err(LineFault {
            position: position + escape.len(),
            expected: "two hexadecimal digits after the backslash",
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

/// Whether a character is invisible or changes the display of others: control characters (Unicode's
/// category Cc), characters that change direction or joining (Cf), line ends (Zl, Zp), and
/// private-use ones (Co).
pub(crate) fn is_hidden(character: char) -> bool {
    match character {
        ' '..='~' => false,
        '\0'..='\u{9f}' => true,
        '\u{ad}'
        | '\u{600}'..='\u{605}'
        | '\u{61c}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{e000}'..='\u{f8ff}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{110bd}'
        | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e007f}'
        | '\u{f0000}'..='\u{10ffff}' => true,
        _ => false,
    }
}

/// Writes text, with characters that `is_special` written by `escape`.
pub(crate) fn write_escaped<W: Write + ?Sized>(
    text: &str,
    output: &mut W,
    is_special: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut W) -> io::Result<()>,
) -> io::Result<()> {
    let mut plain_start = 0;
    for (position, character) in text.char_indices() {
        if is_special(character) {
            output.write_all(&text.as_bytes()[plain_start..position])?;
            plain_start = position + character.len_utf8();
            escape(character, output)?;
        }
    }
    output.write_all(&text.as_bytes()[plain_start..])
}

fn write_tsv_text(text: &str, output: &mut impl Write) -> io::Result<()> {
    let is_special = |character| character == '\\' || is_hidden(character);
    write_escaped(
        text,
        output,
        is_special,
        |character, output| match character {
            '\t' => output.write_all(b"\\t"),
            '\n' => output.write_all(b"\\n"),
            '\r' => output.write_all(b"\\r"),
            '\\' => output.write_all(b"\\\\"),
            _ => write_tsv_bytes(character.encode_utf8(&mut [0; 4]).as_bytes(), output),
        },
    )
}

fn write_tsv_bytes(bytes: &[u8], output: &mut impl Write) -> io::Result<()> {
    for byte in bytes {
        output.write_all(b"\\x")?;
        output.write_all(&hex::pair(*byte))?;
    }
    Ok(())
}

/// Decodes a field of tab-separated text and appends it to `bytes`.
pub(super) fn decode_tsv_field(text: &[u8], bytes: &mut Vec<u8>) -> Result<(), LineFault> {
    decode(text, bytes, |escape, position| match escape {
        [b't', ..] => Ok((b'\t', 1)),
        [b'n', ..] => Ok((b'\n', 1)),
        [b'r', ..] => Ok((b'\r', 1)),
        [b'\\', ..] => Ok((b'\\', 1)),
        [b'x', high, low, ..] => escaped_byte([*high, *low], position + 1).map(|byte| (byte, 3)),
        [b'x', rest @ ..] => Err(LineFault {
            position: position + 1 + rest.len(),
            expected: "two hexadecimal digits after \\x",
        }),
        _ => Err(LineFault {
            position,
            expected: "t, n, r, x or another backslash after the backslash",
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

/// A message with escapes for hidden characters. It may have several lines.
pub(crate) fn shown_message(message: &str) -> String {
    let mut text = Vec::with_capacity(message.len());
    let is_special = |character| character != '\n' && is_hidden(character);
    // Writing into memory cannot fail.
    let _ = write_escaped(message, &mut text, is_special, |character, text| {
        write!(text, "{}", character.escape_default())
    });
    String::from_utf8_lossy(&text).into_owned()
}

/// A path as text that is safe on any terminal.
pub(crate) fn shown_path(path: &Path) -> String {
    printable(path.as_os_str().as_encoded_bytes())
}

/// Copies `text`, and calls `decode_escape` for each backslash with the text after it and its
/// position. That returns the decoded byte and the length of the escape.
fn decode(
    text: &[u8],
    bytes: &mut Vec<u8>,
    decode_escape: impl Fn(&[u8], usize) -> Result<(u8, usize), LineFault>,
) -> Result<(), LineFault> {
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

fn escaped_byte(digits: [u8; 2], position: usize) -> Result<u8, LineFault> {
    hex::decode_pair(digits).map_err(|offset| LineFault {
        position: position + offset,
        expected: "a hexadecimal digit",
    })
}
