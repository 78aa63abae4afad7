//! Doors for test programs outside of this crate: the simulated disk, and the decoders that fuzzing
//! feeds with hostile bytes. Not part of the interface.

mod damage;
mod forge;
mod hostile;
mod records;
mod repair;
mod vast;

pub use crate::planted::{Planted, plant, planted};
pub use crate::store::sim::{Call, CrashPoints, Event, Fault, OpenBlock, SimDisk};
pub use damage::{Mutation, live_pages, mutate};
pub use forge::{Forgery, forge, forge_fields, forge_graph};
pub use hostile::exercise;
pub use records::{RecordSummary, newest_record, redone, without_accidents};
pub use repair::{anonymize, repair, repair_checksum};
pub use vast::{VastCounts, VastFile, make_vast};

use crate::{
    Database, Durability, Error, Options, Result, SalvageReport,
    api::salvage_into,
    commit::record::{Record, SLOT_COUNT, find_page_size},
    page::{
        comparison::Comparisons,
        header::Header,
        inner::Inner,
        key::KeyOrder,
        leaf::{self, End, Leaf},
        print,
        value::StoredValue,
    },
    store::{Storage, handle_faults},
    txn::salvage::Wreck,
};
use std::{path::Path, sync::Arc};

#[cfg(test)]
mod forged_tests;
#[cfg(test)]
mod tests;

/// Opens the database on a simulated disk. `is_new` says that there is none yet.
///
/// # Errors
///
/// Those of [`Options::open`].
pub fn open(disk: &SimDisk, options: &Options, is_new: bool, boot: [u8; 16]) -> Result<Database> {
    options.open_storage(Arc::new(disk.clone()), is_new, boot)
}

/// Opens the database on a simulated disk as a process of its own would, beside others that this process plays: each has a handle of
/// the disk for [another process](SimDisk::for_another), and all have the lock file `lock_file`. `is_new` says that there is no database yet.
///
/// # Errors
///
/// Those of [`Options::open`].
pub fn open_apart(
    disk: &SimDisk,
    lock_file: &Path,
    options: &Options,
    is_new: bool,
    boot: [u8; 16],
) -> Result<Database> {
    // The lock file is a real one.
    handle_faults().map_err(Error::io("installing a handler for SIGBUS"))?;
    options.open_apart(Arc::new(disk.clone()), lock_file, is_new, boot)
}

/// Kills the process that was [played](open_apart) with `database` and this handle of the disk: what it does from now on others do not see.
/// Nothing of it is to be at work but what calls this.
///
/// # Panics
///
/// If no other process can have the database open, or the system has no memory.
pub fn kill(database: &Database, disk: &SimDisk) {
    let _ = disk.kill();
    die(database);
}

/// The same in the call to the disk behind the next `calls`.
///
/// # Panics
///
/// As [`kill`], in that call.
pub fn kill_behind(database: &Database, disk: &SimDisk, calls: u64) {
    let database = database.clone();
    disk.kill_behind(calls, move || die(&database));
}

fn die(database: &Database) {
    let has_died = database.die().expect("memory of its own");
    assert!(
        has_died,
        "the process was to have the database open beside others"
    );
}

/// Salvages what is on a simulated disk into a new database on another one.
///
/// # Errors
///
/// Those of [`salvage`](crate::salvage).
pub fn salvage(disk: &SimDisk, target: &SimDisk) -> Result<SalvageReport> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let wreck = Wreck::of_storage(&storage, Path::new("simulated"), Comparisons::default())?;
    let options = Options::new().page_size(wreck.page_size());
    let database = open(target, &options.durability(Durability::Lazy), true, [1; 16])?;
    salvage_into(wreck, database, &mut |_| {})
}

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
    let mut scratch = Vec::new();
    leaf.read_prefix(&mut scratch);
    for index in 0..leaf.count() + 1 {
        if let Ok(node) = leaf.plain_node(index)
            && leaf.head(index).is_some()
        {
            leaf.read_key(index, &node, &mut scratch);
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
        End::Before,
        [(key, value)].into_iter(),
    );
    let _ = leaf::compact(page, &mut scratch);
}

/// Reads a commit record that may be anything.
pub fn fuzz_record(bytes: &[u8]) {
    let _ = find_page_size(bytes);
    for slot in 0..SLOT_COUNT {
        let _ = Record::decode(bytes, slot);
    }
}
