//! A walk over every page of a tree that trusts nothing: kinds, numbers, checksums, order, bounds,
//! counts. After damage it continues past the damaged page.

pub(crate) mod totals;
mod values;

use super::{PageSource, TreeRoot};
use crate::{
    Checksum, Extent, PageNumber, TransactionId,
    page::{
        PageDamage,
        header::{Header, PageKind},
        inner::Inner,
        key::KeyOrder,
        leaf::{self, HAS_REFERENCES, Leaf, LeafFormat},
        value::{StoredValue, ValueExtent, ValueKind},
    },
};
use totals::{SubtreeTotals, Totals};

/// The role of a page in a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PageRole {
    Inner,
    Leaf,
    Value,
}

/// Damage found on a walk.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) page: PageNumber,
    pub(crate) detail: &'static str,
    /// The affected keys: from this one (included) to that one (excluded).
    pub(crate) low: Vec<u8>,
    pub(crate) high: Option<Vec<u8>>,
    /// An upper bound of the records below the page: known for whole trees, and in counted ones.
    pub(crate) records_max: Option<u64>,
}

/// Receives the pages, records and damage of a walk.
pub(crate) trait Visitor {
    /// Called before pages of the tree are entered; `false` if they are in use elsewhere or need no
    /// visit, so that the walk does not enter them.
    fn enter(&mut self, extent: Extent, role: PageRole) -> bool;
    /// Damage.
    fn finding(&mut self, finding: Finding);
    /// A page that was entered, and whose checksum, number, kind and level are right.
    fn page(&mut self, _header: &Header) {}
    /// A large value that was entered.
    fn value(&mut self, _pages: Extent, _extent: &ValueExtent) {}
    /// A record of a leaf whose checksum is right. A key with several values is passed with each of
    /// them.
    fn record(&mut self, _leaf: PageNumber, _key: &[u8], _value: StoredValue<'_>) {}
    /// Whether to descend below a page of this birth whose checksum is right.
    fn descend(&mut self, _birth: TransactionId) -> bool {
        true
    }
    /// The totals below a page after it was walked.
    fn counted(&mut self, _page: PageNumber, _below: SubtreeTotals) {}
    /// The totals below a page that is not descended into, if it was walked before.
    fn counted_before(&self, _page: PageNumber) -> Option<SubtreeTotals> {
        None
    }
}

const RECORDS_OVERLAP: &str =
    "its records overlap, or do not lie where the page says that records are";
const SEPARATORS_OVERLAP: &str =
    "its separators overlap, or do not lie where the page says that separators are";
const UNDECLARED_REFERENCES: &str = "a value refers to other pages, and the page does not say so";
const BORN_LATER: &str = "it was born later than the page that refers to it";

/// The bounds of the keys that a page may hold.
#[derive(Clone)]
struct KeyBounds {
    low: Vec<u8>,
    high: Option<Vec<u8>>,
    /// The number of records, if it is stated anywhere.
    records: Option<u64>,
    /// The transaction that wrote the pointer to the page: the page existed by then.
    written: TransactionId,
}

struct TreeWalk<'w, S: ?Sized, V> {
    source: &'w S,
    root: TreeRoot,
    /// If the tree is nested, the key whose values it holds, and the bounds of that key.
    around: Option<(&'w [u8], &'w KeyBounds)>,
    order: KeyOrder,
    /// Whether keys can be compared here; otherwise their order is not checked.
    is_ordered: bool,
    leaf_format: LeafFormat,
    counted: bool,
    visitor: &'w mut V,
    totals: Totals,
}

/// Walks the tree of a state and reports to the visitor.
pub(crate) fn walk<S: PageSource + ?Sized, V: Visitor>(
    source: &S,
    root: &TreeRoot,
    state: TransactionId,
    visitor: &mut V,
) -> Totals {
    count(source, root, state, visitor).0
}

