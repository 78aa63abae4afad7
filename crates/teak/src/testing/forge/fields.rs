//! Every field that a file has, with its name, and numbers that a forger would put there.

use super::anatomy::{Anatomy, STATE_ROOT, Target, aligned, u32_at};
use crate::{
    page::{
        header::{HEADER_LEN, Header, PageKind, arrays_start},
        inner::COUNTED,
        leaf::Leaf,
        value::{TREE_ROOT_LEN, ValueKind},
    },
    record::{Record, SLOT_COUNT},
};

/// A field of a file.
#[derive(Clone, Copy, Debug)]
struct Field {
    /// The structure that it is a field of.
    of: &'static str,
    name: &'static str,
    /// Where it begins in the file.
    at: usize,
    len: usize,
}

type Layout = &'static [(&'static str, usize, usize)];

const RECORD: Layout = &[
    ("magic", 0, 8),
    ("length", 16, 4),
    ("format version", 20, 2),
    ("slot", 22, 1),
    ("flags", 23, 1),
    ("compatible features", 24, 4),
    ("read-only-compatible features", 28, 4),
    ("incompatible features", 32, 4),
    ("page size", 36, 4),
    ("reserved per page", 40, 2),
    ("default durability", 42, 1),
    ("zero", 43, 1),
    ("count of written extents", 44, 4),
    ("length of the space log", 48, 4),
    ("zero behind the log's length", 52, 4),
    ("database id", 56, 8),
    ("boot id", 72, 8),
    ("sequence", 88, 8),
    ("transaction", 96, 8),
    ("flushed transaction", 104, 8),
    ("time", 112, 8),
    ("page count", 120, 8),
    ("lower limit", 128, 8),
    ("upper limit", 136, 8),
    ("growth step", 144, 8),
    ("shrink threshold", 152, 8),
    ("marks", 288, 8),
    ("marked", 312, 8),
    ("bitmaps, page", 320, 4),
    ("bitmaps, info", 324, 4),
    ("bitmaps, count", 336, 4),
    ("bitmaps, depth", 340, 1),
    ("deaths, page", 344, 4),
    ("deaths, info", 348, 4),
    ("deaths, count", 360, 4),
    ("deaths, depth", 364, 1),
    ("flush after bytes", 368, 8),
    ("flush after time", 376, 8),
    ("journal", 384, 4),
    ("journal length", 388, 4),
    ("journal since", 392, 8),
    ("acknowledged transaction", 400, 8),
    ("end of the merged log", 408, 8),
    ("zero at the end", 416, 8),
];

const HEADER: Layout = &[
    ("number", 0, 4),
    ("kind", 4, 1),
    ("level", 5, 1),
    ("count", 6, 2),
    ("birth", 8, 8),
    ("heap length", 16, 2),
    ("garbage", 18, 2),
    ("prefix length", 20, 2),
    ("flags", 22, 2),
];

const TREE_ROOT: Layout = &[
    ("page", 0, 4),
    ("depth", 4, 1),
    ("order", 5, 1),
    ("flags", 6, 2),
    ("records", 16, 8),
    ("inner pages", 24, 4),
    ("leaf pages", 28, 4),
    ("value pages", 32, 8),
    ("changed", 40, 8),
    ("sequence", 48, 8),
    ("alignment", 56, 1),
    ("value order", 57, 1),
    ("key length", 58, 2),
    ("value size", 60, 2),
    ("zero", 62, 2),
];

/// The byte of a root with the flag that names of types follow it, and the flag.
const FLAGS: usize = 6;
const TYPED: u8 = 64;

const VALUE_EXTENT: Layout = &[
    ("start", 0, 4),
    ("zero", 4, 4),
    ("length", 8, 8),
    ("birth", 24, 8),
];

const SNAPSHOT: Layout = &[("transaction", 0, 8), ("time", 8, 8)];

const ARRAY_ENTRY: Layout = &[("page", 0, 4), ("info", 4, 4)];

const DEATH: Layout = &[
    ("start", 0, 4),
    ("length", 4, 4),
    ("birth", 8, 8),
    ("died", 16, 8),
];

