//! The check of a whole database: checksum, kind, order and bounds of every page, reachability,
//! pages used twice, and agreement with the free-space map. It continues after damage.
//!
//! It runs on a snapshot, so readers and the writer proceed meanwhile. Each page has exactly one
//! use: a commit record, part of a tree, part of the free-space map, part of the journal, free, or
//! pending.

use crate::{
    Error, Extent, PageNumber, TransactionId,
    alloc::{Census, Death, FIRST_PAGE},
    btree::{
        TreeRoot,
        walk::{self, Finding, PageRole, Totals, Visitor},
    },
    page::{
        comparison::Comparisons,
        value::{StoredValue, ValueExtent, ValueKind},
    },
    planted::{Planted, is_planted},
    record::{JournalPages, LAST_NUMBER},
};
use crate::{
    maintain::dropped::is_reserved,
    read::{
        catalog::{self, CatalogEntry},
        prefault::Prefault,
        reader::Reader,
        snapshot::Snapshot,
    },
    record::record_ref::slot_page,
};
use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};

/// The use of a page of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum PageUse {
    /// A commit record.
    Record,
    /// Free.
    Free,
    /// Dead, but a snapshot may still use it.
    Pending,
    /// Separators and children of a table or of the catalog.
    Inner,
    /// Records of a table or of the catalog.
    Leaf,
    /// A large value.
    Value,
    /// Part of the free-space map.
    SpaceMap,
    /// Part of the journal.
    Journal,
    /// No page that this version can read refers to it, and the free-space map does not list it as
    /// free.
    Unreachable,
}

/// A damage found in the database.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Damage {
    /// The damaged page, if it is a particular page.
    pub page: Option<PageNumber>,
    /// The table that it belongs to; `None` for the catalog and the free-space map.
    pub table: Option<Vec<u8>>,
    /// The range of unreliable keys: from the first one on, and before the second.
    pub key_range: Option<(Vec<u8>, Option<Vec<u8>>)>,
    /// Description of the damage.
    pub detail: String,
}

/// Progress of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CheckProgress {
    /// Pages checked so far.
    pub pages_done: u64,
    /// Pages of the file.
    pub pages_total: u64,
}

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// Pages of the file.
    pub pages: u64,
    /// Number of checked tables.
    pub tables: u64,
    /// Number of records in all tables.
    pub records: u64,
    /// Names of tables that a newer version created, and that only such a version can check. Pages
    /// with no other use are assumed to belong to them.
    pub unknown_tables: Vec<Vec<u8>>,
    /// Names of tables whose comparison is missing, because the database was opened without it.
    /// Everything except the order of their keys was checked.
    pub unordered_tables: Vec<Vec<u8>>,
    /// The damages, in the order in which they were found.
    pub damages: Vec<Damage>,
    /// Number of further damages: only the first 10,000 are listed.
    pub more_damages: u64,
}

impl CheckReport {
    /// Whether no damage was found in what could be checked.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.damages.is_empty()
    }
}

/// Transaction numbers that a sound database has left. No database has used so many that fewer are
/// left.
const NUMBERS_LEFT_MIN: u64 = 1 << 40;

/// The most damages that are listed.
const DAMAGES_MAX: usize = 10_000;

/// The visitor of a check, or of a listing of page uses.
pub(crate) struct CheckAudit<'a> {
    pub(crate) uses: Vec<PageUse>,
    damages: Vec<Damage>,
    more_damages: u64,
    /// Whether the present tree is damaged.
    is_damaged: bool,
    /// Whether the present tree is the catalog.
    is_in_catalog: bool,
    /// Whether named states are checked too, and (below) the totals under pages visited then.
    has_past: bool,
    counted: HashMap<PageNumber, walk::SubtreeTotals>,
    /// The kinds of the trees with these root pages.
    kinds: HashMap<PageNumber, TreeRoot>,
    /// Large values that named states may share.
    values: HashMap<PageNumber, ValueExtent>,
    /// Pages of overlapping extents that may still be visited: a forged file may have any number of
    /// them.
    overlaps_left: u64,
    table: Option<Vec<u8>>,
    tables: Vec<(Vec<u8>, TreeRoot)>,
    unknown_tables: Vec<Vec<u8>>,
    unordered_tables: Vec<Vec<u8>>,
    comparisons: Comparisons,
    done: u64,
    /// Whether `progress` has returned `Break`: nothing more is visited.
    is_ended: bool,
    progress: &'a mut CheckProgressFn<'a>,
}

