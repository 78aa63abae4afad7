//! Writing of a directory.

use super::{
    directory::BYTEWISE,
    entry::EntryVersion,
    log::in_log_format,
    manifest::part_kind,
    named_file::failed,
    table_writer::{LevelDbOptions, TableWriter, WrittenTable},
    varint::{push_string, push_varint},
};
use crate::{Error, Result};
use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

/// The sequence number of all records.
const SEQUENCE: u64 = 1;
/// The number of bytes from which on LevelDB compacts level 1. Each deeper level has room for ten
/// times as many.
const LEVEL_1_BYTES: u64 = 10 << 20;
const LEVEL_MAX: u64 = 6;

/// Writes a directory that LevelDB opens.
///
/// All records go to one level, the first one in which LevelDB does not begin to compact them.
/// `CURRENT` is written at the end: until then LevelDB does not find a database.
///
/// ```
/// use teak_foreign::leveldb::{LevelDb, LevelDbWriter};
///
/// let directory = tempfile::tempdir()?;
/// let mut writer = LevelDbWriter::create(directory.path(), Default::default())?;
/// writer.add(b"a", b"1")?;
/// writer.add(b"b", b"2")?;
/// assert_eq!(writer.finish()?, 2);
///
/// let written = LevelDb::open(directory.path())?;
/// let mut records = written.records(directory.path(), false)?;
/// assert!(records.next_record()?.is_some_and(|(key, value)| key == b"a" && *value == *b"1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LevelDbWriter {
    path: PathBuf,
    options: LevelDbOptions,
    table: Option<TableWriter>,
    written: Vec<WrittenTable>,
    records: u64,
    last_key: Vec<u8>,
    version: EntryVersion,
}

impl LevelDbWriter {
    /// Begins to write to a directory, which must be empty.
    ///
    /// # Errors
    ///
    /// [`Error::File`] if the directory cannot be read, or is not empty.
    pub fn create(path: &Path, options: LevelDbOptions) -> Result<Self> {
        let mut entries = fs::read_dir(path).map_err(failed(path))?;
        if entries.next().is_some() {
            return Err(failed(path)(std::io::ErrorKind::DirectoryNotEmpty.into()));
        }
        Ok(Self {
            path: path.to_owned(),
            options,
            table: None,
            written: Vec::new(),
            records: 0,
            last_key: Vec::new(),
            version: EntryVersion::of_value(SEQUENCE),
        })
    }

    /// Adds a record. Keys must come in the order of their bytes.
    ///
    /// # Errors
    ///
    /// [`Error::NotSorted`] if the key is not greater than the one before; [`Error::Unsupported`]
    /// for a key or value of 4 GiB; [`Error::File`].
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.records > 0 && *key <= *self.last_key {
            return Err(Error::NotSorted {
                index: self.records,
            });
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        let mut table = match self.table.take() {
            Some(table) => table,
            None => TableWriter::create(self.table_path(), self.options)?,
        };
        table.add(key, self.version, value)?;
        self.records += 1;
        match table.len() < self.options.table_bytes {
            true => self.table = Some(table),
            false => self.written.push(table.finish()?),
        }
        Ok(())
    }

    /// Writes the manifest and `CURRENT`, and flushes all files. Returns the number of records.
    ///
    /// # Errors
    ///
    /// [`Error::File`].
    pub fn finish(mut self) -> Result<u64> {
        if let Some(table) = self.table.take() {
            self.written.push(table.finish()?);
        }
        let manifest_number = self.written.len() as u64 + 1;
        let name = format!("MANIFEST-{manifest_number:06}");
        self.write(&name, &in_log_format(&self.edit(manifest_number + 1)))?;
        self.write("CURRENT.tmp", format!("{name}\n").as_bytes())?;
        let current = self.path.join("CURRENT");
        let renamed = fs::rename(self.path.join("CURRENT.tmp"), &current);
        renamed.map_err(failed(&current))?;
        let flushed = File::open(&self.path).and_then(|directory| directory.sync_all());
        flushed.map_err(failed(&self.path))?;
        Ok(self.records)
    }

    /// The number of the next table is the path's.
    fn table_path(&self) -> PathBuf {
        let number = self.written.len() + 1;
        self.path.join(format!("{number:06}.ldb"))
    }

    fn edit(&self, next_file: u64) -> Vec<u8> {
        let mut edit = Vec::new();
        push_varint(&mut edit, part_kind::COMPARATOR.into());
        push_string(&mut edit, BYTEWISE);
        for (version, number) in [
            (part_kind::LOG_NUMBER, 0),
            (part_kind::PREVIOUS_LOG, 0),
            (part_kind::NEXT_FILE, next_file),
            (part_kind::LAST_SEQUENCE, SEQUENCE),
        ] {
            push_varint(&mut edit, version.into());
            push_varint(&mut edit, number);
        }
        let bytes = self.written.iter().map(|table| table.len).sum();
        for (number, table) in (1..).zip(&self.written) {
            push_varint(&mut edit, part_kind::NEW_FILE.into());
            push_varint(&mut edit, level_for(bytes));
            push_varint(&mut edit, number);
            push_varint(&mut edit, table.len);
            push_string(&mut edit, &table.smallest);
            push_string(&mut edit, &table.largest);
        }
        edit
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path.join(name);
        let written = File::create_new(&path).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        written.map_err(failed(&path))
    }
}

impl std::fmt::Debug for LevelDbWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LevelDbWriter")
            .field("path", &self.path)
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}

/// The first level in which LevelDB leaves so many bytes alone.
fn level_for(bytes: u64) -> u64 {
    let has_room = |level: &u64| bytes < LEVEL_1_BYTES * 10_u64.pow(*level as u32 - 1);
    (1..LEVEL_MAX).find(has_room).unwrap_or(LEVEL_MAX)
}

#[cfg(test)]
mod tests {
    use super::level_for;

    #[test]
    fn no_level_is_so_full_that_it_is_compacted() {
        assert_eq!(level_for(0), 1);
        assert_eq!(level_for((10 << 20) - 1), 1);
        assert_eq!(level_for(10 << 20), 2);
        assert_eq!(level_for(3 << 30), 4);
        assert_eq!(level_for(u64::MAX), 6);
    }
}