/// Like [`walk`]; also returns the number of records, if it is certain.
pub(crate) fn count<S: PageSource + ?Sized, V: Visitor>(
    source: &S,
    root: &TreeRoot,
    state: TransactionId,
    visitor: &mut V,
) -> SubtreeTotals {
    let mut walk = TreeWalk::new(source, root, None, visitor);
    let records = walk.all(state);
    (walk.totals, records)
}

impl<'w, S: PageSource + ?Sized, V: Visitor> TreeWalk<'w, S, V> {
    fn new(
        source: &'w S,
        root: &TreeRoot,
        around: Option<(&'w [u8], &'w KeyBounds)>,
        visitor: &'w mut V,
    ) -> Self {
        Self {
            source,
            root: *root,
            around,
            order: root.order,
            is_ordered: root.order.is_resolved(),
            leaf_format: root.leaf_format(),
            counted: root.counted,
            visitor,
            totals: Totals::default(),
        }
    }

    /// Walks all pages, with a root pointer that transaction `written` wrote; returns the number of
    /// records, if it is certain.
    fn all(&mut self, written: TransactionId) -> Option<u64> {
        let level = self.root.depth.checked_sub(1)?;
        let bounds = KeyBounds {
            low: Vec::new(),
            high: None,
            records: Some(self.root.records),
            written,
        };
        self.page(self.root.page, self.root.checksum, level, &bounds)
    }

    fn report(&mut self, page: PageNumber, bounds: &KeyBounds, detail: &'static str) {
        let (low, high) = match self.around {
            None => (&bounds.low[..], &bounds.high),
            Some((key, around)) => (key, &around.high),
        };
        self.visitor.finding(Finding {
            page,
            detail,
            low: low.to_vec(),
            high: high.clone(),
            records_max: bounds.records,
        });
    }

    /// Walks a page and all pages below it; returns the number of records, if it is certain.
    fn page(
        &mut self,
        number: PageNumber,
        checksum: Checksum,
        level: u8,
        bounds: &KeyBounds,
    ) -> Option<u64> {
        let role = if level == 0 {
            PageRole::Leaf
        } else {
            PageRole::Inner
        };
        if !self.visitor.enter(
            Extent {
                start: number,
                len: 1,
            },
            role,
        ) {
            return None;
        }
        let (page, header) = match self.sound_page(number, checksum, level) {
            Ok(sound) => sound,
            Err(damage) => {
                self.report(number, bounds, damage.0);
                return None;
            }
        };
        if header.birth > bounds.written {
            self.report(number, bounds, BORN_LATER);
        }
        self.visitor.page(&header);
        // The totals below a leaf are known at once if it has only records.
        let is_kept = level > 0 || header.flags & HAS_REFERENCES != 0;
        let is_entered = self.visitor.descend(header.birth);
        if !is_entered && is_kept {
            let (totals, records) = self.visitor.counted_before(number)?;
            self.totals.add(totals);
            return records;
        }
        let before = std::mem::take(&mut self.totals);
        let below = match level {
            0 if !is_entered => self.count_leaf(page, &header),
            0 => self.leaf(number, page, &header, bounds),
            _ => self.inner(number, page, &header, bounds),
        };
        let below = below.unwrap_or_else(|damage| {
            self.report(number, bounds, damage.0);
            None
        });
        if is_kept {
            self.visitor.counted(number, (self.totals, below));
        }
        self.totals.add(before);
        below
    }

    /// Counts the records of a leaf that was visited before.
    fn count_leaf(&mut self, page: &[u8], header: &Header) -> Result<Option<u64>, PageDamage> {
        let leaf = Leaf::from_header(page, header)?;
        let records = self.root.weight(&leaf, 0..leaf.count())?;
        self.totals.leaf_pages += 1;
        self.totals.records = self.totals.records.saturating_add(records);
        Ok(Some(records))
    }

