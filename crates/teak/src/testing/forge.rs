//! Damage that means something: numbers that are possible and wrong, where a forger would put them.
//!
//! The checksums are those of the bytes before; [`repair`](super::repair) makes them right.

use crate::{
    page::header::{HEADER_LEN, Header, PageKind, arrays_start},
    record::SLOT_COUNT,
};
use anatomy::{ARRAY_ROOTS, Anatomy, Target, u32_at};

mod anatomy;
mod fields;
mod graph;

pub(super) use anatomy::state_offsets;
pub use fields::forge_fields;
pub use graph::forge_graph;

/// The kind of a forgery.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Forgery {
    /// A page is its own child, or that of a page below it.
    Cycle,
    /// Two entries name the same page.
    SharedChild,
    /// A tree says that it has another depth, or a page that it is of another level.
    WrongDepth,
    /// Two keys of a page have changed places.
    KeyDisorder,
    /// Large values lie in each other, or where pages of trees are.
    OverlappingValues,
    /// A count or length is far too large, or a bit too large.
    HugeCount,
    /// The space map calls pages free, or dead, that are in use.
    LiveCalledFree,
    /// Something names a page in which a commit record stands.
    RecordAsPage,
    /// Something names a page beyond the end of the file.
    PageAfterEnd,
}

/// Where a record has its fields.
const SPACE_LOG_LEN: usize = 48;
const WRITTEN_COUNT: usize = 44;
const PAGE_COUNT: usize = 120;
const WRITTEN: usize = 432;

/// Numbers that counts are replaced with.
const EDGES: [u64; 7] = [0, 1, 0xff, 0xffff, 0xffff_ffff, 1 << 47, u64::MAX];

/// Forges something in a database that is sound. `choose` is asked for a number below the one it
/// is given. Says whether there was anything to forge.
pub fn forge(image: &mut [u8], forgery: Forgery, choose: &mut dyn FnMut(usize) -> usize) -> bool {
    let Some(anatomy) = Anatomy::of(image) else {
        return false;
    };
    let mut forger = Forger {
        image,
        anatomy,
        choose,
    };
    match forgery {
        Forgery::Cycle => forger.cycle(),
        Forgery::SharedChild => forger.share_child(),
        Forgery::WrongDepth => forger.mistake_depth(),
        Forgery::KeyDisorder => forger.swap_keys(),
        Forgery::OverlappingValues => forger.overlap_values(),
        Forgery::HugeCount => forger.inflate(),
        Forgery::LiveCalledFree => forger.free_live(),
        Forgery::RecordAsPage => forger.point(|choose, _| choose(usize::from(SLOT_COUNT)) as u32),
        Forgery::PageAfterEnd => forger.point(|choose, count| match choose(4) {
            0 => u32::MAX - choose(3) as u32,
            1 => 1 << 31,
            _ => count + choose(3) as u32,
        }),
    }
    .is_some()
}

struct Forger<'a> {
    image: &'a mut [u8],
    anatomy: Anatomy,
    choose: &'a mut dyn FnMut(usize) -> usize,
}