/// The progress callback of a check. It may end the check.
pub(crate) type CheckProgressFn<'t> = dyn FnMut(CheckProgress) -> ControlFlow<()> + 't;

/// Checks a snapshot and the named snapshots that it lists. `faults` are the named snapshots that
/// could not be opened. Returns `None` if `progress` breaks.
pub(crate) fn check<'a>(
    snapshot: &Snapshot,
    (named, faults): (&[(Vec<u8>, Reader)], &[Error]),
    progress: &'a mut CheckProgressFn<'a>,
) -> Option<CheckReport> {
    let mut audit = CheckAudit::new(snapshot, progress);
    let mut report = CheckReport {
        pages: snapshot.page_count(),
        ..CheckReport::default()
    };
    audit.has_past = !named.is_empty();
    audit.is_in_catalog = true;
    let totals = audit.tree(snapshot, snapshot.catalog());
    audit.compare(snapshot.catalog(), totals);
    audit.is_in_catalog = false;
    audit.is_damaged = false;
    match TreeRoot::decode_of_names(&snapshot.record.snapshots_root) {
        Ok(root) => {
            let totals = audit.tree(snapshot, &root);
            audit.compare(&root, totals);
        }
        Err(fault) => {
            // Which of the records it is may be decided only when it is written.
            let error = fault.at(slot_page(0), "check", "the tree of named snapshots");
            audit.damage(None, &error.to_string());
        }
    }
    for fault in faults {
        audit.damage(None, &fault.to_string());
    }
    let last_number = snapshot.record.sequence.max(snapshot.transaction().0);
    if last_number >= LAST_NUMBER - NUMBERS_LEFT_MIN {
        let detail = format!(
            "the newest commit has the number {last_number}, after which there are no numbers for many others; \
             write the tables with `teak dump`, and load them into a new database"
        );
        audit.damage(None, &detail);
    }
    for (name, root) in std::mem::take(&mut audit.tables) {
        audit.table = Some(name);
        audit.is_damaged = false;
        let totals = audit.tree(snapshot, &root);
        audit.compare(&root, totals);
        if !root.kind.dropped {
            report.tables += 1;
            report.records += totals.records;
        }
    }
    audit.table = None;
    match snapshot.load_space_map() {
        Ok(space) => {
            let mut census = space.classify();
            audit.census(&census, snapshot.record.journal);
            census.pending.sort_by_key(|death| death.extent.start);
            let mut past = NamedStateAudit {
                deaths: &census.pending,
                transaction: TransactionId(0),
                visited: vec![false; audit.uses.len()],
                entered: HashSet::new(),
                name: &[],
                values_left: audit.uses.len() as u64,
                is_known: false,
                audit: &mut audit,
                tables: Vec::new(),
            };
            if !is_planted(Planted::CheckNewest) {
                // The newest state first: pages alive in it have not died for the older ones.
                let mut named: Vec<_> = named.iter().collect();
                named.sort_by_key(|(_, state)| Reverse(state.transaction()));
                named
                    .into_iter()
                    .for_each(|(name, state)| past.check(name, state));
            }
        }
        Err(error) => audit.damage(None, &error.to_string()),
    }
    report.unknown_tables = audit.unknown_tables;
    report.unordered_tables = audit.unordered_tables;
    report.damages = audit.damages;
    report.more_damages = audit.more_damages;
    (!audit.is_ended).then_some(report)
}

/// A complete check without named snapshots.
#[cfg(test)]
pub(crate) fn report(snapshot: &Snapshot) -> CheckReport {
    check(snapshot, (&[], &[]), &mut |_| ControlFlow::Continue(())).expect("nobody ends it")
}

impl<'a> CheckAudit<'a> {
    pub(crate) fn new(snapshot: &Snapshot, progress: &'a mut CheckProgressFn<'a>) -> Self {
        let count = snapshot.page_count().min(1 << 32) as usize;
        let mut uses = vec![PageUse::Unreachable; count];
        let records = count.min(FIRST_PAGE as usize);
        uses[..records].fill(PageUse::Record);
        Self {
            uses,
            damages: Vec::new(),
            more_damages: 0,
            is_damaged: false,
            is_in_catalog: false,
            has_past: false,
            counted: HashMap::new(),
            kinds: HashMap::new(),
            values: HashMap::new(),
            overlaps_left: count as u64,
            table: None,
            tables: Vec::new(),
            unknown_tables: Vec::new(),
            unordered_tables: Vec::new(),
            comparisons: snapshot.comparisons.clone(),
            done: 0,
            is_ended: false,
            progress,
        }
    }