const JOURNAL_ENTRY: Layout = &[
    ("magic", 0, 8),
    ("length", 16, 4),
    ("count of pages", 20, 4),
    ("link", 24, 8),
];

const JOURNAL_PAGE: Layout = &[
    ("page", 0, 4),
    ("source", 4, 4),
    ("count of parts", 8, 4),
    ("start of the first part", 12, 2),
    ("length of the first part", 14, 2),
];

/// Where a record has the root of the catalog, and that of the list of snapshots.
const ROOTS: [(&str, usize); 2] = [("root of the catalog", 160), ("root of the snapshots", 224)];
/// Where it has its fields of variable length.
const RECORD_FIXED_LEN: usize = 432;

/// Puts other numbers into `count` fields. Says which; nothing if there are none.
pub fn forge_fields(
    image: &mut [u8],
    count: usize,
    choose: &mut dyn FnMut(usize) -> usize,
) -> Vec<String> {
    let Some(anatomy) = Anatomy::of(image) else {
        return Vec::new();
    };
    let fields = all(image, &anatomy);
    let mut last: Option<Field> = None;
    let mut done = Vec::new();
    for _ in 0..count {
        // The second is often of the same page.
        let page_size = anatomy.page_size;
        let neighbours = last.filter(|_| choose(2) == 0).map(|last| {
            let is_on_page = |field: &&Field| field.at / page_size == last.at / page_size;
            fields
                .iter()
                .filter(is_on_page)
                .copied()
                .collect::<Vec<_>>()
        });
        let Some(field) = pick(neighbours.as_deref().unwrap_or(&fields), choose) else {
            break;
        };
        let old = number_at(image, &field);
        let mut draw = || number(image, &anatomy, &fields, &field, choose);
        // Some of what is drawn is what is there.
        let mut new = draw();
        for _ in 0..4 {
            new = if new == old { draw() } else { new };
        }
        image[field.at..field.at + field.len].copy_from_slice(&new.to_le_bytes()[..field.len]);
        done.push(format!(
            "{}, {}, at byte {}: {old} became {new}",
            field.of, field.name, field.at
        ));
        last = Some(field);
    }
    done
}

/// One of the fields: what it is a field of first, then its name, then which one, so that rare ones
/// come as often as others.
fn pick(fields: &[Field], choose: &mut dyn FnMut(usize) -> usize) -> Option<Field> {
    let owners: Vec<_> = distinct(fields.iter().map(|field| field.of));
    let of = *owners.get(choose(owners.len().max(1)))?;
    let fields = fields.iter().filter(|field| field.of == of);
    let names = distinct(fields.clone().map(|field| field.name));
    let name = names[choose(names.len())];
    let fields: Vec<_> = fields.filter(|field| field.name == name).collect();
    Some(*fields[choose(fields.len())])
}

fn distinct(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn number_at(image: &[u8], field: &Field) -> u64 {
    let mut bytes = [0; 8];
    bytes[..field.len].copy_from_slice(&image[field.at..field.at + field.len]);
    u64::from_le_bytes(bytes)
}

/// A number that a forger would put into a field.
fn number(
    image: &[u8],
    anatomy: &Anatomy,
    fields: &[Field],
    field: &Field,
    choose: &mut dyn FnMut(usize) -> usize,
) -> u64 {
    let max = u64::MAX >> (64 - 8 * field.len);
    let old = number_at(image, field);
    let transaction = number_of_bytes(image, anatomy.record + 96);
    let page_count = image.len() / anatomy.page_size;
    let new = match choose(14) {
        0 => 0,
        1 => 1,
        2 => max,
        3 => max >> 1,
        4 => old.wrapping_add(1),
        5 => old.wrapping_sub(1),
        6 => old ^ 1 << choose(8 * field.len),
        7 => choose(page_count) as u64,
        8 => transaction.wrapping_add(choose(4) as u64).wrapping_sub(1),
        9 => choose(16) as u64,
        10 | 11 => {
            let like = |other: &&Field| other.name == field.name && other.len == field.len;
            let others: Vec<_> = fields.iter().filter(like).collect();
            number_at(image, others[choose(others.len())])
        }
        12 => old << 1,
        _ => {
            let halves = [choose(1 << 32), choose(1 << 32)];
            (halves[0] as u64) << 32 | halves[1] as u64
        }
    };
    new & max
}

fn number_of_bytes(image: &[u8], at: usize) -> u64 {
    let bytes = image
        .get(at..at + 8)
        .and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u64::from_le_bytes)
}

