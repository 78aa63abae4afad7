use super::*;
use std::collections::HashSet;

#[test]
fn a_data_set_is_the_same_each_time() {
    let (one, other) = (DataSet::new(1000), DataSet::new(1000));
    assert_eq!(one.keys, other.keys);
    assert_eq!(one.lookups, other.lookups);
    assert_eq!(one.bytes(), 116_000);
}

#[test]
fn lookups_are_present_and_differ() {
    let data = DataSet::new(1000);
    let keys: HashSet<Key> = data.keys.iter().copied().collect();
    let lookups: HashSet<Key> = data.lookups.iter().copied().collect();
    assert_eq!(lookups.len(), 1000);
    assert!(lookups.is_subset(&keys));
}

#[test]
fn values_follow_from_key_and_version() {
    let key = DataSet::new(1).keys[0];
    assert_eq!(Record::new(key, 3).value, Record::new(key, 3).value);
    assert_ne!(Record::new(key, 3).value, Record::new(key, 4).value);
}

#[test]
fn half_of_the_changes_are_new_keys() {
    let data = DataSet::new(1000);
    let keys: HashSet<Key> = data.keys.iter().copied().collect();
    let changes = data.changes(2, 100);
    let old = changes
        .iter()
        .filter(|record| keys.contains(&record.key))
        .count();
    assert_eq!(old, 50);
}

#[test]
fn a_record_that_was_removed_does_not_count() {
    let keys = DataSet::new(10).keys;
    let mut digest = Digest::of_scan(&keys);
    digest.remove_record(&Record::new(keys[9], 0));
    assert_eq!(digest, Digest::of_scan(&keys[..9]));
}

#[test]
fn a_digest_misses_a_value_that_is_not_there() {
    let keys = DataSet::new(10).keys;
    assert_ne!(Digest::of_lookups(&keys), Digest::of_lookups(&keys[1..]));
}
