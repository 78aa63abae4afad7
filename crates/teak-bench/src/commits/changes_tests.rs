use super::*;
use crate::data::{Key, Value};
use std::collections::BTreeMap;

fn digest(model: &BTreeMap<Key, Value>) -> Digest {
    let mut digest = Digest::default();
    for (key, value) in model {
        digest.add_record(key, value);
    }
    digest
}

#[test]
fn every_change_changes_something_and_the_sum_is_known() {
    let data = DataSet::new(10);
    let records = data
        .keys
        .iter()
        .map(|key| (*key, Record::new(*key, 0).value));
    let mut model: BTreeMap<Key, Value> = records.collect();
    let mut changes = ChangeSeries::new(&data);
    assert_eq!(changes.expected(), digest(&model));
    for _ in 0..5 {
        for record in changes.take(13) {
            assert_ne!(model.insert(record.key, record.value), Some(record.value));
        }
        assert_eq!(changes.expected(), digest(&model));
    }
}

#[test]
fn half_of_the_keys_are_new() {
    let data = DataSet::new(100);
    let records = ChangeSeries::new(&data).take(50);
    let old = records
        .iter()
        .filter(|record| data.keys.contains(&record.key))
        .count();
    assert_eq!(old, 25);
}