    fn tree(&mut self, snapshot: &Snapshot, root: &TreeRoot) -> Totals {
        self.keep_kind(root);
        walk::walk(&Prefault(snapshot), root, snapshot.transaction(), self)
    }

    fn damage(&mut self, page: Option<PageNumber>, detail: &str) {
        let (table, detail) = (self.table.clone(), detail.to_owned());
        self.note(Damage {
            page,
            table,
            key_range: None,
            detail,
        });
    }

    fn note(&mut self, damage: Damage) {
        self.is_damaged = true;
        match self.damages.len() < DAMAGES_MAX {
            true => self.damages.push(damage),
            false => self.more_damages += 1,
        }
    }

    /// Marks the use of pages; `false` if one is out of range or in use already.
    pub(crate) fn mark(&mut self, extent: Extent, page_use: PageUse) -> bool {
        let end = extent.end();
        let Some(uses) = self.uses.get_mut(extent.start.index()..end as usize) else {
            self.damage(
                Some(extent.start),
                "it is in use, but beyond the end of the database",
            );
            return false;
        };
        let len = u64::from(extent.len);
        if self.overlaps_left < len {
            self.damage(Some(extent.start), "too many extents overlap to look at it");
            return false;
        }
        if let Some(index) = uses.iter().position(|u| *u != PageUse::Unreachable) {
            let page = PageNumber(extent.start.0 + index as u32);
            let detail = format!("it is used twice, as {:?} and as {page_use:?}", uses[index]);
            self.overlaps_left -= len;
            self.damage(Some(page), &detail);
            return false;
        }
        uses.fill(page_use);
        self.done += u64::from(extent.len);
        true
    }

    /// Notes the kind of a tree. Returns `false` if another state has a tree of another kind with
    /// the same root page, so that its findings do not apply to this tree.
    fn keep_kind(&mut self, root: &TreeRoot) -> bool {
        let kind = TreeRoot {
            sequence: 0,
            ..root.emptied()
        };
        // Less is known of a dropped tree.
        let is_kept = self.has_past && !root.is_empty() && !root.kind.dropped;
        !is_kept || *self.kinds.entry(root.page).or_insert(kind) == kind
    }

    /// Notes the totals below a page that named states may share.
    fn keep(&mut self, page: PageNumber, below: walk::SubtreeTotals) {
        if self.has_past {
            self.counted.insert(page, below);
        }
    }

    /// Compares the totals of a root with those counted by a walk. After damage they cannot agree.
    fn compare(&mut self, root: &TreeRoot, totals: Totals) {
        if self.is_damaged {
            return;
        }
        let expected = (
            root.records,
            root.inner_pages,
            root.leaf_pages,
            root.value_pages,
        );
        if !is_counted_by(root, totals) {
            let detail =
                format!("the root of the tree counts {expected:?}, but there are {totals:?}");
            self.damage(None, &detail);
        }
    }

    /// Marks the pages that the free-space map lists. The remaining ones are unreachable.
    fn census(&mut self, census: &Census, journal: Option<JournalPages>) {
        self.mark_census(census, journal);
        if !self.damages.is_empty() || !self.unknown_tables.is_empty() {
            return;
        }
        let lost = self
            .uses
            .iter()
            .filter(|page| **page == PageUse::Unreachable)
            .count();
        if let Some(first) = self
            .uses
            .iter()
            .position(|page| *page == PageUse::Unreachable)
        {
            let detail = format!(
                "{lost} pages, this one first, are neither used nor free; dump and load the \
                 database to win them back"
            );
            self.damage(Some(PageNumber(first as u32)), &detail);
        }
    }

    pub(crate) fn mark_census(&mut self, census: &Census, journal: Option<JournalPages>) {
        if let Some(journal) = &journal {
            self.mark(journal.extent, PageUse::Journal);
        }
        for extent in &census.free {
            self.mark(*extent, PageUse::Free);
        }
        for death in &census.pending {
            self.mark(death.extent, PageUse::Pending);
        }
        for &page in &census.own {
            self.mark(
                Extent {
                    start: page,
                    len: 1,
                },
                PageUse::SpaceMap,
            );
        }
    }

    /// Reports the progress; `false` if the check has to end.
    fn report_progress(&mut self) -> bool {
        let done = CheckProgress {
            pages_done: self.done,
            pages_total: self.uses.len() as u64,
        };
        self.is_ended = self.is_ended || (self.progress)(done).is_break();
        !self.is_ended
    }

