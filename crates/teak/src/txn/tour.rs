//! A tour of the pages of a state, for whoever wants to see what its tables are made of.

use super::{catalog, check::PageUse, demanded::Demanded, dropped, snapshot::Snapshot};
use crate::{
    Error, PageNumber, Result, Run, TransactionId,
    page::{
        comparison::Comparisons,
        header::{Header, Kind},
        inner, leaf,
        value::{StoredValue, ValueKind, ValueRun},
    },
    tree::{
        TreeRoot,
        reading::reading,
        walk::{self, Finding, PageRole, Visitor},
    },
};
use std::ops::ControlFlow;

/// A page of a table, or all those of a large value; see [`ReadTxn::walk_pages`](crate::ReadTxn::walk_pages).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PageVisit<'v> {
    /// Which pages.
    pub run: Run,
    /// What they are: an inner page, a leaf, or a large value.
    pub page_use: PageUse,
    /// The table that they belong to; `None` for the catalog, and for what is left of dropped tables.
    pub table: Option<&'v [u8]>,
    /// 0 for leaves and large values, 1 for the pages above leaves, and so on.
    pub level: u8,
    /// The transaction that wrote them.
    pub birth: TransactionId,
    /// Records of a leaf, children of an inner page; 0 for a large value.
    pub entries: usize,
    /// Bytes of them that are in use.
    pub used_bytes: u64,
}

/// Shows all pages of all tables, each page before those below it.
pub(crate) fn walk_pages(
    snapshot: &Snapshot,
    visit: &mut dyn FnMut(PageVisit<'_>) -> ControlFlow<()>,
) -> Result<()> {
    let words = snapshot.page_count().div_ceil(64) as usize;
    let mut tour = Tour {
        visit,
        comparisons: snapshot.comparisons(),
        seen: vec![0; words],
        is_over: false,
        is_in_catalog: true,
        table: None,
        tables: Vec::new(),
        fault: None,
    };
    reading(snapshot, || {
        let pages = Demanded(snapshot);
        walk::walk(
            &pages,
            snapshot.catalog(),
            snapshot.transaction(),
            &mut tour,
        );
        for (name, root) in std::mem::take(&mut tour.tables) {
            (tour.is_in_catalog, tour.table) = (false, name);
            walk::walk(&pages, &root, snapshot.transaction(), &mut tour);
        }
        Ok(())
    })?;
    tour.fault.map_or(Ok(()), Err)
}

struct Tour<'v> {
    visit: &'v mut dyn FnMut(PageVisit<'_>) -> ControlFlow<()>,
    comparisons: &'v Comparisons,
    /// A bit for each page: no page is shown twice, whatever a damaged file says.
    seen: Vec<u64>,
    is_over: bool,
    is_in_catalog: bool,
    table: Option<Vec<u8>>,
    /// Those that are yet to be shown. What is left of a dropped one has no name.
    tables: Vec<(Option<Vec<u8>>, TreeRoot)>,
    fault: Option<Error>,
}

impl Tour<'_> {
    fn damage(&mut self, page: PageNumber, detail: &str) {
        self.fault
            .get_or_insert_with(|| Error::corrupted(page, "walk pages", detail));
    }

    fn show(&mut self, visit: PageVisit<'_>) {
        let table = self.table.as_deref();
        if !self.is_over && (self.visit)(PageVisit { table, ..visit }).is_break() {
            self.is_over = true;
        }
    }
}

impl Visitor for Tour<'_> {
    fn enter(&mut self, run: Run, _role: PageRole) -> bool {
        if self.is_over {
            return false;
        }
        for page in run.pages() {
            match self.seen.get_mut(page.index() / 64) {
                Some(word) if *word >> (page.index() % 64) & 1 == 0 => {
                    *word |= 1 << (page.index() % 64);
                }
                Some(_) => {
                    self.damage(page, "it is used twice");
                    return false;
                }
                None => {
                    self.damage(page, "a page number points outside of the file");
                    return false;
                }
            }
        }
        true
    }

    fn finding(&mut self, finding: Finding) {
        self.damage(finding.page, finding.detail);
    }

    fn page(&mut self, header: &Header) {
        let (page_use, used_len) = match header.kind == Kind::Inner as u8 {
            true => (PageUse::Inner, inner::used_len(header)),
            false => (PageUse::Leaf, leaf::used_len(header)),
        };
        self.show(PageVisit {
            run: Run::new(header.number.0, 1),
            page_use,
            table: None,
            level: header.level,
            birth: header.birth,
            entries: header.count.into(),
            used_bytes: used_len as u64,
        });
    }

    fn value(&mut self, pages: Run, run: &ValueRun) {
        self.show(PageVisit {
            run: pages,
            page_use: PageUse::Value,
            table: None,
            level: 0,
            birth: run.birth,
            entries: 0,
            used_bytes: run.len_bytes,
        });
    }

    fn record(&mut self, leaf: PageNumber, key: &[u8], value: StoredValue<'_>) {
        if !self.is_in_catalog || value.kind != ValueKind::Tree {
            return;
        }
        match catalog::decode(leaf, value, self.comparisons) {
            Ok(entry) => {
                let root = entry.root().copied();
                let name = (!dropped::is_reserved(key)).then(|| key.to_vec());
                self.tables.extend(root.map(|root| (name, root)));
            }
            Err(error) => {
                self.fault.get_or_insert(error);
            }
        }
    }
}
