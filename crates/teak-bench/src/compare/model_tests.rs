use super::{DatabaseModel, RecordBlock, RecordStream};
use crate::{
    compare::keys::{KeyKind, Keys},
    data::Digest,
    engines::store::RecordBatches,
};
use std::path::Path;

fn model(value_len: usize) -> DatabaseModel {
    let keys = Keys::new(KeyKind::Integers, 100, Path::new("")).expect("keys");
    let mut model = DatabaseModel::new(keys, value_len);
    model.load(100);
    model
}

#[test]
fn the_expected_records_are_written() {
    for value_len in [1, 8, 9, 100] {
        let mut model = model(value_len);
        model.update(7);
        assert_eq!(model.remove(), 0);
        assert_eq!(model.insert(), 100);
        let (mut scanned, mut found) = (Digest::default(), Digest::default());
        let mut stream = RecordStream::new(&model);
        while let Some(batch) = stream.next_batch(30) {
            for (key, value) in batch {
                assert_eq!((key.len(), value.len()), (8, value_len));
                scanned.add_record(key, value);
                found.add_value(value);
            }
        }
        assert_eq!(scanned, model.digest());
        let mut expected = Digest::default();
        for number in model.live() {
            model.add_found(number, &mut expected);
        }
        assert_eq!(found, expected);
    }
}

#[test]
fn a_new_version_has_another_value() {
    let mut model = model(100);
    let mut block = RecordBlock::default();
    block.add(&model, 3);
    model.update(3);
    block.add(&model, 3);
    let pairs = block.pairs();
    assert_eq!(pairs[0].0, pairs[1].0);
    assert_ne!(pairs[0].1, pairs[1].1);
}
