//! The check of expiring tables: their indexes have exactly the entries that their records require.

use crate::{
    Result,
    admin::check_audit::CheckAudit,
    btree::{TableClass, TreeRoot, cursor::TreeCursor, lookup, reading::reading},
    page::{
        PageDamage,
        stamp::{ExpirySettings, SETTINGS_KEY, Stamp},
    },
    read::{catalog, snapshot::PinnedSnapshot},
};
use std::collections::BTreeMap;

/// Records between two reports of the progress.
const REPORT_RECORDS: u64 = 4096;

/// Checks the expiring tables among these tables, whose trees are whole.
pub(super) fn check_expiring(
    audit: &mut CheckAudit<'_>,
    snapshot: &PinnedSnapshot,
    tables: &[(Vec<u8>, TreeRoot)],
) {
    let expiring = tables.iter();
    let expiring = expiring.filter(|(_, root)| root.kind.class == TableClass::Expiring);
    let mut indexes = BTreeMap::new();
    let mut records = Vec::new();
    for (name, root) in expiring {
        match name.strip_prefix(catalog::EXPIRY_INDEX_START) {
            Some(table) => drop(indexes.insert(table, root)),
            None => records.push((&name[..], root)),
        }
    }
    for (name, root) in records {
        audit.table = Some(name.to_vec());
        let Some(index) = indexes.remove(name) else {
            audit.damage(None, "an expiring table has no index");
            continue;
        };
        match agree(audit, snapshot, root, index) {
            Ok(None) => {}
            Ok(Some(text)) => audit.damage(None, text),
            Err(error) => audit.damage(None, &error.to_string()),
        }
    }
    for (name, _) in indexes {
        audit.table = Some(name.to_vec());
        audit.damage(
            None,
            "there is an index of an expiring table, and no such table",
        );
    }
    audit.table = None;
}

/// Compares an index with the records. Returns the first contradiction.
fn agree(
    audit: &mut CheckAudit<'_>,
    snapshot: &PinnedSnapshot,
    records: &TreeRoot,
    index: &TreeRoot,
) -> Result<Option<&'static str>> {
    let load = |key: &[u8]| -> Result<Option<&[u8]>> {
        let value = lookup::get(snapshot, index, key)?;
        value
            .map(|value| lookup::load(snapshot, index.page, value))
            .transpose()
    };
    reading(snapshot, || {
        let Some(settings) = load(SETTINGS_KEY)? else {
            return Ok(Some("an expiring table has no settings"));
        };
        let settings = ExpirySettings::decode(settings);
        let settings = settings.map_err(|damage| damage.at(index.page, "check"))?;
        let (mut entries, mut bytes, mut number) = (1_u64, 0_u64, 0_u64);
        let mut cursor = TreeCursor::new(snapshot, *records);
        while cursor.next()? {
            let at = |damage: PageDamage| damage.at(records.page, "check");
            let (stamp, value) = Stamp::split(cursor.value()?).map_err(at)?;
            if stamp.number >= records.sequence {
                return Ok(Some("a record has a number that was not drawn"));
            }
            let by_time = stamp.time_key().map(|key| key.to_vec());
            let by_age = settings.has_limits().then(|| stamp.age_key().to_vec());
            for entry in by_time.into_iter().chain(by_age) {
                if load(&entry)? != Some(cursor.key()) {
                    return Ok(Some("the index of an expiring table lacks a record"));
                }
                entries += 1;
            }
            bytes = bytes.saturating_add((cursor.key().len() + value.len()) as u64);
            number += 1;
            if number.is_multiple_of(REPORT_RECORDS) && !audit.report_progress() {
                return Ok(None);
            }
        }
        Ok(match () {
            () if entries != index.records => {
                Some("the index of an expiring table has entries without records")
            }
            () if bytes != index.sequence => {
                Some("the number of bytes of an expiring table is wrong")
            }
            () => None,
        })
    })
}
