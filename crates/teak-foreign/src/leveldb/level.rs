//! Levels whose tables do not overlap.

use super::{
    entry::{LevelDbEntry, compare, split_internal},
    manifest::TableDescription,
    merge::EntrySource,
    named_file::{NamedFile, ReadBytes},
    table_file::TableEntries,
};
use crate::Result;
use std::{collections::BTreeMap, path::Path, vec::IntoIter};

/// The entries of a level: its tables one after the other.
pub(super) struct LevelEntries<'d> {
    directory: &'d Path,
    rest: IntoIter<&'d TableDescription>,
    table: TableEntries,
    read_bytes: ReadBytes,
}

impl<'d> LevelEntries<'d> {
    /// Moves to the first entry. `None` if there is no entry.
    pub(super) fn open(
        directory: &'d Path,
        tables: &'d BTreeMap<u64, TableDescription>,
        read_bytes: &ReadBytes,
    ) -> Result<Option<Self>> {
        let mut tables: Vec<&TableDescription> = tables.values().collect();
        // The order of tables is checked with that of their entries.
        tables.sort_by(|left, right| {
            match (
                split_internal(&left.smallest),
                split_internal(&right.smallest),
            ) {
                (Some(left), Some(right)) => compare(left, right),
                (left, right) => left.is_some().cmp(&right.is_some()),
            }
        });
        let mut rest = tables.into_iter();
        let table = next_table(directory, &mut rest, read_bytes)?;
        Ok(table.map(|table| Self {
            directory,
            rest,
            table,
            read_bytes: read_bytes.clone(),
        }))
    }
}

impl EntrySource for LevelEntries<'_> {
    fn entry(&self) -> &LevelDbEntry {
        self.table.entry()
    }

    fn advance(&mut self) -> Result<bool> {
        if self.table.advance()? {
            return Ok(true);
        }
        let next = next_table(self.directory, &mut self.rest, &self.read_bytes)?;
        let Some(next) = next else {
            return Ok(false);
        };
        let last = std::mem::replace(&mut self.table, next);
        let last = last.entry();
        self.table.refuse_not_after((&last.key, last.version))?;
        Ok(true)
    }
}

/// Opens tables until one has an entry.
fn next_table(
    directory: &Path,
    rest: &mut IntoIter<&TableDescription>,
    read_bytes: &ReadBytes,
) -> Result<Option<TableEntries>> {
    for table in rest {
        let file = open_table(directory, table, read_bytes)?;
        if let Some(run) = TableEntries::open(file, true)? {
            return Ok(Some(run));
        }
    }
    Ok(None)
}

/// Opens the file of a table. Old versions of LevelDB call it `.sst`.
pub(super) fn open_table(
    directory: &Path,
    table: &TableDescription,
    read_bytes: &ReadBytes,
) -> Result<NamedFile> {
    let path = |suffix| directory.join(format!("{:06}.{suffix}", table.number));
    let is_old = !path("ldb").exists() && path("sst").exists();
    let suffix = if is_old { "sst" } else { "ldb" };
    let mut file = NamedFile::open(path(suffix), read_bytes)?;
    if file.len < table.len {
        let detail = format!("the table has {} bytes in the manifest", table.len);
        return Err(file.damaged(file.len, detail));
    }
    file.len = table.len;
    Ok(file)
}
