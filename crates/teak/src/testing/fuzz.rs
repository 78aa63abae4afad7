//! The decoders of pages and records, for fuzzing to feed with hostile bytes.

use crate::{
    page::{
        header::Header,
        inner::Inner,
        key::KeyOrder,
        leaf::{self, CursorKey, KeyBuffer, Leaf, LeafEnd},
        print,
        value::StoredValue,
    },
    record::{Record, SLOT_COUNT, probe::find_page_size},
};

/// Reads all of a page that may be anything, as leaf and as inner page, and changes it.
pub fn fuzz_page(bytes: &[u8]) {
    let mut words = vec![0u64; bytes.len().clamp(64, 65536).div_ceil(8)];
    let page: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    let len = bytes.len().min(page.len());
    page[..len].copy_from_slice(&bytes[..len]);
    let _ = print::page(page);
    let key = bytes.get(..16).unwrap_or_default();
    for order in [KeyOrder::Bytes, KeyOrder::ReverseBytes, KeyOrder::Integer] {
        if let Ok(leaf) = Leaf::parse(page) {
            let _ = leaf.search(order, key);
            let _ = leaf.find(order, key).value(order, key);
            (0..leaf.count() + 1).for_each(|index| drop(leaf.key(index)));
        }
        if let Ok(inner) = Inner::parse(page) {
            let _ = inner.search(order, key);
            (0..inner.count() + 1).for_each(|index| drop(inner.child_at(index)));
        }
    }
    fuzz_changes(page, key);
}

fn fuzz_changes(page: &mut [u8], key: &[u8]) {
    let Ok(leaf) = Leaf::parse(page) else { return };
    let mut scratch = KeyBuffer::default();
    leaf.read_prefix(&mut scratch);
    for index in 0..leaf.count() + 1 {
        if let Ok(node) = leaf.plain_node(index)
            && leaf.head(index).is_some()
        {
            leaf.read_key(index, &node, &mut scratch, true);
            let _ = CursorKey::in_buffer(&scratch).text();
        }
    }
    let _ = leaf::gap(page, &Header::read(page));
    let slot = leaf.search(KeyOrder::Bytes, key);
    let value = StoredValue::inline(b"value");
    match slot {
        Ok(Ok(index)) => {
            let _ = leaf::set_value(page, index, value);
            let _ = leaf::remove(page, index);
        }
        Ok(Err(index)) => drop(leaf::insert(page, KeyOrder::Bytes, index, key, value)),
        Err(_) => {}
    }
    let _ = leaf::used_len(&Header::read(page));
    let _ = leaf::remove_range(page, 0..2);
    let _ = leaf::insert_many(
        page,
        KeyOrder::Bytes,
        LeafEnd::Before,
        [(key, value)].into_iter(),
    );
    let _ = leaf::compact(page, &mut Vec::new());
}

/// Reads a commit record that may be anything.
pub fn fuzz_record(bytes: &[u8]) {
    let _ = find_page_size(bytes);
    for slot in 0..SLOT_COUNT {
        let _ = Record::decode(bytes, slot);
    }
}
