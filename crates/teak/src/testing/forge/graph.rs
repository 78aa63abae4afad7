//! Trees that are no trees: pages that are used twice or go round, keys and separators in disorder,
//! other births and counts.

use super::anatomy::{Anatomy, Target, aligned, u32_at};
use crate::{
    PageNumber, TransactionId,
    page::{
        child::Child,
        header::{HEADER_LEN, Header, PageKind, arrays_start},
        inner::{COUNTED, Inner, InnerFormat},
        key::KeyOrder,
        leaf::Leaf,
        set::pair_count,
    },
};
use std::collections::HashMap;

/// Where the root of a tree has its fields.
const DEPTH: usize = 4;
const FLAGS: usize = 6;
const RECORDS: usize = 16;
const CHANGED: usize = 40;
const ROOT_LEN: usize = 64;
const MULTI_VALUE: u16 = 4;
/// Where pages have their level and birth.
const LEVEL: usize = 5;
const BIRTH: usize = 8;
/// A tree has as many levels at most.
const DEPTH_MAX: usize = 40;

/// Makes some tree of the database one that is none, in one way or several. Says how; nothing if
/// there is no tree.
pub fn forge_graph(image: &mut [u8], choose: &mut dyn FnMut(usize) -> usize) -> Vec<String> {
    let Some(anatomy) = Anatomy::of(image) else {
        return Vec::new();
    };
    let trees: Vec<Tree> = (anatomy.of_target(Target::Tree).into_iter())
        .filter_map(|at| Tree::of(image, anatomy.page_size, at))
        .collect();
    if trees.is_empty() {
        return Vec::new();
    }
    let mut grafter = Grafter {
        transaction: number(image, anatomy.record + 96, 8),
        page_size: anatomy.page_size,
        image,
        trees,
        choose,
        done: Vec::new(),
    };
    // Trees of several pages more often than others.
    let large: Vec<usize> = (0..grafter.trees.len())
        .filter(|tree| grafter.trees[*tree].pages.len() > 1)
        .collect();
    let tree = match large.is_empty() || (grafter.choose)(3) == 0 {
        true => (grafter.choose)(grafter.trees.len()),
        false => large[(grafter.choose)(large.len())],
    };
    for _ in 0..1 + (grafter.choose)(3) {
        grafter.change(tree);
    }
    if (grafter.choose)(3) > 0 {
        grafter.recount();
    }
    grafter.done
}

/// A tree that a place of the file has the root of.
struct Tree {
    /// Where the root stands.
    at: usize,
    /// Where its pages begin, with their levels, and the root page first.
    pages: Vec<(usize, u8)>,
}

impl Tree {
    fn of(image: &[u8], page_size: usize, at: usize) -> Option<Self> {
        let depth = image.get(at..at + ROOT_LEN)?[DEPTH];
        let mut tree = Self {
            at,
            pages: Vec::new(),
        };
        let number = u32_at(image, at) as usize;
        tree.walk(image, page_size, number, depth.checked_sub(1)?);
        (!tree.pages.is_empty()).then_some(tree)
    }

    fn walk(&mut self, image: &[u8], page_size: usize, number: usize, level: u8) {
        let start = number * page_size;
        let is_known = self.pages.iter().any(|(page, _)| *page == start);
        let Some(page) = image.get(start..start + page_size).filter(|_| !is_known) else {
            return;
        };
        self.pages.push((start, level));
        for child in children(page) {
            if let Some(below) = level.checked_sub(1) {
                self.walk(image, page_size, child as usize, below);
            }
        }
    }

    fn of_level(&self, is_wanted: impl Fn(u8) -> bool) -> Vec<usize> {
        let pages = self.pages.iter().filter(|(_, level)| is_wanted(*level));
        pages.map(|(start, _)| *start).collect()
    }
}

fn children(page: &[u8]) -> Vec<u32> {
    let page = aligned(page);
    let page: &[u8] = bytemuck::cast_slice(&page);
    match Header::read(page).kind() {
        Some(PageKind::Inner) => Inner::parse(page).map_or_else(
            |_| Vec::new(),
            |inner| inner.children().map(|child| child.0).collect(),
        ),
        _ => Vec::new(),
    }
}

