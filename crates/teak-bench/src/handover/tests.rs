use super::*;

#[test]
fn a_counter_record_has_its_count() {
    for count in [0, 1, 1 << 40] {
        let record = counter_record(count);
        assert_eq!(count_of(&record.value).expect("it is whole"), count);
    }
    assert!(count_of(&[0; 7]).is_err());
}

#[test]
fn the_counter_is_before_every_key() {
    assert!(DataSet::new(1000).keys.iter().all(|key| *key > COUNTER_KEY));
}
