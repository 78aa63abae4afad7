//! Manifests: the edits that lead to the current set of files.

use super::{log::LogReader, named_file::NamedFile, parser::Parser};
use crate::Result;
use std::collections::BTreeMap;

/// The number of levels.
pub(super) const LEVELS: usize = 7;

/// Kinds of the parts of an edit.
pub(super) mod part_kind {
    pub(in super::super) const COMPARATOR: u32 = 1;
    pub(in super::super) const LOG_NUMBER: u32 = 2;
    pub(in super::super) const NEXT_FILE: u32 = 3;
    pub(in super::super) const LAST_SEQUENCE: u32 = 4;
    pub(in super::super) const COMPACT_POINTER: u32 = 5;
    pub(in super::super) const DELETED_FILE: u32 = 6;
    pub(in super::super) const NEW_FILE: u32 = 7;
    pub(in super::super) const PREVIOUS_LOG: u32 = 9;
}

/// A table according to the manifest.
#[derive(Clone, Debug)]
pub(super) struct TableDescription {
    pub(super) number: u64,
    pub(super) len: u64,
    /// The first internal key.
    pub(super) smallest: Vec<u8>,
}

/// The state that a manifest describes.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    pub(super) comparator: Vec<u8>,
    pub(super) log_number: u64,
    pub(super) previous_log: u64,
    pub(super) last_sequence: u64,
    /// The tables of each level, by number.
    /// Whether the parts are there without which LevelDB opens no database.
    has: [bool; 3],
    pub(super) levels: [BTreeMap<u64, TableDescription>; LEVELS],
}

impl Manifest {
    pub(super) fn read(file: &NamedFile) -> Result<Self> {
        let mut manifest = Self::default();
        let mut reader = LogReader::strict(file);
        let mut edit = Vec::new();
        let mut torn = 0;
        let mut edits = 0_u64;
        while reader.next(&mut edit, &mut torn)? {
            edits += 1;
            let applied = manifest.apply(&edit);
            applied.map_err(|detail| file.damaged(0, format!("edit {edits}: {detail}")))?;
        }
        if manifest.has != [true; 3] || edits == 0 {
            return Err(file.damaged(0, "the manifest does not describe a database"));
        }
        Ok(manifest)
    }

    fn apply(&mut self, edit: &[u8]) -> std::result::Result<(), &'static str> {
        let mut rest = Parser(edit);
        while !rest.is_empty() {
            let kind = rest
                .varint32()
                .ok_or("the kind of a part is not complete")?;
            self.apply_part(kind, &mut rest)
                .ok_or("a part is unknown or not complete")??;
        }
        Ok(())
    }

    /// `None` if the part is unknown or not complete.
    fn apply_part(
        &mut self,
        kind: u32,
        rest: &mut Parser<'_>,
    ) -> Option<std::result::Result<(), &'static str>> {
        match kind {
            part_kind::COMPARATOR => self.comparator = rest.string()?.to_vec(),
            part_kind::LOG_NUMBER => {
                self.log_number = rest.varint64()?;
                self.has[0] = true;
            }
            part_kind::PREVIOUS_LOG => self.previous_log = rest.varint64()?,
            part_kind::NEXT_FILE => {
                rest.varint64()?;
                self.has[1] = true;
            }
            part_kind::LAST_SEQUENCE => {
                self.last_sequence = rest.varint64()?;
                self.has[2] = true;
            }
            part_kind::COMPACT_POINTER => {
                rest.varint32()?;
                rest.string()?;
            }
            part_kind::DELETED_FILE => {
                let level = rest.varint32()? as usize;
                let number = rest.varint64()?;
                self.levels.get_mut(level)?.remove(&number);
            }
            part_kind::NEW_FILE => {
                let level = rest.varint32()? as usize;
                let table = TableDescription {
                    number: rest.varint64()?,
                    len: rest.varint64()?,
                    smallest: rest.string()?.to_vec(),
                };
                rest.string()?;
                let number = table.number;
                if self.levels.iter().any(|level| level.contains_key(&number)) {
                    return Some(Err("a table is added that is there already"));
                }
                self.levels.get_mut(level)?.insert(number, table);
            }
            _ => return None,
        }
        Some(Ok(()))
    }
}
