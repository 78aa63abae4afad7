//! Small transactions with many changes.

use super::*;

/// Changes a thousand records in the order of `key`; returns whether the transaction stayed small.
fn change_many(database: &Database, words: &Words, key: impl Fn(u32) -> String) -> bool {
    let mut txn = small(database);
    for number in 0..1000 {
        words.insert(&mut txn, key(number), b"many").unwrap();
    }
    let is_small = txn.small().is_some();
    assert_eq!(words.get(&txn, key(999)).unwrap(), Some(&b"many"[..]));
    txn.commit().unwrap();
    is_small
}

/// Its keys are in no order, so each change would copy another leaf.
#[test]
fn a_batch_in_no_order_is_a_small_transaction() {
    let (_directory, database, words) = database();
    let mixed = |number: u32| format!("{}", number.wrapping_mul(0x9e37_79b9));
    assert!(change_many(&database, &words, mixed));
    assert!(!change_many(&database, &words, |number| format!(
        "{number:04}"
    )));
    assert!(change_many(&database, &words, |number| format!(
        "{:04}",
        999 - number
    )));
    let read = database.begin_read().unwrap();
    assert_eq!(words.len(&read).unwrap(), 3 + 2000);
}

#[test]
fn a_batch_with_an_index_becomes_a_whole_transaction() {
    let (_directory, database, words) = database();
    let mut txn = small(&database);
    for number in (0..500).rev() {
        words
            .insert(&mut txn, format!("{number:03}"), b"many")
            .unwrap();
        words
            .insert(&mut txn, format!("{number:03}"), b"again")
            .unwrap();
    }
    assert!(words.remove(&mut txn, "007").unwrap());
    assert!(txn.small().is_some());
    assert_eq!(words.len(&txn).unwrap(), 3 + 499);
    assert!(txn.small().is_none());
    assert_eq!(words.get(&txn, "007").unwrap(), None);
    assert_eq!(words.get(&txn, "008").unwrap(), Some(&b"again"[..]));
    txn.commit().unwrap();
}

/// As with single insertions and removals, one after the other.
#[test]
fn many_records_at_once_are_changed_in_a_small_transaction() {
    let (_directory, database, words) = database();
    let mut txn = database.begin_write().unwrap();
    let loaded: Vec<_> = (0..2000).map(|number| format!("z{number}")).collect();
    let pairs: Vec<_> = loaded.iter().map(|key| (key, b"a tree")).collect();
    words.insert_many(&mut txn, &pairs).unwrap();
    txn.commit().unwrap();
    let mut txn = small(&database);
    let records: Vec<_> = (0..500)
        .rev()
        .map(|number| format!("{number:03}"))
        .collect();
    let pairs: Vec<_> = records.iter().map(|key| (key, b"many")).collect();
    assert_eq!(words.insert_many(&mut txn, &pairs).unwrap(), 500);
    assert_eq!(
        words
            .insert_many(&mut txn, &[("oak", b"again"), ("fir", b"newer")])
            .unwrap(),
        1
    );
    assert_eq!(
        words.remove_many(&mut txn, &["fir", "yew", "fir"]).unwrap(),
        1
    );
    assert_eq!(words.insert_many(&mut txn, &pairs[..0]).unwrap(), 0);
    assert!(txn.small().is_some());
    let too_long = [("elm", b"new"), (&"k".repeat(5000)[..], b"new")];
    assert!(words.insert_many(&mut txn, &too_long).is_err());
    assert_eq!(
        words.get(&txn, "elm").unwrap(),
        Some(&b"a tree"[..]),
        "nothing has changed"
    );
    // Sorted ones are those of few leaves.
    let sorted: Vec<_> = (0..500).map(|number| format!("{number:03}")).collect();
    assert_eq!(words.remove_many(&mut txn, &sorted).unwrap(), 500);
    assert!(txn.small().is_none());
    assert_eq!(words.len(&txn).unwrap(), 2003);
    txn.commit().unwrap();
}

