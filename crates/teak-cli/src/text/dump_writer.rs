//! Writing the dump format in a form that `mdb_load` and `mdbx_load` read. (`db_load` knows no
//! `mapsize`.)

use super::{Encoding, Order, TableKind, escape, hex};
use std::io::{self, Write};
use teak::TableTypes;

/// Writes tables in the dump format.
pub(crate) struct DumpWriter<W> {
    output: W,
    encoding: Encoding,
    line: Vec<u8>,
}

impl<W: Write> DumpWriter<W> {
    pub(crate) fn new(output: W, encoding: Encoding) -> Self {
        Self {
            output,
            encoding,
            line: Vec::new(),
        }
    }

    /// Begins a table. A name must not hold a line feed: the format has no escape for it.
    pub(crate) fn begin_table(
        &mut self,
        name: Option<&[u8]>,
        (kind, types): (TableKind, &TableTypes),
        map_size_bytes: u64,
    ) -> io::Result<()> {
        let format = match self.encoding {
            Encoding::Hex => "bytevalue",
            Encoding::Print => "print",
        };
        writeln!(self.output, "VERSION=3\nformat={format}")?;
        if let Some(name) = name {
            self.output.write_all(b"database=")?;
            self.output.write_all(name)?;
            self.output.write_all(b"\n")?;
        }
        writeln!(self.output, "type=btree\nmapsize={map_size_bytes}")?;
        match kind.order {
            Order::Bytes => {}
            Order::ReverseBytes => writeln!(self.output, "reversekey=1")?,
            Order::Integer => writeln!(self.output, "integerkey=1")?,
        }
        if let Some(values) = kind.values {
            writeln!(self.output, "duplicates=1\ndupsort=1")?;
            if values.is_fixed {
                writeln!(self.output, "dupfixed=1")?;
            }
            match values.order {
                Order::Bytes => {}
                Order::ReverseBytes => writeln!(self.output, "reversedup=1")?,
                Order::Integer => writeln!(self.output, "integerdup=1")?,
            }
        }
        self.type_name("teak_key_type", &types.keys)?;
        self.type_name("teak_value_type", &types.values)?;
        writeln!(self.output, "HEADER=END")
    }

    /// Writes a line that other programs ignore.
    fn type_name(&mut self, key: &str, name: &str) -> io::Result<()> {
        if name.is_empty() {
            return Ok(());
        }
        self.line.clear();
        escape::encode_print(name.as_bytes(), &mut self.line);
        write!(self.output, "{key}=")?;
        self.output.write_all(&self.line)?;
        writeln!(self.output)
    }

    /// Writes one record of the table that was begun.
    pub(crate) fn record(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.line.clear();
        for bytes in [key, value] {
            self.line.push(b' ');
            match self.encoding {
                Encoding::Hex => hex::encode(bytes, &mut self.line),
                Encoding::Print => escape::encode_print(bytes, &mut self.line),
            }
            self.line.push(b'\n');
        }
        self.output.write_all(&self.line)
    }

    /// Ends the table that was begun.
    pub(crate) fn end_table(&mut self) -> io::Result<()> {
        writeln!(self.output, "DATA=END")
    }
}
