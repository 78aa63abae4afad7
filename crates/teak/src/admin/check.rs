//! The check of a whole database: checksum, kind, order and bounds of every page, reachability,
//! pages used twice, and agreement with the free-space map. It continues after damage.
//!
//! It runs on a snapshot, so readers and the writer proceed meanwhile. Each page has exactly one
//! use: a commit record, part of a tree, part of the free-space map, part of the journal, free, or
//! pending.

use crate::{Error, btree::TreeRoot, planted::planted, record::LAST_NUMBER};
use crate::{
    admin::{
        check_audit::CheckAudit,
        check_report::{CheckProgressFn, CheckReport},
        expiry_check::check_expiring,
        named_state_audit::NamedStateAudit,
    },
    read::{catalog, reader::Reader, snapshot::PinnedSnapshot, state_key::StateKey},
    record::record_ref::slot_page,
};
use std::cmp::Reverse;

/// Transaction numbers that a sound database has left. No database has used so many that fewer are
/// left.
const NUMBERS_LEFT_MIN: u64 = 1 << 40;

/// Checks a snapshot and the named snapshots that it lists. `faults` are the named snapshots that
/// could not be opened. Returns `None` if `progress` breaks.
pub(crate) fn check<'a>(
    snapshot: &PinnedSnapshot,
    (named, faults): (&[(StateKey, Reader)], &[Error]),
    progress: &'a mut CheckProgressFn<'a>,
) -> Option<CheckReport> {
    let mut audit = CheckAudit::new(snapshot, progress);
    let mut report = CheckReport {
        pages: snapshot.page_count(),
        ..CheckReport::default()
    };
    audit.has_past = !named.is_empty();
    check_catalog(&mut audit, snapshot);
    check_names(&mut audit, snapshot);
    for fault in faults {
        audit.damage(None, &fault.to_string());
    }
    check_numbers(&mut audit, snapshot);
    check_tables(&mut audit, snapshot, &mut report);
    check_space(&mut audit, snapshot, named);
    report.unknown_tables = audit.unknown_tables;
    report.unordered_tables = audit.unordered_tables;
    report.damages = audit.damages;
    report.more_damages = audit.more_damages;
    (!audit.is_ended).then_some(report)
}

fn check_catalog(audit: &mut CheckAudit<'_>, snapshot: &PinnedSnapshot) {
    audit.is_in_catalog = true;
    audit.counted_tree(snapshot, snapshot.catalog());
    audit.is_in_catalog = false;
}

/// Checks the tree of named snapshots.
fn check_names(audit: &mut CheckAudit<'_>, snapshot: &PinnedSnapshot) {
    match TreeRoot::decode_of_names(&snapshot.record.snapshots_root) {
        Ok(root) => {
            audit.counted_tree(snapshot, &root);
        }
        Err(fault) => {
            // Which of the records it is may be decided only when it is written.
            let error = fault.at(slot_page(0), "check", "the tree of named snapshots");
            audit.damage(None, &error.to_string());
        }
    }
}

/// Checks that enough transaction numbers are left.
fn check_numbers(audit: &mut CheckAudit<'_>, snapshot: &PinnedSnapshot) {
    let last_number = snapshot.record.sequence.max(snapshot.transaction().0);
    if last_number >= LAST_NUMBER - NUMBERS_LEFT_MIN {
        let detail = format!(
            "transaction ids are nearly exhausted ({last_number}); \
             write the tables with `teak dump`, and load them into a new database"
        );
        audit.damage(None, &detail);
    }
}

/// Checks the tables that the catalog lists, and counts them.
fn check_tables(audit: &mut CheckAudit<'_>, snapshot: &PinnedSnapshot, report: &mut CheckReport) {
    let tables = audit.take_tables();
    for (name, root) in &tables {
        audit.table = Some(name.clone());
        let totals = audit.counted_tree(snapshot, root);
        let is_index = catalog::is_expiry_index(name, root);
        if !root.kind.dropped && !is_index {
            report.tables += 1;
            report.records += totals.records;
        }
    }
    audit.table = None;
    if audit.damages.is_empty() && !audit.is_ended {
        check_expiring(audit, snapshot, &tables);
    }
}

/// Checks that the free-space map agrees with the trees, and the named snapshots with both.
fn check_space(
    audit: &mut CheckAudit<'_>,
    snapshot: &PinnedSnapshot,
    named: &[(StateKey, Reader)],
) {
    let mut census = match snapshot.load_space_map() {
        Ok(space) => space.classify(),
        Err(error) => return audit.damage(None, &error.to_string()),
    };
    audit.census(&census, snapshot.record.journal);
    planted!(CheckNewest => return);
    census.pending.sort_by_key(|death| death.extent.start);
    let mut past = NamedStateAudit::new(audit, &census.pending);
    // The newest state first: pages alive in it have not died for the older ones.
    let mut named: Vec<_> = named.iter().collect();
    named.sort_by_key(|(_, state)| Reverse(state.transaction()));
    for (key, state) in named {
        past.check(key, state);
    }
}

/// A complete check without named snapshots.
#[cfg(test)]
pub(crate) fn report(snapshot: &PinnedSnapshot) -> CheckReport {
    check(snapshot, (&[], &[]), &mut |_| {
        std::ops::ControlFlow::Continue(())
    })
    .expect("nobody ends it")
}
