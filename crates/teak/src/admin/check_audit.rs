//! The visitor of a check: marks the use of each page, and lists damages.

use crate::{
    Extent, PageNumber,
    alloc::{Census, FIRST_PAGE},
    btree::{
        TreeRoot,
        walk::{self, Finding, PageRole, Visitor, totals::Totals},
    },
    page::{
        comparison::Comparisons,
        value::{StoredValue, ValueExtent, ValueKind},
    },
    record::JournalPages,
};
use crate::{
    admin::check_report::{CheckProgress, CheckProgressFn, Damage, PageUse},
    maintain::dropped::is_reserved,
    read::{
        catalog::{self, CatalogEntry},
        prefault::Prefault,
        snapshot::PinnedSnapshot,
    },
};
use std::collections::HashMap;

/// The most damages that are listed.
const DAMAGES_MAX: usize = 10_000;

/// The visitor of a check, or of a listing of page uses.
pub(crate) struct CheckAudit<'a> {
    pub(crate) uses: Vec<PageUse>,
    pub(super) damages: Vec<Damage>,
    pub(super) more_damages: u64,
    /// Whether the present tree is damaged.
    pub(super) is_damaged: bool,
    /// Whether the present tree is the catalog.
    pub(super) is_in_catalog: bool,
    /// Whether named states are checked too, and (below) the totals under pages visited then.
    pub(super) has_past: bool,
    pub(super) counted: HashMap<PageNumber, walk::totals::SubtreeTotals>,
    /// The kinds of the trees with these root pages.
    kinds: HashMap<PageNumber, TreeRoot>,
    /// Large values that named states may share.
    pub(super) values: HashMap<PageNumber, ValueExtent>,
    /// Pages of overlapping extents that may still be visited: a forged file may have any number of
    /// them.
    overlaps_left: u64,
    pub(super) table: Option<Vec<u8>>,
    tables: Vec<(Vec<u8>, TreeRoot)>,
    pub(super) unknown_tables: Vec<Vec<u8>>,
    pub(super) unordered_tables: Vec<Vec<u8>>,
    pub(super) comparisons: Comparisons,
    done: u64,
    /// Whether `progress` has returned `Break`: nothing more is visited.
    pub(super) is_ended: bool,
    progress: &'a mut CheckProgressFn<'a>,
}

impl<'a> CheckAudit<'a> {
    pub(crate) fn new(snapshot: &PinnedSnapshot, progress: &'a mut CheckProgressFn<'a>) -> Self {
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

    /// Walks a tree, and compares the totals of its root with those counted. Returns the latter.
    pub(super) fn counted_tree(&mut self, snapshot: &PinnedSnapshot, root: &TreeRoot) -> Totals {
        self.is_damaged = false;
        self.note_kind(root);
        let totals = walk::walk(&Prefault(snapshot), root, snapshot.transaction(), self);
        self.compare(root, totals);
        totals
    }

    pub(super) fn damage(&mut self, page: Option<PageNumber>, detail: &str) {
        let (table, detail) = (self.table.clone(), detail.to_owned());
        self.note(Damage {
            page,
            table,
            key_range: None,
            detail,
        });
    }

    pub(super) fn note(&mut self, damage: Damage) {
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
    pub(super) fn note_kind(&mut self, root: &TreeRoot) -> bool {
        let mut kind = root.emptied();
        // These can change while the root page stays the same.
        kind.sequence = 0;
        kind.kind.typed = false;
        // Less is known of a dropped tree.
        let is_kept = self.has_past && !root.is_empty() && !root.kind.dropped;
        !is_kept || *self.kinds.entry(root.page).or_insert(kind) == kind
    }

    /// Notes the totals below a page that named states may share.
    pub(super) fn note_totals(&mut self, page: PageNumber, below: walk::totals::SubtreeTotals) {
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
    pub(super) fn census(&mut self, census: &Census, journal: Option<JournalPages>) {
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
    pub(super) fn report_progress(&mut self) -> bool {
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
pub(super) fn is_counted_by(root: &TreeRoot, totals: Totals) -> bool {
    root.records == totals.records
        && u64::from(root.inner_pages) == totals.inner_pages
        && u64::from(root.leaf_pages) == totals.leaf_pages
        && root.value_pages == totals.value_pages
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

    fn counted(&mut self, page: PageNumber, below: walk::totals::SubtreeTotals) {
        self.note_totals(page, below);
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
