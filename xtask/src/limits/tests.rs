use super::records::{ExpectedRecords, compare};

fn records(pairs: &[(&str, &str)]) -> ExpectedRecords {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec()))
        .collect()
}

#[test]
fn a_lost_record_is_found() {
    let (before, after) = (records(&[("a", "1"), ("b", "2")]), records(&[("a", "3")]));
    assert!(compare(&before, &before, &after, false).is_ok());
    assert!(compare(&after, &before, &after, true).is_ok());
    assert!(compare(&before, &before, &after, true).is_err());
    assert!(compare(&records(&[("b", "2")]), &before, &after, false).is_err());
    let half = records(&[("a", "3"), ("b", "2")]);
    assert!(compare(&half, &before, &after, false).is_ok());
}