fn number(image: &[u8], at: usize, len: usize) -> u64 {
    let mut bytes = [0; 8];
    if let Some(found) = image.get(at..at + len) {
        bytes[..len].copy_from_slice(found);
    }
    u64::from_le_bytes(bytes)
}

struct Grafter<'a> {
    /// The newest one.
    transaction: u64,
    page_size: usize,
    image: &'a mut [u8],
    trees: Vec<Tree>,
    choose: &'a mut dyn FnMut(usize) -> usize,
    done: Vec<String>,
}

impl Grafter<'_> {
    fn report_change(&mut self, label: &str, page: usize) {
        let page = page / self.page_size;
        self.done.push(format!("{label}, page {page}"));
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(target_bytes) = self.image.get_mut(at..at + bytes.len()) {
            target_bytes.copy_from_slice(bytes);
        }
    }

    fn swap(&mut self, a: usize, b: usize, len: usize) {
        if a.max(b) + len <= self.image.len() {
            let first = self.image[a..a + len].to_vec();
            self.image.copy_within(b..b + len, a);
            self.put(b, &first);
        }
    }

    fn pick(&mut self, pages: &[usize]) -> Option<usize> {
        (!pages.is_empty()).then(|| pages[(self.choose)(pages.len())])
    }

    fn any_page(&mut self, tree: usize) -> Option<usize> {
        let pages = self.trees[tree].of_level(|_| true);
        self.pick(&pages)
    }

    fn inner_page(&mut self, tree: usize) -> Option<usize> {
        let pages = self.trees[tree].of_level(|level| level > 0);
        self.pick(&pages)
    }

    /// Two pages of one level.
    fn siblings(&mut self, tree: usize) -> Option<[usize; 2]> {
        let first = self.any_page(tree)?;
        let level = self.image[first + LEVEL];
        let siblings = self.trees[tree].of_level(|other| other == level);
        Some([first, self.pick(&siblings)?])
    }

    /// Changes a tree in one way, if it has what that takes.
    fn change(&mut self, tree: usize) -> Option<()> {
        match (self.choose)(15) {
            0 => self.swap_children(tree),
            1 | 2 => self.share_child(tree),
            3 => self.lead_elsewhere(tree),
            4 => self.swap_separators(tree),
            5 | 6 => self.swap_entries(tree),
            7 => self.swap_pages(tree),
            8 => self.copy_page(tree),
            9 => self.change_birth(tree),
            10 => self.share_root(tree),
            11 => self.change_counts(tree),
            12 => self.repeat_entry(tree),
            13 => self.make_tower(tree),
            _ => self.make_net(tree),
        }
    }

    /// Where an inner page has its heads, and how many children it has.
    fn arrays(&self, page: usize) -> (usize, usize) {
        let header = Header::read(&self.image[page..]);
        let heads = page + arrays_start(usize::from(header.prefix_len));
        (heads, usize::from(header.count))
    }

    fn swap_children(&mut self, tree: usize) -> Option<()> {
        let page = self.inner_page(tree)?;
        let (heads, count) = self.arrays(page);
        let (a, b) = ((self.choose)(count), (self.choose)(count));
        self.swap(heads + 4 * (count + a), heads + 4 * (count + b), 4);
        self.report_change("children swapped", page);
        Some(())
    }

    /// A page of the same level as a child, of this tree or of another, is the child too.
    fn share_child(&mut self, tree: usize) -> Option<()> {
        let page = self.inner_page(tree)?;
        let (heads, count) = self.arrays(page);
        let below = self.image[page + LEVEL].checked_sub(1)?;
        let from = match (self.choose)(4) {
            0 => (self.choose)(self.trees.len()),
            _ => tree,
        };
        let siblings = self.trees[from].of_level(|level| level == below);
        let child = self.pick(&siblings)? / self.page_size;
        let at = heads + 4 * (count + (self.choose)(count));
        self.put(at, &(child as u32).to_le_bytes());
        self.report_change("a child shared", page);
        Some(())
    }

    /// A child of another level, which it keeps or not.
    fn lead_elsewhere(&mut self, tree: usize) -> Option<()> {
        let page = self.inner_page(tree)?;
        let (heads, count) = self.arrays(page);
        let child = self.any_page(tree)?;
        let at = heads + 4 * (count + (self.choose)(count));
        self.put(at, &((child / self.page_size) as u32).to_le_bytes());
        if (self.choose)(2) == 0 {
            let level = self.image[page + LEVEL].saturating_sub(1);
            self.put(child + LEVEL, &[level]);
        }
        self.report_change("a child of another level", page);
        Some(())
    }

    fn swap_separators(&mut self, tree: usize) -> Option<()> {
        let page = self.inner_page(tree)?;
        let (heads, count) = self.arrays(page);
        let is_counted = Header::read(&self.image[page..]).flags & COUNTED != 0;
        let offsets = heads + (16 + 8 * usize::from(is_counted)) * count;
        let (a, b) = ((self.choose)(count), (self.choose)(count));
        self.swap(heads + 4 * a, heads + 4 * b, 4);
        self.swap(offsets + 2 * a, offsets + 2 * b, 2);
        self.report_change("separators swapped", page);
        Some(())
    }

    /// Two records change places, or all stand the other way round.
    fn swap_entries(&mut self, tree: usize) -> Option<()> {
        let leaves = self.trees[tree].of_level(|level| level == 0);
        let page = self.pick(&leaves)?;
        let (heads, count) = self.arrays(page);
        let mut pairs = vec![((self.choose)(count), (self.choose)(count))];
        if (self.choose)(4) == 0 {
            pairs = (0..count / 2).map(|i| (i, count - 1 - i)).collect();
        }
        let header = Header::read(&self.image[page..]);
        for (a, b) in pairs {
            if header.is_fixed_leaf() {
                let len = usize::from(header.prefix_len);
                let keys = page + HEADER_LEN;
                self.swap(keys + len * a, keys + len * b, len);
            } else {
                self.swap(heads + 4 * a, heads + 4 * b, 4);
                let offsets = heads + 4 * count;
                self.swap(offsets + 2 * a, offsets + 2 * b, 2);
            }
        }
        self.report_change("records swapped", page);
        Some(())
    }

    /// A record is there twice.
    fn repeat_entry(&mut self, tree: usize) -> Option<()> {
        let leaves = self.trees[tree].of_level(|level| level == 0);
        let page = self.pick(&leaves)?;
        let (heads, count) = self.arrays(page);
        let (from, to) = ((self.choose)(count), (self.choose)(count));
        if Header::read(&self.image[page..]).kind() == Some(PageKind::Leaf) {
            let offsets = heads + 4 * count;
            let keep_head = (self.choose)(2) == 0;
            self.image
                .copy_within(offsets + 2 * from..offsets + 2 * from + 2, offsets + 2 * to);
            if !keep_head {
                self.image
                    .copy_within(heads + 4 * from..heads + 4 * from + 4, heads + 4 * to);
            }
        }
        self.report_change("a record repeated", page);
        Some(())
    }

    fn swap_pages(&mut self, tree: usize) -> Option<()> {
        let [a, b] = self.siblings(tree)?;
        self.swap(a + 4, b + 4, self.page_size - 4);
        self.report_change("pages swapped", a);
        Some(())
    }

    fn copy_page(&mut self, tree: usize) -> Option<()> {
        let [from, to] = self.siblings(tree)?;
        let end = from + self.page_size;
        self.image.copy_within(from + 4..end, to + 4);
        self.report_change("a page copied over another", to);
        Some(())
    }

    /// A page, or all of a tree, or its root, is of another time.
    fn change_birth(&mut self, tree: usize) -> Option<()> {
        let birth = match (self.choose)(6) {
            0 => 0,
            1 => u64::MAX >> (self.choose)(2),
            2 => self.transaction,
            other => self.transaction + other as u64 - 2,
        };
        let pages = match (self.choose)(3) {
            0 => self.trees[tree].of_level(|_| true),
            _ => vec![self.any_page(tree)?],
        };
        for page in &pages {
            self.put(page + BIRTH, &birth.to_le_bytes());
        }
        if (self.choose)(3) == 0 {
            self.put(self.trees[tree].at + CHANGED, &birth.to_le_bytes());
        }
        self.report_change(&format!("{} births of {birth}", pages.len()), pages[0]);
        Some(())
    }

    /// Two roots are of one tree.
    fn share_root(&mut self, tree: usize) -> Option<()> {
        let other = (self.choose)(self.trees.len());
        let (from, to) = (self.trees[tree].at, self.trees[other].at);
        let len = match (self.choose)(2) {
            // Page and depth.
            0 => 5,
            _ => ROOT_LEN,
        };
        if to + len <= self.image.len() {
            self.image.copy_within(from..from + len, to);
        }
        self.report_change("a root shared", to);
        Some(())
    }

    /// Another number of records or pages in a root or an inner page.
    fn change_counts(&mut self, tree: usize) -> Option<()> {
        let fields = [(RECORDS, 8), (24, 4), (28, 4), (32, 8)];
        let (field, len) = fields[(self.choose)(fields.len())];
        let mut at = self.trees[tree].at + field;
        let mut len = len;
        if let Some(page) = self.inner_page(tree)
            && (self.choose)(2) == 0
        {
            let (heads, count) = self.arrays(page);
            (at, len) = (heads + 16 * count + 8 * (self.choose)(count), 8);
        }
        let old = number(self.image, at, len);
        let new = match (self.choose)(5) {
            0 => 0,
            1 => old + 1,
            2 => old.saturating_sub(1),
            3 => 1 << 48,
            _ => old << 1,
        };
        self.put(at, &new.to_le_bytes()[..len]);
        self.report_change(&format!("a count of {old} is {new}"), at);
        Some(())
    }

    /// The pages of a tree above each other, each with one or several entries for the page below
    /// it.
    fn make_tower(&mut self, tree: usize) -> Option<()> {
        let height = 2 + (self.choose)(DEPTH_MAX - 1);
        self.rebuild(tree, height, |_| 1)
    }

    /// Several pages of each level, each with children of the level below it that others have too.
    fn make_net(&mut self, tree: usize) -> Option<()> {
        let width = 2 + (self.choose)(3);
        let height = 2 + (self.choose)(12);
        self.rebuild(tree, height, move |level| width.min(1 + level))
    }

    /// Uses the pages of a tree for one of up to `height` levels, `width` pages each, counted from
    /// the root down.
    fn rebuild(
        &mut self,
        tree: usize,
        height: usize,
        width: impl Fn(usize) -> usize,
    ) -> Option<()> {
        let root = self.trees[tree].at;
        let mut pages = self.trees[tree].of_level(|_| true);
        pages.sort_unstable();
        let leaves = self.trees[tree].of_level(|level| level == 0);
        let from = self.pick(&leaves)?;
        let first_leaf = self.image[from..from + self.page_size].to_vec();
        let format = InnerFormat {
            order: KeyOrder::from_code(self.image[root + 5])?,
            counted: number(self.image, root + FLAGS, 2) & 2 != 0,
        };
        let is_regular = (self.choose)(2) == 0;
        let mut below: Vec<usize> = Vec::new();
        let mut rest = &pages[..];
        let mut levels = 0;
        while levels < height && !rest.is_empty() {
            let count = width(height - 1 - levels).min(rest.len());
            let (level, after) = rest.split_at(count);
            for start in level {
                if levels == 0 {
                    self.put(start + 4, &first_leaf[4..]);
                } else {
                    let children = self.children_among(&below, format.order, is_regular);
                    self.build(*start, levels as u8, format, &children);
                }
            }
            (below, rest) = (level.to_vec(), after);
            levels += 1;
        }
        let page = (*below.last()? / self.page_size) as u32;
        self.put(root, &page.to_le_bytes());
        self.put(root + DEPTH, &[levels as u8]);
        self.report_change(&format!("rebuilt with {levels} levels"), *below.last()?);
        Some(())
    }

    fn children_among(&mut self, below: &[usize], order: KeyOrder, is_regular: bool) -> Vec<Child> {
        let count = match is_regular {
            true => 2,
            false => 1 + (self.choose)(4),
        };
        let mut separators: Vec<Vec<u8>> = (0..count)
            .map(|_| {
                let number = (self.choose)(1 << 32) as u64;
                match order {
                    KeyOrder::Integer => number.to_le_bytes().to_vec(),
                    _ => number.to_be_bytes()[4..4 + number as usize % 5].to_vec(),
                }
            })
            .collect();
        if (self.choose)(4) > 0 {
            separators.sort_by(|a, b| order.compare(a, b));
        }
        separators
            .into_iter()
            .map(|separator| {
                let page = below[(self.choose)(below.len())] / self.page_size;
                Child::unsealed(separator, PageNumber(page as u32), 1)
            })
            .collect()
    }

    fn build(&mut self, start: usize, level: u8, format: InnerFormat, children: &[Child]) {
        let birth = TransactionId(number(self.image, start + BIRTH, 8));
        let mut words = vec![0_u64; self.page_size / 8];
        let page: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        let page_number = PageNumber((start / self.page_size) as u32);
        let built = format.build(page, page_number, birth, level, children);
        if built.is_ok() {
            self.image[start..start + page.len()].copy_from_slice(page);
        }
    }

    /// Gives inner pages and roots the numbers of records that follow from what is below them now,
    /// however they come about.
    fn recount(&mut self) {
        self.done.push("records counted anew".to_owned());
        // Nested trees come after those around them.
        for tree in (0..self.trees.len()).rev() {
            let root = self.trees[tree].at;
            let depth = self.image[root + DEPTH];
            let is_multi = number(self.image, root + FLAGS, 2) as u16 & MULTI_VALUE != 0;
            let page = u32_at(self.image, root) as usize;
            if let Some(level) = depth.checked_sub(1) {
                let records = self.count(page, level, is_multi, &mut HashMap::new());
                self.put(root + RECORDS, &records.to_le_bytes());
            }
        }
    }

    fn count(
        &mut self,
        number: usize,
        level: u8,
        is_multi: bool,
        known: &mut HashMap<usize, u64>,
    ) -> u64 {
        if let Some(records) = known.get(&number) {
            return *records;
        }
        let start = number.saturating_mul(self.page_size);
        let Some(page) = self.image.get(start..start + self.page_size) else {
            return 0;
        };
        // A way round counts nothing.
        known.insert(number, 0);
        let records = match level {
            0 => records_of_leaf(page, is_multi),
            _ => {
                let is_counted = Header::read(page).flags & COUNTED != 0;
                let (heads, count) = self.arrays(start);
                let mut sum = 0_u64;
                for (index, child) in children(page).into_iter().enumerate() {
                    let below = self.count(child as usize, level - 1, is_multi, known);
                    sum = sum.saturating_add(below);
                    if is_counted {
                        self.put(heads + 16 * count + 8 * index, &below.to_le_bytes());
                    }
                }
                sum
            }
        };
        known.insert(number, records);
        records
    }
}

fn records_of_leaf(page: &[u8], is_multi: bool) -> u64 {
    let page = aligned(page);
    let page: &[u8] = bytemuck::cast_slice(&page);
    let Ok(leaf) = Leaf::parse(page) else {
        return 0;
    };
    if !is_multi {
        return leaf.count() as u64;
    }
    let pairs = (0..leaf.count()).filter_map(|index| {
        let node = leaf.node(index).ok()?;
        pair_count(node.value).ok()
    });
    pairs.fold(0, u64::saturating_add)
}
