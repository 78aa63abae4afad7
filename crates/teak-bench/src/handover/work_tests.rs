use super::*;
use crate::engines::EngineKind;
use std::collections::BTreeSet;

fn task(number: u32, processes: u32, records: u64) -> HandoverProcess {
    HandoverProcess {
        engine: EngineKind::Teak,
        directory: "databases".into(),
        records,
        turns: CommitOrdering::Free,
        number,
        processes,
        slice_ms: 1,
    }
}

#[test]
fn every_key_belongs_to_one_process() {
    let own = |number| OwnRecords::new(&task(number, 3, 100)).expect("there are enough keys");
    let keys: Vec<Key> = (0..3).flat_map(|number| own(number).keys).collect();
    assert_eq!(keys.len(), 100);
    assert_eq!(BTreeSet::from_iter(keys).len(), 100);
}

#[test]
fn a_process_without_a_key_is_refused() {
    assert!(OwnRecords::new(&task(2, 3, 2)).is_err());
}

#[test]
fn each_value_is_new_and_remembered() {
    let mut own = OwnRecords::new(&task(0, 1, 1)).expect("there is a key");
    let (first, second) = (own.next_record(), own.next_record());
    assert_ne!(first.value, second.value);
    assert_eq!(own.versions, [Some(1)]);
}

#[test]
fn missing_commits_are_found() {
    let directory = tempfile::tempdir().expect("a directory");
    let opening = OpenSettings::usual(Durability::Lazy, 1000);
    let opened = EngineKind::Teak.open(directory.path(), &opening);
    let mut engine = opened.expect("it opens");
    let mut own = OwnRecords::new(&task(0, 1, 10)).expect("there are keys");
    let slice = Duration::from_millis(5);
    let share = commit_freely(engine.as_ref(), &mut own, slice).expect("it commits");
    assert!(share.commits > 0 && share.seconds > 0.0, "{share:?}");
    own.check(engine.as_mut()).expect("nothing is lost");
    own.next_record();
    assert!(own.check(engine.as_mut()).is_err(), "that was not written");
}