    /// Returns the bytes of a page after all checks of the page as a whole.
    fn sound_page(
        &self,
        number: PageNumber,
        checksum: Checksum,
        level: u8,
    ) -> Result<(&'w [u8], Header), PageDamage> {
        let source = self.source;
        let page = source
            .page(number)
            .map_err(|_| PageDamage("the page cannot be read"))?;
        let header = Header::read(page);
        if Checksum::of(page) != checksum {
            return Err(PageDamage(
                "its bytes do not match the checksum in its parent",
            ));
        }
        if header.number != number {
            return Err(PageDamage(
                "the page number in its header is another page's",
            ));
        }
        let kind = match level {
            0 => self.leaf_format.kind(),
            _ => PageKind::Inner,
        };
        if header.kind != kind as u8 || header.level != level {
            return Err(PageDamage(
                "it is not of the kind and level that its parent says",
            ));
        }
        let flags = match kind {
            PageKind::Leaf => self.leaf_format.flags() | header.flags & HAS_REFERENCES,
            PageKind::Inner => self.root.inner_format().flags(),
            _ => 0,
        };
        if header.flags != flags {
            return Err(PageDamage("its flags are not those of its tree"));
        }
        if kind == PageKind::FixedLeaf && header.prefix_len != self.leaf_format.fixed_len {
            return Err(PageDamage(
                "its keys do not have the length that the root says",
            ));
        }
        Ok((page, header))
    }

    fn leaf(
        &mut self,
        number: PageNumber,
        page: &'w [u8],
        header: &Header,
        bounds: &KeyBounds,
    ) -> Result<Option<u64>, PageDamage> {
        let bounds = &KeyBounds {
            written: header.birth.min(bounds.written),
            ..bounds.clone()
        };
        self.totals.leaf_pages += 1;
        let leaf = Leaf::from_header(page, header)?;
        let mut last: Option<Vec<u8>> = None;
        for index in 0..leaf.count() {
            let node = leaf.node(index)?;
            let mut key = Vec::new();
            leaf.append_key(index, &node, &mut key);
            if node.value.kind.is_reference() && !leaf.has_references() {
                self.report(number, bounds, UNDECLARED_REFERENCES);
            }
            if self.is_ordered
                && let Some(detail) =
                    self.key_order_damage(&leaf, index, &key, last.as_deref(), bounds)?
            {
                self.report(number, bounds, detail);
            }
            self.totals.add_data(key.len() as u64);
            if self.root.is_multi() {
                self.values(number, &key, node.value, bounds)?;
            } else {
                match self.around {
                    None => self.value(number, &key, node.value, bounds)?,
                    Some(_) if node.value == StoredValue::inline(&[]) => {}
                    Some(_) => return Err(PageDamage("a record of a nested tree has a value")),
                }
                self.visit_record(number, &key, node.value);
                self.totals.records += 1;
            }
            last = Some(key);
        }
        if !leaf::is_laid_out_well(&leaf, header)? {
            self.report(number, bounds, RECORDS_OVERLAP);
        }
        if leaf.count() == 0 {
            self.report(number, bounds, "a leaf of a tree is empty");
        }
        self.root.weight(&leaf, 0..leaf.count()).map(Some)
    }

    fn visit_record(&mut self, leaf: PageNumber, key: &[u8], value: StoredValue<'_>) {
        match self.around {
            None => self.visitor.record(leaf, key, value),
            Some((around, _)) => {
                self.visitor.record(leaf, around, StoredValue::inline(key));
            }
        }
    }

