//! The header of a dump: lines `key=value` between `VERSION=3` and `HEADER=END`.

use super::lines::{HEADER_LINE_LEN_MAX, Lines, Malformed, ReadError};
use std::io::BufRead;
use teak::TableTypes;

/// How a dump writes bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Hexadecimal digits: `format=bytevalue`.
    Hex,
    /// Printable characters and escapes: `format=print`.
    Print,
}

/// The order of a table's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Order {
    /// By their bytes.
    #[default]
    Bytes,
    /// By their bytes from the last to the first: `reversekey=1`.
    ReverseBytes,
    /// As native integers of 4 or 8 bytes: `integerkey=1`.
    Integer,
}

/// The kind of a table, as far as text formats describe it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TableKind {
    /// The order of keys.
    pub(crate) order: Order,
    /// The kind of the values, if keys have several: `duplicates=1`.
    pub(crate) values: Option<ValueKind>,
}

/// The kind of values if keys have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ValueKind {
    /// Their order: `reversedup=1`, `integerdup=1`.
    pub(crate) order: Order,
    /// Whether all have one size: `dupfixed=1`.
    pub(crate) is_fixed: bool,
}

/// The description of a table before its records in an input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Header {
    /// Its name, if it has one.
    pub(crate) name: Option<Vec<u8>>,
    /// The kind of the table.
    pub(crate) kind: TableKind,
    /// The names of the table's types: `teak_key_type`, `teak_value_type`.
    pub(crate) types: TableTypes,
    /// Parts of the header that have no effect, as warnings for the user.
    pub(crate) warnings: Vec<String>,
}

impl Header {
    /// The header of a table without a name, with no types.
    pub(crate) fn of_kind(kind: TableKind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }
}

/// Keys that describe the file or the tuning of another engine, but not the records.
const NO_EFFECT: &[&[u8]] = &[
    b"bt_minkey",
    b"chksum",
    b"db_lorder",
    b"db_pagesize",
    b"extentsize",
    b"geometry",
    b"h_ffactor",
    b"h_nelem",
    b"mapaddr",
    b"mapsize",
    b"maxreaders",
    b"recnum",
    b"txnid",
];

/// Reads a header after its first line, `VERSION=3`.
pub(super) fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<(Header, Encoding), ReadError> {
    let mut header = Header::default();
    let mut encoding = None;
    loop {
        if !lines.advance(HEADER_LINE_LEN_MAX)? {
            return Err(lines
                .malformed(1, "a line of the header, or HEADER=END")
                .into());
        }
        lines.strip_carriage_return();
        if lines.line() == b"HEADER=END" {
            break;
        }
        apply_line(lines, &mut header, &mut encoding)?;
    }
    match encoding {
        Some(encoding) => Ok((header, encoding)),
        None => {
            let expected = "a line format=bytevalue or format=print before the end of the header";
            Err(lines.malformed(1, expected).into())
        }
    }
}

fn apply_line<R: BufRead>(
    lines: &Lines<R>,
    header: &mut Header,
    encoding: &mut Option<Encoding>,
) -> Result<(), Malformed> {
    let line = lines.line();
    let Some(equals) = line.iter().position(|byte| *byte == b'=') else {
        return Err(lines.malformed(1, "KEY=VALUE, or HEADER=END"));
    };
    let (key, value) = (&line[..equals], &line[equals + 1..]);
    let wrong_value = |expected: &str| lines.malformed(equals + 2, expected);
    let no_name = || wrong_value("the name of a type");
    match key {
        b"format" => match value {
            b"bytevalue" => *encoding = Some(Encoding::Hex),
            b"print" => *encoding = Some(Encoding::Print),
            _ => return Err(wrong_value("bytevalue or print")),
        },
        b"database" | b"subdatabase" => header.name = Some(value.to_vec()),
        b"type" => match value {
            b"btree" | b"hash" => {}
            _ => return Err(wrong_value("btree or hash (no other type has keys)")),
        },
        b"keys" if value != b"1" => return Err(wrong_value("1: a dump with its keys")),
        b"keys" => {}
        b"duplicates" | b"dupsort" | b"dupfixed" | b"integerdup" | b"reversedup"
            if value != b"0" =>
        {
            let values = header.kind.values.get_or_insert_default();
            match key {
                b"dupfixed" => values.is_fixed = true,
                b"reversedup" => values.order = Order::ReverseBytes,
                b"integerdup" => {
                    *values = ValueKind {
                        order: Order::Integer,
                        is_fixed: true,
                    };
                }
                _ => {}
            }
        }
        b"duplicates" | b"dupsort" | b"dupfixed" | b"integerdup" | b"reversedup" => {}
        b"integerkey" if value != b"0" => header.kind.order = Order::Integer,
        b"reversekey" if value != b"0" => header.kind.order = Order::ReverseBytes,
        b"integerkey" | b"reversekey" => {}
        b"teak_key_type" => header.types.keys = type_name(value).ok_or_else(no_name)?,
        b"teak_value_type" => header.types.values = type_name(value).ok_or_else(no_name)?,
        _ if NO_EFFECT.contains(&key) => {}
        _ => header.warnings.push(format!(
            "line {}: {} is unknown and has no effect",
            lines.number(),
            super::escape::printable(line)
        )),
    }
    Ok(())
}

/// The name of a type, which is written like printable data.
fn type_name(text: &[u8]) -> Option<String> {
    let mut name = Vec::new();
    super::escape::decode_print(text, &mut name).ok()?;
    String::from_utf8(name).ok()
}
