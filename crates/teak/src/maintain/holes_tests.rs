use super::*;
use crate::{
    TransactionId,
    instance::engine::Engine,
    io::{Access, Create},
    transaction_tests::test_kit::{create_table, insert, key, remove, settings_with},
    write::transaction::WriteTransaction,
};
use std::sync::Arc;

const PAGE: u64 = 4096;

/// Other processes learn of holes by the count of returned blocks.
#[test]
fn existing_holes_count_as_returned() {
    if !crate::io::can("holes", |abilities| abilities.holes) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("holes.teak");
    let open = || {
        let settings = settings_with(|_| ());
        let opened = Engine::open(&path, Access::ReadWrite, Create::IfMissing, settings);
        opened.map(Arc::new).unwrap()
    };
    let engine = open();
    for turn in 0..3 {
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        if turn == 0 {
            create_table(&mut txn, b"a");
            (0..6000).for_each(|i| insert(&mut txn, b"a", &key(i), &[7; 1500]).unwrap());
        } else {
            assert!((3..6000).all(|i| remove(&mut txn, b"a", &key(i))) || turn > 1);
        }
        txn.commit().unwrap();
    }
    drop(engine);
    for is_first in [true, false] {
        let engine = open();
        let mut writer = engine.acquire_writer().unwrap();
        let writer = &mut *writer;
        (writer.space).reclaim(&engine.committer.pins(&writer.named).unwrap());
        for durable in 1..3 {
            writer.shrink.high_water.note_written(10_000);
            let used = writer.space.used_count();
            writer
                .shrink
                .high_water
                .note(used, TransactionId(durable + 1000));
        }
        if !is_first {
            assert!(punch_some(writer, &*engine.file.storage));
        }
        while let Some(extent) = writer.space.highest_free(1, u32::MAX).filter(|_| is_first) {
            assert!(punch(&*engine.file.storage, PAGE, extent));
            writer.space.add_hole(extent);
        }
    }
}