/// It would be written to the log and then to the trees.
#[test]
fn a_large_record_makes_a_whole_transaction() {
    let (_directory, database, words) = database();
    let mut txn = small(&database);
    words.insert(&mut txn, "fir", [7; 4000]).unwrap();
    assert!(txn.small().is_some());
    words.insert(&mut txn, "yew", [7; 9000]).unwrap();
    assert!(txn.small().is_none());
    txn.commit().unwrap();
}

/// One entry of several blocks, which a flush makes durable.
#[test]
fn a_durable_batch_is_in_the_log_as_a_whole() {
    let (directory, database, words) = durable::durable_database();
    let before = database.durable_in_trees();
    let mut txn = database.begin_write().unwrap();
    for number in (0..1000).rev() {
        let text = [number as u8; 100];
        words
            .insert(&mut txn, format!("{number:04}"), text)
            .unwrap();
    }
    assert!(txn.small().is_some());
    let last = txn.commit().unwrap();
    assert!(durable::durable_commit(&database) >= last);
    if database.durable_in_trees() != before {
        return;
    }
    let copy = left_files(directory.path());
    let database = Database::open(copy.path().join("x.teak")).unwrap();
    let read = database.begin_read().unwrap();
    assert_eq!(words.len(&read).unwrap(), 1001);
    assert_eq!(words.get(&read, "0999").unwrap(), Some(&[231; 100][..]));
    check(&database);
}

#[test]
fn a_broken_transaction_takes_no_batch() {
    let (_directory, database, words) = database();
    let mut txn = small(&database);
    txn.set_broken();
    let nothing: [(&str, &[u8]); 0] = [];
    let refused = words.insert_many(&mut txn, &nothing);
    assert!(matches!(refused, Err(Error::TransactionBroken)));
    let refused = words.remove_many(&mut txn, &["ash"]);
    assert!(matches!(refused, Err(Error::TransactionBroken)));
    assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));
}

/// All of its changes were made twice.
#[test]
fn after_a_batch_that_becomes_whole_some_transactions_begin_as_whole_ones() {
    let (_directory, database, words) = database();
    let mut txn = small(&database);
    for number in (0..100).rev() {
        words
            .insert(&mut txn, format!("{number:03}"), b"many")
            .unwrap();
    }
    assert_eq!(words.len(&txn).unwrap(), 103);
    txn.commit().unwrap();
    assert!(database.begin_write().unwrap().small().is_none());
    commit_small(&database, &words, "fir", b"new");
}

/// Some of its records were changed already.
#[test]
fn a_batch_that_meets_a_damaged_leaf_leaves_nothing() {
    let (directory, database, words) = database();
    let mut txn = database.begin_write().unwrap();
    let keys: Vec<_> = (0..2000).map(|number| format!("{number:04}")).collect();
    for key in &keys {
        let text = format!("the text of {key}, which is in one of many leaves");
        words.insert(&mut txn, key, text.as_bytes()).unwrap();
    }
    txn.commit().unwrap();
    database.close().unwrap();
    let path = directory.path().join("x.teak");
    let mut file = fs::read(&path).unwrap();
    let text = b"the text of 1000";
    let starts = 0..file.len() - text.len();
    let damaged: Vec<_> = starts.filter(|&at| file[at..].starts_with(text)).collect();
    damaged.into_iter().for_each(|at| file[at] ^= 1);
    fs::write(&path, file).unwrap();

    let database = open(directory.path());
    let mut txn = small(&database);
    let words: Words = txn.open_table("words").unwrap();
    let pairs: Vec<_> = (keys.iter().rev().step_by(4))
        .map(|key| (key, b"new"))
        .collect();
    let damage = words.insert_many(&mut txn, &pairs);
    assert!(matches!(damage, Err(Error::Corrupted { .. })), "{damage:?}");
    assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));
    let read = database.begin_read().unwrap();
    let last = words.get(&read, "1999").unwrap();
    assert!(last.is_some_and(|text| text.starts_with(b"the text of 1999")));
    commit_small(&database, &words, "0000", b"new");
    let read = database.begin_read().unwrap();
    assert_eq!(words.get(&read, "0000").unwrap(), Some(&b"new"[..]));
}
