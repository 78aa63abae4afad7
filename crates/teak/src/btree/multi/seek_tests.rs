use super::{PairSearchKey, SeekOp};
use crate::btree::{
    PageSink,
    multi::{
        cursor::PairCursor,
        tests::{Fixture, KINDS},
    },
    position::Position,
};

/// It read the next leaf, and failed if that was damaged.
#[test]
fn a_seek_for_an_equal_pair_does_not_read_beyond_its_key() {
    let mut fixture = Fixture::new(4096, KINDS[0]);
    for number in 0..30_u32 {
        fixture.insert(&number.to_be_bytes(), &[1; 400]);
    }
    let (mut last_in_leaf, mut position) = (0_u32, Position::default());
    assert!(position.first(&fixture.pages, &fixture.root).unwrap());
    let (leaf, _) = position.record().unwrap();
    let next_leaf = loop {
        assert!(position.next(&fixture.pages, &fixture.root).unwrap());
        match position.record().unwrap() {
            (page, _) if page == leaf => last_in_leaf += 1,
            (page, _) => break page,
        }
    };
    fixture.pages.release(next_leaf).unwrap();

    let mut cursor = PairCursor::new(&fixture.pages, fixture.root);
    let key = last_in_leaf.to_be_bytes();
    for (value, is_there) in [([0; 400], false), ([1; 400], true), ([2; 400], false)] {
        let pair = PairSearchKey::new(&fixture.root, (&key, &value));
        let found = cursor.seek_search_pair(SeekOp::Equal, &pair).unwrap();
        assert_eq!((found, cursor.is_on_pair()), (is_there, is_there));
    }
}