    /// Describes the damage if a key is out of order, given the one before it.
    fn key_order_damage(
        &self,
        leaf: &Leaf<'_>,
        index: usize,
        key: &[u8],
        last: Option<&[u8]>,
        bounds: &KeyBounds,
    ) -> Result<Option<&'static str>, PageDamage> {
        Ok(
            if last.is_some_and(|last| self.order.compare(last, key).is_ge()) {
                Some("its keys are not in ascending order")
            } else if !self.is_within(key, bounds) {
                Some("it holds a key that belongs to another page")
            } else if leaf.search(self.order, key)? != Ok(index) {
                Some("a search does not find one of its keys")
            } else {
                None
            },
        )
    }

    fn value(
        &mut self,
        leaf: PageNumber,
        key: &[u8],
        value: StoredValue<'_>,
        bounds: &KeyBounds,
    ) -> Result<(), PageDamage> {
        match value.kind {
            ValueKind::Inline => self.totals.add_data(value.bytes.len() as u64),
            ValueKind::Tree => {}
            ValueKind::Set => {
                return Err(PageDamage(
                    "a value is of a kind that this version does not know",
                ));
            }
            ValueKind::Extent => {
                let extent = ValueExtent::decode(value.bytes)?;
                let pages = extent.pages(self.source.page_size())?;
                self.totals.add_value(pages.len, extent.len_bytes);
                if !self.visitor.enter(pages, PageRole::Value) {
                    return Ok(());
                }
                self.visitor.value(pages, &extent);
                let bounds_of_value = || KeyBounds {
                    low: key.to_vec(),
                    high: bounds.high.clone(),
                    records: Some(1),
                    ..*bounds
                };
                if extent.birth > bounds.written {
                    self.report(extent.start, &bounds_of_value(), BORN_LATER);
                }
                if !self.visitor.descend(extent.birth) {
                    return Ok(());
                }
                let bounds = bounds_of_value();
                match self.source.value(&extent) {
                    Ok(bytes) if Checksum::of(bytes) == extent.checksum => {}
                    Ok(_) => self.report(
                        extent.start,
                        &bounds,
                        "a large value does not have its checksum",
                    ),
                    Err(_) => {
                        self.report(
                            leaf,
                            &bounds,
                            "it points to a large value outside of the file",
                        );
                    }
                }
            }
        }
        Ok(())
    }

    fn is_within(&self, key: &[u8], bounds: &KeyBounds) -> bool {
        let is_high = bounds.low.is_empty() || self.order.compare(&bounds.low, key).is_le();
        let is_low = bounds
            .high
            .as_ref()
            .is_none_or(|high| self.order.compare(key, high).is_lt());
        is_high && is_low
    }

    fn inner(
        &mut self,
        number: PageNumber,
        page: &'w [u8],
        header: &Header,
        bounds: &KeyBounds,
    ) -> Result<Option<u64>, PageDamage> {
        self.totals.inner_pages += 1;
        let inner = Inner::from_header(page, header)?;
        if !inner.is_laid_out_well()? {
            self.report(number, bounds, SEPARATORS_OVERLAP);
        }
        let mut sum = Some(0_u64);
        for index in 0..inner.count() {
            let below = KeyBounds {
                written: header.birth.min(bounds.written),
                ..self.child_bounds(&inner, index, bounds)?
            };
            if below.high.as_ref().is_some_and(|high| {
                self.is_ordered
                    && !below.low.is_empty()
                    && self.order.compare(&below.low, high).is_ge()
            }) {
                self.report(number, bounds, "its separators are not in ascending order");
            } else if self.is_ordered && index > 0 && inner.search(self.order, &below.low)? != index
            {
                self.report(number, bounds, "a search does not find one of its children");
            }
            let (child, checksum) = (inner.child(index)?, inner.checksum(index)?);
            let records = self.page(child, checksum, header.level - 1, &below);
            if self.counted && records.is_some_and(|r| inner.records(index) != Ok(r)) {
                self.report(
                    number,
                    &below,
                    "it counts other records below a child than there are",
                );
            }
            sum = sum.zip(records).map(|(a, b)| a.saturating_add(b));
        }
        Ok(sum)
    }

    fn child_bounds(
        &self,
        inner: &Inner<'_>,
        index: usize,
        bounds: &KeyBounds,
    ) -> Result<KeyBounds, PageDamage> {
        let low = if index == 0 {
            bounds.low.clone()
        } else {
            inner.separator(index)?
        };
        let high = match index + 1 {
            next if next < inner.count() => Some(inner.separator(next)?),
            _ => bounds.high.clone(),
        };
        let records = match self.counted {
            true => inner.records(index).ok(),
            false => None,
        };
        Ok(KeyBounds {
            low,
            high,
            records,
            ..*bounds
        })
    }
}