/// All fields of the records, the journal, and the pages that the newest record leads to.
fn all(image: &[u8], anatomy: &Anatomy) -> Vec<Field> {
    let mut fields = Fields {
        image,
        fields: Vec::new(),
    };
    for slot in 0..SLOT_COUNT {
        let start = usize::from(slot) * anatomy.page_size;
        let of = match start == anatomy.record {
            true => "newest record",
            false => "older record",
        };
        fields.record(of, start, slot);
    }
    for start in &anatomy.pages {
        fields.page(*start, anatomy.page_size);
    }
    for pointer in &anatomy.pointers {
        if pointer.target == Target::Tree && pointer.at % anatomy.page_size != 0 {
            let is_state = anatomy.states.contains(&pointer.at);
            if is_state {
                fields.layout("snapshot", pointer.at - STATE_ROOT, SNAPSHOT);
            }
            if pointer.at > usize::from(SLOT_COUNT) * anatomy.page_size {
                let of = if is_state {
                    "root of a snapshot"
                } else {
                    "root of a tree"
                };
                fields.layout(of, pointer.at, TREE_ROOT);
                fields.type_names(pointer.at);
            }
        }
    }
    fields.fields
}

struct Fields<'i> {
    image: &'i [u8],
    fields: Vec<Field>,
}

