//! The writer's copy of the list of named snapshots matches the stored list.

use super::WriteTransaction;
use crate::record::durability::Durability;
use crate::transaction_tests::test_kit::{fill, new_database, put, records};

#[test]
fn the_cached_list_matches_the_stored_one() {
    let (_disk, engine) = new_database();
    fill(&engine, records(5, b"first"));
    for round in 0..120_u8 {
        let durability = [Durability::Durable, Durability::Lazy][usize::from(round % 2)];
        put(&engine, durability, records(5, &[round])).unwrap();
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        txn.set_durability(durability);
        // Two names of one state; some are dropped, or given to another state at once.
        txn.create_snapshot(&[round, 0]).unwrap();
        txn.create_snapshot(&[round, 1]).unwrap();
        if round > 5 && round % 3 > 0 {
            txn.drop_snapshot(&[round - 5, 0]).unwrap();
            txn.create_snapshot(&[round - 5, 0]).unwrap();
            txn.drop_snapshot(&[round - 5, 1]).unwrap();
        }
        if round > 10 && round % 4 == 0 {
            txn.roll_back_to_snapshot(&[round - 10, 0]).unwrap();
            txn.create_snapshot(&[round, 2]).unwrap();
        }
        txn.commit().unwrap();
        let txn = WriteTransaction::begin(&engine).unwrap();
        assert_eq!(
            txn.pages.writer.named,
            txn.pages.writer.pinned(&txn.base).named_pins().unwrap()
        );
        assert!(txn.pages.writer.named.live.len() > usize::from(round));
    }
}
