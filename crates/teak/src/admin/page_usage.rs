//! Page usage: what each page of the file is used for, and a page as readable text.

use crate::{
    PageNumber, Result,
    btree::{PageSource, reading::reading, walk},
    page::print,
};
use crate::{
    admin::{check_audit::CheckAudit, check_report::PageUse},
    read::{prefault::Prefault, snapshot::PinnedSnapshot},
};
use std::ops::ControlFlow;

/// The use of each page of the file.
pub(crate) fn page_uses(snapshot: &PinnedSnapshot) -> Result<Vec<PageUse>> {
    let mut ignore = |_| ControlFlow::Continue(());
    let mut audit = CheckAudit::new(snapshot, &mut ignore);
    let pages = Prefault(snapshot);
    walk::walk(
        &pages,
        snapshot.catalog(),
        snapshot.transaction(),
        &mut audit,
    );
    walk::walk(
        &pages,
        &snapshot.named_list()?,
        snapshot.transaction(),
        &mut audit,
    );
    for (_, root) in audit.take_tables() {
        walk::walk(&pages, &root, snapshot.transaction(), &mut audit);
    }
    let census = snapshot.load_space_map()?.classify();
    audit.mark_census(&census, snapshot.record.journal);
    Ok(audit.uses)
}

/// A page as readable text.
pub(crate) fn describe(snapshot: &PinnedSnapshot, number: PageNumber) -> Result<String> {
    if number.0 < crate::alloc::FIRST_PAGE {
        return Ok(snapshot.describe_record(number.0 as u8));
    }
    reading(snapshot, || {
        Ok(print::page(PageSource::page(snapshot, number)?))
    })
}
