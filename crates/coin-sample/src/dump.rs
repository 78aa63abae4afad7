//! The text form of a table that `db_dump`, `mdb_dump` and `mdbx_dump` share.

use crate::Records;
use std::fmt::Write;

/// Table `name` with `records`, each a line with the key and a line with the value.
pub(crate) fn text(name: &str, records: &Records) -> String {
    let mut text =
        format!("VERSION=3\nformat=bytevalue\ndatabase={name}\ntype=btree\nHEADER=END\n");
    for (key, value) in records {
        push_line(&mut text, key);
        push_line(&mut text, value);
    }
    text.push_str("DATA=END\n");
    text
}

fn push_line(text: &mut String, bytes: &[u8]) {
    text.push(' ');
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a String takes all that is written to it");
    }
    text.push('\n');
}