    pub(crate) fn take_tables(&mut self) -> Vec<(Vec<u8>, TreeRoot)> {
        std::mem::take(&mut self.tables)
    }
}

/// Whether the counts of a root match the totals.
fn is_counted_by(root: &TreeRoot, totals: Totals) -> bool {
    root.records == totals.records
        && u64::from(root.inner_pages) == totals.inner_pages
        && u64::from(root.leaf_pages) == totals.leaf_pages
        && root.value_pages == totals.value_pages
}

/// The check of named snapshots. A page that another state shares is not visited again. It is only
/// compared with the reference to it in this state, because it may have been overwritten since.
struct NamedStateAudit<'p, 'a> {
    audit: &'p mut CheckAudit<'a>,
    /// The dead pages that a state may use, sorted.
    deaths: &'p [Death],
    /// The transaction of the state.
    transaction: TransactionId,
    visited: Vec<bool>,
    /// Pages and values visited in this state so far: the state may use each only once.
    entered: HashSet<PageNumber>,
    name: &'p [u8],
    /// Pages that other states may share. It bounds the work in a forged file with nested extents.
    values_left: u64,
    /// Whether the page entered last was visited before.
    is_known: bool,
    tables: Vec<(Vec<u8>, TreeRoot)>,
}

impl<'p> NamedStateAudit<'p, '_> {
    fn check(&mut self, name: &'p [u8], state: &Snapshot) {
        self.name = name;
        self.transaction = state.transaction();
        self.entered.clear();
        self.walk(state, state.catalog());
        for (table, root) in std::mem::take(&mut self.tables) {
            self.audit.table = Some(table);
            self.walk(state, &root);
        }
        self.audit.table = None;
    }

    fn walk(&mut self, state: &Snapshot, root: &TreeRoot) {
        self.audit.is_damaged = false;
        if !self.audit.keep_kind(root) {
            self.damage(root.page, "another state has it in a tree of another kind");
        }
        let (totals, records) = walk::count(&Prefault(state), root, state.transaction(), self);
        if records.is_some() && !self.audit.is_damaged && !is_counted_by(root, totals) {
            self.damage(root.page, "the root of the tree counts other than there is");
        }
    }

    /// Checks that dead pages are kept for this state too. If they are kept only for others, they
    /// may be reused before this state is dropped.
    fn check_deaths(&mut self, extent: Extent) {
        let first = self
            .deaths
            .partition_point(|death| death.extent.end() <= u64::from(extent.start.0));
        let deaths = self.deaths[first..].iter();
        let unkept = deaths
            .take_while(|death| u64::from(death.extent.start.0) < extent.end())
            .find(|death| !(death.birth..death.died).contains(&self.transaction));
        if let Some(death) = unkept {
            let (birth, died) = (death.birth.0, death.died.0);
            let detail =
                format!("it is used, and kept only for transactions from {birth} to before {died}");
            self.damage(extent.start, &detail);
        }
    }

    fn damage(&mut self, page: PageNumber, detail: &str) {
        let detail = self.loss_text(detail);
        self.audit.damage(Some(page), &detail);
    }

    fn loss_text(&self, detail: &str) -> String {
        let name = String::from_utf8_lossy(self.name);
        format!("in the snapshot {name:?}: {detail}")
    }
}

impl Visitor for NamedStateAudit<'_, '_> {
    fn enter(&mut self, extent: Extent, role: PageRole) -> bool {
        if !self.audit.report_progress() {
            return false;
        }
        if !self.entered.insert(extent.start) {
            self.damage(extent.start, "it is used twice");
            return false;
        }
        let pages = extent.start.index()..extent.end() as usize;
        let (uses, visited) = (
            self.audit.uses.get(pages.clone()),
            self.visited.get_mut(pages),
        );
        let (Some(uses @ [first, ..]), Some(visited)) = (uses, visited) else {
            self.damage(
                extent.start,
                "it is in use, but beyond the end of the database",
            );
            return false;
        };
        if let Some(index) = uses.iter().position(|page_use| page_use != first) {
            let page = PageNumber(extent.start.0 + index as u32);
            let detail = format!(
                "it is of a value of which page {} is {first:?}, and is {:?}",
                extent.start.0, uses[index]
            );
            self.damage(page, &detail);
            return false;
        }
        self.is_known = match (first, role) {
            (PageUse::Pending, _) if visited[0] => true,
            (PageUse::Pending, _) if !visited.contains(&true) => {
                visited.fill(true);
                self.check_deaths(extent);
                false
            }
            (PageUse::Inner, PageRole::Inner)
            | (PageUse::Leaf, PageRole::Leaf)
            | (PageUse::Value, PageRole::Value) => true,
            (other, _) => {
                let detail = format!("it is used, and is {other:?}");
                self.damage(extent.start, &detail);
                return false;
            }
        };
        true
    }

