use super::*;
use crate::data::DataSet;
use std::collections::BTreeMap;

#[test]
fn operations_produce_the_values_of_each_key() {
    let mut stream = ValueStream::new(DataSet::new(50).keys, 2048..=10_240);
    let operations = stream.take(2000);
    let mut model: BTreeMap<&Key, &[u8]> = BTreeMap::new();
    for operation in &operations {
        let change = stream.change(operation);
        match change.value {
            Some(value) => {
                assert!((2048..=10_240).contains(&value.len()));
                model.insert(change.key, value);
            }
            None => {
                let removed = model.remove(change.key);
                assert!(removed.is_some(), "only what is there is removed");
            }
        }
    }
    for (key, value) in stream.records() {
        assert_eq!(model.get(key).copied(), value);
    }
    let bytes = model.values().map(|value| (16 + value.len()) as u64);
    assert_eq!(stream.live_bytes(), bytes.sum::<u64>());
    assert!((25..=48).contains(&model.len()), "{}", model.len());
}

#[test]
fn the_same_operations_come_again() {
    let keys = DataSet::new(20).keys;
    let mut streams = [0, 1].map(|_| ValueStream::new(keys.clone(), 10..=20));
    assert_eq!(streams[0].take(100), streams[1].take(100));
}
