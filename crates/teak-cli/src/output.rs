//! Standard output, for people and for programs.

use crate::failure::Failure;
use crate::text::{is_hidden, printable, shown_message, write_escaped};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Serializer, ser::Formatter};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::time::SystemTime;

/// The audience of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportStyle {
    /// People.
    Text,
    /// Programs.
    Json,
}

/// Bytes in a JSON report: text if they are UTF-8, otherwise hexadecimal.
pub(crate) fn json_bytes(bytes: &[u8]) -> (Option<&str>, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(_) => (None, Some(hexadecimal(bytes))),
    }
}

/// `bytes` in hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let mut digits = Vec::new();
    crate::text::encode_hex(bytes, &mut digits);
    String::from_utf8_lossy(&digits).into_owned()
}

/// The name of a table as text, with escapes for bytes that are not UTF-8.
pub(crate) fn table_name(name: &[u8]) -> String {
    printable(name)
}

/// The names of tables as text.
pub(crate) fn table_names(names: &[Vec<u8>]) -> Vec<String> {
    names.iter().map(|name| table_name(name)).collect()
}

/// A time to the second in UTC, in the format of RFC 3339. `None` for a time that no calendar has.
pub(crate) fn time(time: SystemTime) -> Option<String> {
    let seconds = Timestamp::try_from(time).ok()?.as_second();
    Some(Timestamp::from_second(seconds).ok()?.to_string())
}

/// Writes the output of `write` to standard output, and flushes it.
pub(crate) fn print(
    write: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut output = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    write(&mut output)?;
    output.flush().map_err(Failure::Output)
}

/// Writes one line of JSON to standard output.
pub(crate) fn print_json(report: &impl Serialize) -> Result<(), Failure> {
    print(|output| write_json(report, output).map_err(Failure::Output))
}

/// Writes one line of JSON, with escapes for hidden characters.
pub(crate) fn write_json(report: &impl Serialize, output: &mut impl Write) -> io::Result<()> {
    report.serialize(&mut Serializer::with_formatter(&mut *output, ShowHidden))?;
    output.write_all(b"\n")
}

struct ShowHidden;

impl Formatter for ShowHidden {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        output: &mut W,
        text: &str,
    ) -> io::Result<()> {
        write_escaped(text, output, is_hidden, |character, output| {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                write!(output, "\\u{unit:04x}")?;
            }
            Ok(())
        })
    }
}

/// Prints a warning for people to standard error.
pub(crate) fn warn(message: &str) {
    // A warning that cannot be shown must not stop the work.
    let message = shown_message(message);
    let _ = writeln!(io::stderr().lock(), "teak: warning: {message}");
}

/// A count with `word` in singular or plural.
pub(crate) fn counted(count: u64, word: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {word}{ending}", indicatif::HumanCount(count))
}