    fn value(&mut self, pages: Extent, extent: &ValueExtent) {
        let is_of_newest = self.audit.uses.get(extent.start.index()) == Some(&PageUse::Value);
        self.is_known = match self.audit.values.get(&extent.start) {
            Some(known) if known == extent => true,
            known if known.is_some() || is_of_newest => {
                self.damage(extent.start, "another state has another value there");
                true
            }
            _ if self.values_left < u64::from(pages.len) => {
                self.damage(extent.start, "too many large values overlap to look at it");
                true
            }
            _ => {
                self.values_left -= u64::from(pages.len);
                self.audit.values.insert(extent.start, *extent);
                false
            }
        };
    }

    fn descend(&mut self, _birth: TransactionId) -> bool {
        !self.is_known
    }

    fn counted(&mut self, page: PageNumber, below: walk::SubtreeTotals) {
        self.audit.keep(page, below);
    }

    fn counted_before(&self, page: PageNumber) -> Option<walk::SubtreeTotals> {
        self.audit.counted.get(&page).copied()
    }

    fn finding(&mut self, finding: Finding) {
        let detail = self.loss_text(finding.detail);
        self.audit.note(Damage {
            page: Some(finding.page),
            table: self.audit.table.clone(),
            key_range: Some((finding.low, finding.high)),
            detail,
        });
    }

    fn record(&mut self, leaf: PageNumber, key: &[u8], value: StoredValue<'_>) {
        if self.audit.table.is_some() {
            return;
        }
        match catalog::decode(leaf, value, &self.audit.comparisons) {
            Ok(entry) => {
                let root = entry.root().map(|root| (key.to_vec(), *root));
                self.tables.extend(root);
            }
            Err(error) => {
                let detail = self.loss_text(&error.to_string());
                self.audit.damage(Some(leaf), &detail);
            }
        }
    }
}

impl Visitor for CheckAudit<'_> {
    fn enter(&mut self, extent: Extent, role: PageRole) -> bool {
        let page_use = match role {
            PageRole::Inner => PageUse::Inner,
            PageRole::Leaf => PageUse::Leaf,
            PageRole::Value => PageUse::Value,
        };
        let is_marked = self.mark(extent, page_use);
        self.report_progress() && is_marked
    }

    fn value(&mut self, _pages: Extent, extent: &ValueExtent) {
        if self.has_past {
            self.values.insert(extent.start, *extent);
        }
    }

    fn counted(&mut self, page: PageNumber, below: walk::SubtreeTotals) {
        self.keep(page, below);
    }

    fn finding(&mut self, finding: Finding) {
        self.note(Damage {
            page: Some(finding.page),
            table: self.table.clone(),
            key_range: Some((finding.low, finding.high)),
            detail: finding.detail.to_owned(),
        });
    }

    fn record(&mut self, leaf: PageNumber, key: &[u8], value: StoredValue<'_>) {
        if value.kind != ValueKind::Tree {
            if self.is_in_catalog {
                self.damage(Some(leaf), "a catalog entry is not the root of a tree");
            }
            return;
        }
        match catalog::decode(PageNumber(0), value, &self.comparisons) {
            Ok(CatalogEntry::Table(root)) if self.table.is_none() => {
                self.tables.push((key.to_vec(), root));
            }
            Ok(CatalogEntry::Dropped(root)) if self.table.is_none() => {
                if !is_reserved(key) {
                    let detail = "what is left of a dropped table has the name of a table";
                    self.damage(None, detail);
                }
                self.tables.push((key.to_vec(), root));
            }
            Ok(CatalogEntry::Unordered(root, _)) if self.table.is_none() => {
                self.tables.push((key.to_vec(), root));
                self.unordered_tables.push(key.to_vec());
            }
            Ok(CatalogEntry::Unknown(_)) if self.table.is_none() => {
                self.unknown_tables.push(key.to_vec());
            }
            Ok(_) => self.damage(None, "a record holds the root of a tree where none belongs"),
            Err(error) => {
                self.table = Some(key.to_vec());
                self.damage(None, &error.to_string());
                self.table = None;
            }
        }
    }
}