impl Fields<'_> {
    fn push(&mut self, of: &'static str, name: &'static str, at: usize, len: usize) {
        if at + len <= self.image.len() {
            self.fields.push(Field { of, name, at, len });
        }
    }

    fn layout(&mut self, of: &'static str, start: usize, layout: Layout) {
        for (name, at, len) in layout {
            self.push(of, name, start + at, *len);
        }
    }

    /// The names of types after the root of a table. (If the table has names of comparisons, too,
    /// these are the first.)
    fn type_names(&mut self, root: usize) {
        let flags = self.image.get(root + FLAGS).copied().unwrap_or_default();
        if flags & TYPED == 0 {
            return;
        }
        let mut at = root + TREE_ROOT_LEN;
        for _ in 0..2 {
            let len = self.image.get(at).copied().unwrap_or_default();
            self.push("names of types", "length", at, 1);
            for byte in 0..usize::from(len) {
                self.push("names of types", "byte", at + 1 + byte, 1);
            }
            at += 1 + usize::from(len);
        }
    }

    fn record(&mut self, of: &'static str, start: usize, slot: u8) {
        let bytes = self.image.get(start..).unwrap_or_default();
        let Ok(record) = Record::decode(bytes, slot) else {
            return;
        };
        self.layout(of, start, RECORD);
        for (of, root) in ROOTS {
            self.layout(of, start + root, TREE_ROOT);
        }
        let written = u32_at(self.image, start + 44) as usize;
        let log_len = u32_at(self.image, start + 48) as usize;
        let extents = start + RECORD_FIXED_LEN;
        for extent in 0..written {
            self.push("written extents", "start", extents + 8 * extent, 4);
            self.push("written extents", "length", extents + 8 * extent + 4, 4);
        }
        for byte in 0..log_len {
            self.push("space log", "byte", extents + 8 * written + byte, 1);
        }
        if let Some(journal) = record.journal {
            self.journal(journal.extent.start.index() * record.page_size as usize);
        }
    }

    /// The first entry of the journal, and its first page.
    fn journal(&mut self, start: usize) {
        if self.image.get(start..start + 7) == Some(b"TeakJou") {
            self.layout("journal entry", start, JOURNAL_ENTRY);
            self.layout("page of the journal", start + 32, JOURNAL_PAGE);
            let len = (u32_at(self.image, start + 16) as usize).min(1 << 14);
            (48..len).for_each(|at| self.push("part of the journal", "byte", start + at, 1));
        }
    }

    fn page(&mut self, start: usize, page_size: usize) {
        let image = self.image;
        let Some(page) = image.get(start..start + page_size) else {
            return;
        };
        let header = Header::read(page);
        let count = usize::from(header.count);
        let prefix = usize::from(header.prefix_len);
        let arrays = start + arrays_start(prefix);
        match header.kind() {
            Some(PageKind::Leaf) => {
                self.layout("leaf", start, HEADER);
                self.array("leaf", "prefix", start + HEADER_LEN, prefix, 1);
                self.array("leaf", "head", arrays, count, 4);
                self.array("leaf", "offset", arrays + 4 * count, count, 2);
                self.nodes(start, page);
            }
            Some(PageKind::FixedLeaf) => {
                self.layout("fixed leaf", start, HEADER);
                self.array(
                    "fixed leaf",
                    "key byte",
                    start + HEADER_LEN,
                    prefix * count,
                    1,
                );
            }
            Some(PageKind::Inner) => {
                let counts = match header.flags & COUNTED {
                    0 => 0,
                    _ => count,
                };
                self.layout("inner page", start, HEADER);
                self.array("inner page", "prefix", start + HEADER_LEN, prefix, 1);
                self.array("inner page", "head", arrays, count, 4);
                self.array("inner page", "child", arrays + 4 * count, count, 4);
                self.array("inner page", "records", arrays + 16 * count, counts, 8);
                let offsets = arrays + 16 * count + 8 * counts;
                self.array("inner page", "offset", offsets, count, 2);
                for index in 0..count {
                    let offset = self.image.get(offsets + 2 * index..offsets + 2 * index + 2);
                    let offset =
                        offset.map_or(0, |o| usize::from(u16::from_le_bytes([o[0], o[1]])));
                    if offset > HEADER_LEN {
                        self.push("inner page", "separator length", start + offset, 2);
                        self.push("inner page", "separator byte", start + offset + 2, 1);
                    }
                }
            }
            Some(PageKind::Array) => {
                self.layout("array node", start, HEADER);
                for index in 0..count {
                    self.layout("array entry", start + HEADER_LEN + 16 * index, ARRAY_ENTRY);
                }
            }
            Some(PageKind::Bitmap) => {
                self.layout("bitmap", start, HEADER);
                self.array("bitmap", "word", start + HEADER_LEN, 8, 8);
            }
            Some(PageKind::Deaths) => {
                self.layout("segment of deaths", start, HEADER);
                for index in 0..count {
                    self.layout("death", start + HEADER_LEN + 24 * index, DEATH);
                }
            }
            None => {}
        }
    }

    fn array(
        &mut self,
        of: &'static str,
        name: &'static str,
        start: usize,
        count: usize,
        len: usize,
    ) {
        for index in 0..count.min(1 << 12) {
            self.push(of, name, start + len * index, len);
        }
    }

    fn nodes(&mut self, start: usize, page: &[u8]) {
        let words = aligned(page);
        let page: &[u8] = bytemuck::cast_slice(&words);
        let Ok(leaf) = Leaf::parse(page) else { return };
        for index in 0..leaf.count() {
            let (Some(offset), Ok(node)) = (leaf.node_offset(index), leaf.node(index)) else {
                continue;
            };
            let node_at = start + offset;
            self.push("leaf node", "key word", node_at, 2);
            self.push("leaf node", "value word", node_at + 2, 2);
            self.array(
                "leaf node",
                "key byte",
                node_at + 4,
                node.stored_key.len(),
                1,
            );
            let value = start + (node.value.bytes.as_ptr().addr() - page.as_ptr().addr());
            let len = node.value.bytes.len();
            match node.value.kind {
                ValueKind::Inline => self.array("leaf node", "value byte", value, len, 1),
                ValueKind::Extent => self.layout("large value", value, VALUE_EXTENT),
                ValueKind::Set => {
                    self.push("set of values", "count", value, 2);
                    self.array("set of values", "word", value + 2, len / 2 - 1, 2);
                }
                ValueKind::Tree => {
                    let names = len.saturating_sub(64);
                    self.array("names of comparisons", "byte", value + 64, names, 1);
                }
            }
        }
    }
}