/// Each of these answers `None` if there is nothing of the kind to forge.
impl Forger<'_> {
    fn pick(&mut self, field_offsets: &[usize]) -> Option<usize> {
        (!field_offsets.is_empty()).then(|| field_offsets[(self.choose)(field_offsets.len())])
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(target_bytes) = self.image.get_mut(at..at + bytes.len()) {
            target_bytes.copy_from_slice(bytes);
        }
    }

    fn page_number(&self, at: usize) -> u32 {
        (at / self.anatomy.page_size) as u32
    }

    fn header(&self, start: usize) -> Header {
        Header::read(&self.image[start..])
    }

    fn pages_of(&self, is_wanted: impl Fn(PageKind) -> bool) -> Vec<usize> {
        let pages = self.anatomy.pages.iter().copied();
        pages
            .filter(|start| self.header(*start).kind().is_some_and(&is_wanted))
            .collect()
    }

    fn cycle(&mut self) -> Option<()> {
        let child = self.anatomy.of_target(Target::Child);
        let at = self.pick(&child)?;
        let inner = self.pages_of(|kind| kind == PageKind::Inner);
        let parent = at - at % self.anatomy.page_size;
        let target = match (self.choose)(2) {
            0 => parent,
            _ => self.pick(&inner)?,
        };
        let number = self.page_number(target);
        self.put(at, &number.to_le_bytes());
        if (self.choose)(2) == 0 {
            // As if it were of the level that a child has.
            let level = self.header(parent).level.saturating_sub(1);
            self.put(target + 5, &[level]);
        }
        Some(())
    }

    fn share_child(&mut self) -> Option<()> {
        let target = [Target::Child, Target::Tree, Target::Space][(self.choose)(3)];
        let mut field_offsets = self.anatomy.of_target(target);
        if field_offsets.len() < 2 {
            field_offsets = self.anatomy.of_target(Target::Child);
        }
        let (to, from) = (self.pick(&field_offsets)?, self.pick(&field_offsets)?);
        let number = u32_at(self.image, from);
        self.put(to, &number.to_le_bytes());
        (to != from).then_some(())
    }

    fn mistake_depth(&mut self) -> Option<()> {
        let at = if (self.choose)(2) == 0 {
            self.pick(&self.anatomy.of_target(Target::Tree))? + 4
        } else {
            self.pick(&self.pages_of(|kind| kind != PageKind::Bitmap))? + 5
        };
        let depth = self.image[at];
        let wrong = [depth + 1, depth.wrapping_sub(1), 0, 40, 255][(self.choose)(5)];
        self.put(at, &[wrong]);
        Some(())
    }

    fn swap_keys(&mut self) -> Option<()> {
        let mut pages = self.pages_of(|kind| matches!(kind, PageKind::Leaf | PageKind::Inner));
        pages.retain(|start| self.header(*start).count > 1);
        let start = self.pick(&pages)?;
        let header = self.header(start);
        let count = usize::from(header.count);
        let heads = start + arrays_start(usize::from(header.prefix_len));
        let (a, b) = ((self.choose)(count), (self.choose)(count));
        self.swap(heads + 4 * a, heads + 4 * b, 4);
        // With their nodes, or only in their heads.
        if header.kind() == Some(PageKind::Leaf) && (self.choose)(3) > 0 {
            let offsets = heads + 4 * count;
            self.swap(offsets + 2 * a, offsets + 2 * b, 2);
        }
        Some(())
    }

    fn swap(&mut self, a: usize, b: usize, len: usize) {
        let end = a.max(b) + len;
        if end <= self.image.len() {
            (0..len).for_each(|index| self.image.swap(a + index, b + index));
        }
    }

    fn overlap_values(&mut self) -> Option<()> {
        let values = self.anatomy.of_target(Target::Value);
        let (to, from) = (self.pick(&values)?, self.pick(&values)?);
        let pages: Vec<usize> = self.anatomy.pages.iter().copied().collect();
        let number = match (self.choose)(3) {
            0 => u32_at(self.image, from),
            1 => u32_at(self.image, from) + 1,
            _ => {
                let page = self.pick(&pages)?;
                self.page_number(page)
            }
        };
        self.put(to, &number.to_le_bytes());
        if (self.choose)(2) == 0 {
            let len = ((self.choose)(30) + 1) * self.anatomy.page_size;
            self.put(to + 8, &(len as u64).to_le_bytes());
        }
        Some(())
    }

    /// Puts a wrong number into a field of a page, a tree's root, a value, or the record.
    fn inflate(&mut self) -> Option<()> {
        let tree = self.anatomy.of_target(Target::Tree);
        let value = self.anatomy.of_target(Target::Value);
        let pages: Vec<usize> = self.anatomy.pages.iter().copied().collect();
        let record = self.anatomy.record;
        let (at, len) = match (self.choose)(8) {
            0 | 1 => (self.pick(&pages)? + [6, 16, 18, 20][(self.choose)(4)], 2),
            2 => (self.pick(&pages)? + HEADER_LEN + 4, 4),
            3 => (self.pick(&tree)? + [16, 32, 48][(self.choose)(3)], 8),
            4 => (self.pick(&value)? + 8, 8),
            5 => (record + PAGE_COUNT, 8),
            6 => (record + [WRITTEN_COUNT, SPACE_LOG_LEN][(self.choose)(2)], 4),
            _ => (
                record + ARRAY_ROOTS[(self.choose)(2)] + [4, 16][(self.choose)(2)],
                4,
            ),
        };
        let number = match (self.choose)(3) {
            0 => {
                let mut before = [0; 8];
                before[..len].copy_from_slice(self.image.get(at..at + len)?);
                u64::from_le_bytes(before).wrapping_add(1 + (self.choose)(3) as u64)
            }
            _ => EDGES[(self.choose)(EDGES.len())],
        };
        self.put(at, &number.to_le_bytes()[..len]);
        Some(())
    }

    fn free_live(&mut self) -> Option<()> {
        let bitmaps = self.pages_of(|kind| kind == PageKind::Bitmap);
        let deaths = self.pages_of(|kind| kind == PageKind::Deaths);
        let page_count = (self.image.len() / self.anatomy.page_size).max(1);
        match (self.choose)(3) {
            0 if !bitmaps.is_empty() => {
                let at = self.pick(&bitmaps)? + HEADER_LEN + (self.choose)(page_count.div_ceil(8));
                self.put(at, &[0xff; 4]);
            }
            1 if !deaths.is_empty() => {
                let start = self.pick(&deaths)?;
                let count = usize::from(self.header(start).count).max(1);
                let at = start + HEADER_LEN + 24 * (self.choose)(count);
                let number = (self.choose)(page_count) as u32;
                self.put(at, &number.to_le_bytes());
            }
            _ => self.change_log(page_count)?,
        }
        Some(())
    }

    /// Changes numbers of the space log; those below 128 have one byte.
    fn change_log(&mut self, page_count: usize) -> Option<()> {
        let record = self.anatomy.record;
        let written = u32_at(self.image, record + WRITTEN_COUNT) as usize;
        let len = u32_at(self.image, record + SPACE_LOG_LEN) as usize;
        for _ in 0..1 + (self.choose)(2) {
            let at = record + WRITTEN + 8 * written + (self.choose)(len.max(1));
            let byte = self.image.get_mut(at)?;
            if len > 0 && *byte < 0x80 {
                *byte = (self.choose)(page_count.min(0x80)) as u8;
            }
        }
        Some(())
    }

    /// Has anything that names a page name another.
    fn point(&mut self, number: impl Fn(&mut dyn FnMut(usize) -> usize, u32) -> u32) -> Option<()> {
        let field_offsets: Vec<usize> = self.anatomy.pointers.iter().map(|p| p.at).collect();
        let at = self.pick(&field_offsets)?;
        let page_count = self.image.len() / self.anatomy.page_size;
        let number = number(self.choose, page_count as u32);
        self.put(at, &number.to_le_bytes());
        Some(())
    }
}
