//! Pages as text: one printer for the program, golden tests and debugging.

use super::{
    bitmap, deaths,
    header::{Header, PageKind},
    inner::Inner,
    leaf::{self, Leaf},
    set::{self, Set},
    value::{StoredValue, ValueExtent, ValueKind},
};
use std::fmt::{self, Write};

/// Bytes of a key or value that are shown.
const SHOWN_LEN: usize = 32;
/// Values of a set that are shown.
const SHOWN_COUNT: usize = 8;

/// Prints the page line by line. Never fails: damage is printed as such.
pub(crate) fn page(page: &[u8]) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_page(&mut out, page);
    out
}

fn write_page(out: &mut String, page: &[u8]) -> fmt::Result {
    let header = Header::read(page);
    let kind = header.kind();
    let name = kind.map_or_else(
        || format!("kind {}", header.kind),
        |kind| format!("{kind:?}"),
    );
    writeln!(
        out,
        "page {} {name} level {} count {} born {} flags {:#06x}",
        header.number, header.level, header.count, header.birth, header.flags
    )?;
    match kind {
        Some(PageKind::Leaf) => write_leaf(out, page, &header),
        Some(PageKind::FixedLeaf) => write_fixed_leaf(out, page, &header),
        Some(PageKind::Inner) => write_inner(out, page, &header),
        Some(PageKind::Bitmap) => {
            let free: u32 = bitmap::words(page).map(u64::count_ones).sum();
            writeln!(out, "{free} free pages")
        }
        Some(PageKind::Deaths) => match deaths::read(page) {
            Ok(deaths) => deaths
                .iter()
                .try_for_each(|death| writeln!(out, "{death:?}")),
            Err(detail) => writeln!(out, "damaged: {detail}"),
        },
        _ => writeln!(
            out,
            "{}",
            PrintedBytes(&page[..page.len().min(2 * SHOWN_LEN)])
        ),
    }
}

fn write_leaf(out: &mut String, page: &[u8], header: &Header) -> fmt::Result {
    writeln!(
        out,
        "used {} of {} bytes, garbage {}, prefix {}",
        leaf::used_len(header),
        page.len(),
        header.garbage_len,
        PrintedBytes(header.prefix(page))
    )?;
    let leaf = match Leaf::from_header(page, header) {
        Ok(leaf) => leaf,
        Err(damage) => return writeln!(out, "damaged: {}", damage.0),
    };
    for index in 0..leaf.count() {
        let Ok(node) = leaf.node(index) else {
            writeln!(out, "{index:4} damaged")?;
            continue;
        };
        let mut key = Vec::new();
        leaf.append_key(index, &node, &mut key);
        let head = leaf.head(index).unwrap_or_default();
        write!(
            out,
            "{index:4} @{} {head:08x} {} = ",
            leaf.node_offset(index).unwrap_or_default(),
            PrintedBytes(&key)
        )?;
        write_value(out, node.value)?;
    }
    Ok(())
}

fn write_value(out: &mut String, value: StoredValue<'_>) -> fmt::Result {
    match (value.kind, ValueExtent::decode(value.bytes)) {
        (ValueKind::Extent, Ok(extent)) => writeln!(
            out,
            "{} bytes from page {} on, born {}, checksum {:?}",
            extent.len_bytes, extent.start, extent.birth, extent.checksum
        ),
        (ValueKind::Set, _) => write_set(out, value),
        (kind, _) => writeln!(out, "{kind:?} {}", PrintedBytes(value.bytes)),
    }
}

/// The root of the tree states whether the values of a set have one size, but it is not available
/// here: valid offsets are taken for offsets.
fn write_set(out: &mut String, value: StoredValue<'_>) -> fmt::Result {
    let count = set::pair_count(value).unwrap_or(1);
    let size = value.bytes.len().saturating_sub(2) as u64 / count;
    let set = Set::parse(value.bytes, 0).or_else(|_| Set::parse(value.bytes, size as u16));
    let Ok(set) = set else {
        return writeln!(out, "damaged Set {}", PrintedBytes(value.bytes));
    };
    write!(out, "Set of {}:", set.len())?;
    for value in set.iter().take(SHOWN_COUNT) {
        write!(out, " {}", PrintedBytes(value))?;
    }
    let cut = if set.len() > SHOWN_COUNT { " ..." } else { "" };
    writeln!(out, "{cut}")
}

fn write_fixed_leaf(out: &mut String, page: &[u8], header: &Header) -> fmt::Result {
    writeln!(
        out,
        "used {} of {} bytes, keys of {} bytes",
        leaf::used_len(header),
        page.len(),
        header.prefix_len
    )?;
    let leaf = match Leaf::from_header(page, header) {
        Ok(leaf) => leaf,
        Err(damage) => return writeln!(out, "damaged: {}", damage.0),
    };
    for index in 0..leaf.count() {
        let key = leaf.key(index).unwrap_or_default();
        writeln!(out, "{index:4} {}", PrintedBytes(&key))?;
    }
    Ok(())
}

fn write_inner(out: &mut String, page: &[u8], header: &Header) -> fmt::Result {
    let inner = match Inner::from_header(page, header) {
        Ok(inner) => inner,
        Err(damage) => return writeln!(out, "damaged: {}", damage.0),
    };
    writeln!(out, "prefix {}", PrintedBytes(inner.prefix()))?;
    for index in 0..inner.count() {
        match inner.child_at(index) {
            Ok(child) => writeln!(
                out,
                "{index:4} {:08x} {} -> page {} checksum {:?} records {}",
                inner.head(index).unwrap_or_default(),
                PrintedBytes(&child.separator),
                child.page,
                child.checksum,
                child.records
            )?,
            Err(damage) => writeln!(out, "{index:4} damaged: {}", damage.0)?,
        }
    }
    Ok(())
}

/// Prints bytes as text if they are text, else in hexadecimal; long ones are truncated.
struct PrintedBytes<'b>(&'b [u8]);

impl fmt::Display for PrintedBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(SHOWN_LEN)];
        if shown.iter().all(|byte| (0x20..0x7f).contains(byte)) {
            write!(f, "\"{}\"", shown.escape_ascii())?;
        } else {
            shown.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        }
        if self.0.len() > shown.len() {
            write!(f, "... ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}
