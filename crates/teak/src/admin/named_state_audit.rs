//! The check of named snapshots.

use crate::{
    Extent, PageNumber, TransactionId,
    alloc::Death,
    btree::{
        TreeRoot,
        walk::{self, Finding, PageRole, Visitor},
    },
    page::value::{StoredValue, ValueExtent},
};
use crate::{
    admin::{
        check_audit::{CheckAudit, is_counted_by},
        check_report::{Damage, PageUse},
    },
    read::{catalog, prefault::Prefault, snapshot::PinnedSnapshot, state_key::StateKey},
};
use std::collections::HashSet;

/// The check of named snapshots. A page that another state shares is not visited again. It is only
/// compared with the reference to it in this state, because it may have been overwritten since.
pub(super) struct NamedStateAudit<'p, 'a> {
    audit: &'p mut CheckAudit<'a>,
    /// The dead pages that a state may use, sorted.
    deaths: &'p [Death],
    /// The transaction of the state.
    transaction: TransactionId,
    visited: Vec<bool>,
    /// Pages and values visited in this state so far: the state may use each only once.
    entered: HashSet<PageNumber>,
    key: Option<&'p StateKey>,
    /// Pages that other states may share. It bounds the work in a forged file with nested extents.
    values_left: u64,
    /// Whether the page entered last was visited before.
    is_known: bool,
    /// The page or value entered last, and the first transaction that it is kept for, if it is
    /// dead.
    last_entered: PageNumber,
    kept_since: TransactionId,
    tables: Vec<(Vec<u8>, TreeRoot)>,
}

impl<'p, 'a> NamedStateAudit<'p, 'a> {
    /// An audit for states that may use these sorted dead pages.
    pub(super) fn new(audit: &'p mut CheckAudit<'a>, deaths: &'p [Death]) -> Self {
        Self {
            deaths,
            transaction: TransactionId(0),
            visited: vec![false; audit.uses.len()],
            entered: HashSet::new(),
            key: None,
            values_left: audit.uses.len() as u64,
            is_known: false,
            last_entered: PageNumber(0),
            kept_since: TransactionId(0),
            audit,
            tables: Vec::new(),
        }
    }

    pub(super) fn check(&mut self, key: &'p StateKey, state: &PinnedSnapshot) {
        self.key = Some(key);
        self.transaction = state.transaction();
        self.entered.clear();
        self.walk(state, state.catalog());
        for (table, root) in std::mem::take(&mut self.tables) {
            self.audit.table = Some(table);
            self.walk(state, &root);
        }
        self.audit.table = None;
    }

    fn walk(&mut self, state: &PinnedSnapshot, root: &TreeRoot) {
        self.audit.is_damaged = false;
        if !self.audit.note_kind(root) {
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
        let mut unkept = None;
        for death in &self.deaths[first..] {
            if u64::from(death.extent.start.0) >= extent.end() {
                break;
            }
            self.kept_since = self.kept_since.max(death.birth);
            if !(death.birth..death.died).contains(&self.transaction) {
                unkept = Some(death);
            }
        }
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
        match self.key {
            Some(key) => format!("in {key}: {detail}"),
            None => detail.to_owned(),
        }
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
        (self.last_entered, self.kept_since) = (extent.start, TransactionId(0));
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
            (PageUse::Pending, _) if visited[0] => {
                self.check_deaths(extent);
                true
            }
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

    fn descend(&mut self, birth: TransactionId) -> bool {
        // Older states that share this page, or what leads to it, may need it from its birth on.
        // Pages below a known one are not visited again, so each page is compared once here.
        if !self.is_known && self.kept_since > birth {
            let detail = format!(
                "it was born in transaction {}, and is kept only from {} on",
                birth.0, self.kept_since.0
            );
            self.damage(self.last_entered, &detail);
        }
        !self.is_known
    }

    fn counted(&mut self, page: PageNumber, below: walk::totals::SubtreeTotals) {
        self.audit.note_totals(page, below);
    }

    fn counted_before(&self, page: PageNumber) -> Option<walk::totals::SubtreeTotals> {
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
