use super::*;
use proptest::prelude::*;

fn death(extent: Extent, birth: u64, died: u64) -> Death {
    Death {
        extent,
        birth: TransactionId(birth),
        died: TransactionId(died),
    }
}

#[test]
fn groups_survive_a_round_trip() {
    let taken = [
        Extent::new(4, 2),
        Extent::new(6, 1),
        Extent::new(u32::MAX, 1),
    ];
    let deaths = [
        death(Extent::new(900, 3), 0, 7),
        death(Extent::new(5, 1), 6, 7),
    ];
    let mut log = Vec::new();
    let parts = || deaths.iter().map(|death| (death.extent, death.birth));
    append(
        &mut log,
        TransactionId(0),
        TransactionId(7),
        &taken,
        parts(),
    );
    append(
        &mut log,
        TransactionId(7),
        TransactionId(u64::MAX - 1),
        &[],
        [].into_iter(),
    );
    let (groups, last) = decode(&log).unwrap();
    assert_eq!(last, TransactionId(u64::MAX - 1));
    assert_eq!(
        groups,
        [
            LogGroup {
                taken: taken.to_vec(),
                deaths: deaths.to_vec()
            },
            LogGroup {
                taken: vec![],
                deaths: vec![]
            },
        ]
    );
}

#[test]
fn the_longest_death_is_as_long_as_promised() {
    let death = death(Extent::new(u32::MAX - 1, 1), 0, u64::MAX);
    let mut log = Vec::new();
    let parts = [(death.extent, death.birth)].into_iter();
    append(&mut log, TransactionId(0), death.died, &[], parts);
    assert_eq!(log.len(), death_len_max(&death));
}

#[test]
fn logs_that_make_no_sense_are_refused() {
    let cases: [&[u8]; 7] = [
        &[0, 0, 0],                                  // no transaction
        &[1, 1, 5],                                  // ends in a run
        &[1, 1, 5, 0, 0],                            // a run without length
        &[1, 0, 1, 2, 9, 1],                         // born before all transactions
        &[1, 0, 1, 0, 9, 1],                         // died when it was born
        &[1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 2, 0], // ends after the last page number
        &[
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 0,
        ], // 65 bits
    ];
    for case in cases {
        assert!(decode(case).is_err(), "{case:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
    }
}
