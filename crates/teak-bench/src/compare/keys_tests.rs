use super::{KeyKind, Keys, gather_paths, permuted};
use std::collections::BTreeSet;

#[test]
fn a_permutation_gives_each_number_once() {
    for count in [1, 2, 3, 4, 5, 100, 1000, 4097] {
        let seen: BTreeSet<u64> = (0..count).map(|number| permuted(number, count)).collect();
        assert_eq!(seen.len() as u64, count);
        assert!(seen.iter().all(|number| *number < count));
    }
    let ascending = (0..999).filter(|&n| permuted(n, 1000) < permuted(n + 1, 1000));
    assert!((300..700).contains(&ascending.count()));
}

#[test]
fn keys_differ_and_missing_ones_are_missing() {
    let directory = tempfile::tempdir().expect("a directory");
    let paths = directory.path().join("paths");
    gather_paths(&paths).expect("paths");
    for (kind, len) in [
        (KeyKind::Random16, Some(16)),
        (KeyKind::Random32, Some(32)),
        (KeyKind::Integers, Some(8)),
        (KeyKind::NativeIntegers, Some(8)),
        (KeyKind::Strings, None),
    ] {
        let keys = Keys::new(kind, 5000, &paths).expect("keys");
        let mut seen = BTreeSet::new();
        for number in 0..6000 {
            let mut key = Vec::new();
            keys.add(number, &mut key);
            assert!(len.is_none_or(|len| key.len() == len));
            assert!(seen.insert(key), "{kind:?}");
        }
        for number in 0..6000 {
            let mut key = Vec::new();
            keys.add_missing(number, &mut key);
            assert!(!seen.contains(&key), "{kind:?}");
        }
    }
}
