//! The page walk: visiting all pages of the tables of a state.

use crate::{
    Error, Extent, PageNumber, Result, TransactionId,
    btree::{
        TreeRoot,
        reading::reading,
        walk::{self, Finding, PageRole, Visitor},
    },
    page::{
        comparison::Comparisons,
        header::{Header, PageKind},
        inner, leaf,
        value::{StoredValue, ValueExtent, ValueKind},
    },
};
use crate::{
    admin::check_report::PageUse,
    maintain::dropped,
    read::{catalog, prefault::Prefault, snapshot::PinnedSnapshot},
};
use std::ops::ControlFlow;

/// A page of a table, or all pages of a large value. See
/// [`ReadTxn::walk_pages`](crate::ReadTxn::walk_pages).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PageVisit<'v> {
    /// The pages.
    pub extent: Extent,
    /// Their use: an inner page, a leaf, or a large value.
    pub page_use: PageUse,
    /// The table that they belong to; `None` for the catalog, and for the rests of dropped tables.
    pub table: Option<&'v [u8]>,
    /// 0 for leaves and large values, 1 for the pages above leaves, and so on.
    pub level: u8,
    /// The transaction that wrote them.
    pub birth: TransactionId,
    /// Records of a leaf, or children of an inner page; 0 for a large value.
    pub entries: usize,
    /// Bytes in use.
    pub used_bytes: u64,
}

/// Visits all pages of all tables, parents before children.
pub(crate) fn walk_pages(
    snapshot: &PinnedSnapshot,
    visit: &mut dyn FnMut(PageVisit<'_>) -> ControlFlow<()>,
) -> Result<()> {
    let words = snapshot.page_count().div_ceil(64) as usize;
    let mut page_walk = PageWalk {
        visit,
        comparisons: snapshot.comparisons(),
        seen: vec![0; words],
        is_ended: false,
        is_in_catalog: true,
        table: None,
        tables: Vec::new(),
        fault: None,
    };
    reading(snapshot, || {
        let pages = Prefault(snapshot);
        walk::walk(
            &pages,
            snapshot.catalog(),
            snapshot.transaction(),
            &mut page_walk,
        );
        for (name, root) in std::mem::take(&mut page_walk.tables) {
            (page_walk.is_in_catalog, page_walk.table) = (false, name);
            walk::walk(&pages, &root, snapshot.transaction(), &mut page_walk);
        }
        Ok(())
    })?;
    page_walk.fault.map_or(Ok(()), Err)
}

struct PageWalk<'v> {
    visit: &'v mut dyn FnMut(PageVisit<'_>) -> ControlFlow<()>,
    comparisons: &'v Comparisons,
    /// One bit for each page: no page is visited twice, even in a damaged file.
    seen: Vec<u64>,
    is_ended: bool,
    is_in_catalog: bool,
    table: Option<Vec<u8>>,
    /// Tables still to be visited. The rest of a dropped table has no name.
    tables: Vec<(Option<Vec<u8>>, TreeRoot)>,
    fault: Option<Error>,
}

impl PageWalk<'_> {
    fn damage(&mut self, page: PageNumber, detail: &str) {
        self.fault
            .get_or_insert_with(|| Error::corrupted(page, "walk pages", detail));
    }

    fn show(&mut self, visit: PageVisit<'_>) {
        let table = self.table.as_deref();
        if !self.is_ended && (self.visit)(PageVisit { table, ..visit }).is_break() {
            self.is_ended = true;
        }
    }
}

impl Visitor for PageWalk<'_> {
    fn enter(&mut self, extent: Extent, _role: PageRole) -> bool {
        if self.is_ended {
            return false;
        }
        for page in extent.pages() {
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
        let (page_use, used_len) = match header.kind == PageKind::Inner as u8 {
            true => (PageUse::Inner, inner::used_len(header)),
            false => (PageUse::Leaf, leaf::used_len(header)),
        };
        self.show(PageVisit {
            extent: Extent::new(header.number.0, 1),
            page_use,
            table: None,
            level: header.level,
            birth: header.birth,
            entries: header.count.into(),
            used_bytes: used_len as u64,
        });
    }

    fn value(&mut self, pages: Extent, extent: &ValueExtent) {
        self.show(PageVisit {
            extent: pages,
            page_use: PageUse::Value,
            table: None,
            level: 0,
            birth: extent.birth,
            entries: 0,
            used_bytes: extent.len_bytes,
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
