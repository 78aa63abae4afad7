//! The indexes of expiring tables in a damaged file. They are made again from the records, and only
//! the settings of the tables are taken from them.

use crate::{
    PageNumber, Result,
    admin::salvage::{DamagedFile, FoundTable, Loss},
    btree::{TableClass, TreeRoot},
    page::stamp::{ExpirySettings, SETTINGS_KEY},
    read::catalog::{expiry_index_of, table_of_index},
};
use std::{collections::HashMap, ops::ControlFlow};

/// The index of an expiring table: its root page, and the settings of the table if they can be
/// read.
type FoundIndex = (PageNumber, Option<ExpirySettings>);

/// Indexes by their names.
pub(super) type FoundIndexes = HashMap<Vec<u8>, FoundIndex>;

/// The settings of a table, which are the default ones if it is not an expiring table.
///
/// # Errors
///
/// The loss if they cannot be read.
pub(super) fn settings_of(
    indexes: &FoundIndexes,
    name: &[u8],
    root: &TreeRoot,
) -> Result<ExpirySettings, Loss> {
    if root.kind.class != TableClass::Expiring {
        return Ok(ExpirySettings::default());
    }
    let (page, settings) = match indexes.get(&expiry_index_of(name)) {
        Some((page, settings)) => (*page, *settings),
        None => (root.page, None),
    };
    settings.ok_or_else(|| Loss {
        page,
        keys: None,
        records_max: None,
        detail:
            "the settings of the table cannot be read; it has no time to live and no limits now"
                .into(),
    })
}

/// Takes out the indexes of expiring tables, which are made again from the records. `progress`
/// gets the number of pages read.
pub(super) fn take_indexes(
    damaged_file: &mut DamagedFile,
    tables: &mut Vec<FoundTable>,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<FoundIndexes> {
    let mut found = FoundIndexes::new();
    for FoundTable { name, entry, .. } in &*tables {
        let (Some(_), Some(root)) = (table_of_index(name, entry), entry.root()) else {
            continue;
        };
        let (_, settings) = found.entry(name.clone()).or_insert((root.page, None));
        damaged_file.records(root, progress, |key, value| {
            if key == SETTINGS_KEY && settings.is_none() {
                *settings = ExpirySettings::decode(value).ok();
            }
            Ok(())
        })?;
        // Nothing is lost with the entries of an index.
        damaged_file.losses.take();
    }
    tables.retain(|table| table_of_index(&table.name, &table.entry).is_none());
    Ok(found)
}
