//! Steps within a leaf find the same records as steps that leave it.

use super::DetachedCursor;
use crate::{Database, KeyStep, Transaction, btree::position::Direction, codec::Bytes};
use fastrand::Rng;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Steps back and forth for a while, and compares the current record with the sorted pairs.
fn walk<T: Transaction>(txn: &T, cursor: &mut DetachedCursor, pairs: &Pairs, rng: &mut Rng) {
    assert!(cursor.first(txn).unwrap());
    let (mut at, mut moves, mut quick) = (0, 0, [0; 2]);
    for _ in 0..300 {
        // Long enough to leave leaves too.
        let (is_forward, steps) = (rng.bool(), rng.usize(1..200));
        for _ in 0..steps {
            let direction = match is_forward {
                true => (at + 1 < pairs.len()).then_some(at + 1),
                false => at.checked_sub(1),
            };
            let Some(direction) = direction else { break };
            let of_key = pairs[direction].0 == pairs[at].0;
            let is_value = of_key && rng.bool();
            let side = match is_forward {
                true => Direction::Forward,
                false => Direction::Backward,
            };
            moves += 1;
            quick[usize::from(of_key)] += u32::from(cursor.clone().step_in_leaf(txn, side));
            let moved = match (is_forward, is_value) {
                (true, true) => cursor.step(txn, KeyStep::NextValue),
                (true, false) => cursor.next(txn),
                (false, true) => cursor.step(txn, KeyStep::PrevValue),
                (false, false) => cursor.prev(txn),
            };
            assert!(moved.unwrap());
            at = direction;
            assert_eq!(cursor.key(), pairs[at].0);
            assert_eq!(*cursor.value(txn).unwrap(), pairs[at].1[..]);
        }
        if at + 1 < pairs.len() && pairs[at + 1].0 != pairs[at].0 {
            assert!(
                !cursor.step(txn, KeyStep::NextValue).unwrap(),
                "the cursor does not move"
            );
            assert_eq!(cursor.key(), pairs[at].0);
        }
    }
    let has_values = pairs.windows(2).any(|two| two[0].0 == two[1].0);
    assert!(quick[0] > 0 && (quick[1] > 0) == has_values);
    assert!(2 * quick.iter().sum::<u32>() > moves, "most stay in a leaf");
}

#[test]
fn steps_in_a_leaf_agree_with_other_steps() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("x.teak")).unwrap();
    let mut rng = Rng::with_seed(7);
    let mut txn = database.begin_write().unwrap();
    let plain = txn.create_table::<Bytes, Bytes>("plain").unwrap();
    let multi = txn.create_multi_table::<Bytes, Bytes>("multi").unwrap();
    let (mut records, mut pairs) = (Pairs::new(), Pairs::new());
    for number in 0..1000_u32 {
        // Some values are too long for their leaf.
        let len = if number % 97 == 0 {
            9000
        } else {
            rng.usize(0..100)
        };
        let key = number.to_be_bytes().to_vec();
        let value = vec![number as u8; len];
        plain.insert(&mut txn, &key, &value).unwrap();
        records.push((key.clone(), value));
        // Keys with one value, with a few, and with so many that they have a nested tree.
        let values = match number % 100 {
            0..60 => 1,
            99 => 700,
            _ => rng.u32(1..6),
        };
        for value in 0..values {
            let value = value.to_be_bytes().to_vec();
            multi.insert(&mut txn, &key, &value).unwrap();
            pairs.push((key.clone(), value));
        }
    }
    let tables = [
        (DetachedCursor::new(&plain), &records),
        (DetachedCursor::new(&multi), &pairs),
    ];
    for (cursor, expected) in &tables {
        walk(&txn, &mut cursor.clone(), expected, &mut rng);
    }
    txn.commit().unwrap();
    let (reader, txn) = (
        database.begin_read().unwrap(),
        database.begin_write().unwrap(),
    );
    for (mut cursor, expected) in tables {
        walk(&reader, &mut cursor, expected, &mut rng);
        walk(&txn, &mut cursor, expected, &mut rng);
        // From one transaction to another in the middle of a leaf.
        let mut count = usize::from(cursor.first(&reader).unwrap());
        while match count % 2 {
            0 => cursor.next(&reader),
            _ => cursor.next(&txn),
        }
        .unwrap()
        {
            assert_eq!(cursor.key(), expected[count].0);
            count += 1;
        }
        assert_eq!(count, expected.len());
    }
}

#[test]
fn a_cancelled_reader_fails_in_the_middle_of_a_leaf() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("x.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<Bytes, Bytes>("some").unwrap();
    for number in 0..100_u32 {
        table
            .insert(&mut txn, number.to_be_bytes(), b"value")
            .unwrap();
    }
    txn.commit().unwrap();
    let reader = database.begin_read().unwrap();
    let mut cursor = DetachedCursor::new(&table);
    assert!(cursor.next(&reader).unwrap() && cursor.next(&reader).unwrap());
    let readers = database.readers().unwrap();
    assert!(database.cancel_reader(&readers[0]).unwrap());
    assert!(matches!(
        cursor.next(&reader),
        Err(crate::Error::SnapshotLost)
    ));
    assert!(matches!(
        cursor.value(&reader),
        Err(crate::Error::SnapshotLost)
    ));
    assert_eq!(cursor.key(), 1_u32.to_be_bytes());
}
