//! The dump format of `db_dump` and similar programs, as far as the sample needs it.

use crate::{Context, Result};
use std::fmt::Write;

/// Records in the order of a dump.
pub(crate) type DumpRecords = Vec<(Vec<u8>, Vec<u8>)>;

/// Reads a dump of one table, `format=bytevalue`.
pub(crate) fn read(text: &str) -> Result<DumpRecords> {
    let mut lines = text
        .lines()
        .skip_while(|line| *line != "HEADER=END")
        .skip(1);
    let mut records = DumpRecords::new();
    loop {
        match lines.next() {
            Some("DATA=END") => return Ok(records),
            Some(key) => {
                let value = lines.next().context("a dump ends with a key")?;
                records.push((read_line(key)?, read_line(value)?));
            }
            None => bail!("a dump does not end with DATA=END"),
        }
    }
}

/// Writes a dump of the table `name`.
pub(crate) fn write(name: &str, records: &[(Vec<u8>, Vec<u8>)]) -> Result<String> {
    let mut text =
        format!("VERSION=3\nformat=bytevalue\ndatabase={name}\ntype=btree\nHEADER=END\n");
    for (key, value) in records {
        for bytes in [key, value] {
            text.push(' ');
            for byte in bytes {
                write!(text, "{byte:02x}")?;
            }
            text.push('\n');
        }
    }
    text.push_str("DATA=END\n");
    Ok(text)
}

fn read_line(line: &str) -> Result<Vec<u8>> {
    let digits = line
        .strip_prefix(' ')
        .context(format_args!("not a line of a dump: {line}"))?;
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{read, write};

    #[test]
    fn a_written_dump_is_read() {
        let records = vec![(b"".to_vec(), b"value".to_vec()), (vec![0, 255], vec![])];
        let text = write("coins", &records).unwrap();
        assert_eq!(read(&text).unwrap(), records);
    }

    #[test]
    fn a_truncated_dump_is_refused() {
        assert!(read("HEADER=END\n 00\n 01\n").is_err());
        assert!(read("HEADER=END\n 00\nDATA=END\n").is_err());
    }
}
