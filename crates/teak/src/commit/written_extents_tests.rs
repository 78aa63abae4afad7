use super::*;

/// Extents by their start and length.
type Pairs = &'static [(u32, u32)];

fn extents(pairs: &[(u32, u32)]) -> Vec<Extent> {
    pairs
        .iter()
        .map(|&(start, len)| Extent::new(start, len))
        .collect()
}

fn dead(pairs: &[(u32, u32)]) -> Vec<(Extent, TransactionId)> {
    let extents = extents(pairs).into_iter();
    extents.map(|extent| (extent, TransactionId(1))).collect()
}

#[test]
fn dead_pages_are_removed_from_any_position() {
    let written = extents(&[(10, 5), (20, 1), (30, 10)]);
    let cases: [(Pairs, Pairs); 6] = [
        (&[], &[(10, 5), (20, 1), (30, 10)]),
        (&[(4, 6), (15, 5), (40, 1)], &[(10, 5), (20, 1), (30, 10)]),
        (&[(8, 4), (14, 7)], &[(12, 2), (30, 10)]),
        (
            &[(31, 1), (33, 2), (39, 9)],
            &[(10, 5), (20, 1), (30, 1), (32, 1), (35, 4)],
        ),
        (&[(12, 20)], &[(10, 2), (32, 8)]),
        (&[(0, 99)], &[]),
    ];
    for (deaths, left) in cases {
        let mut written = written.clone();
        take_out(&mut written, &dead(deaths));
        assert_eq!(written, extents(left), "{deaths:?}");
    }
}

#[test]
fn dead_pages_are_no_longer_listed() {
    let mut written = WrittenExtents::new(4096);
    written.note(TransactionId(2), &extents(&[(10, 4)]), TransactionId(1));
    written.forget_dead(&dead(&[(11, 2)]));
    let all = written.with(&extents(&[(20, 1)])).unwrap();
    assert_eq!(all, extents(&[(10, 1), (13, 1), (20, 1)]));
}

#[test]
fn truncated_pages_are_not_listed() {
    let mut written = WrittenExtents::new(4096);
    written.note(
        TransactionId(1),
        &extents(&[(10, 4), (20, 10), (40, 1)]),
        TransactionId(0),
    );
    written.cut(25);
    assert_eq!(written.with(&[]), Some(extents(&[(10, 4), (20, 5)])));
}

#[test]
fn extents_that_touch_or_overlap_become_one() {
    let many = extents(&[(10, 5), (20, 1), (30, 10), (50, 1)]);
    let cases: [(Pairs, Pairs); 6] = [
        (&[], &[(10, 5), (20, 1), (30, 10), (50, 1)]),
        (&[(15, 5)], &[(10, 11), (30, 10), (50, 1)]),
        (&[(5, 2), (12, 30)], &[(5, 2), (10, 32), (50, 1)]),
        (&[(0, 60)], &[(0, 60)]),
        (
            &[(51, 1), (60, 1)],
            &[(10, 5), (20, 1), (30, 10), (50, 2), (60, 1)],
        ),
        (
            &[(1, 1), (3, 1), (5, 1), (7, 1), (9, 1), (31, 2)],
            &[
                (1, 1),
                (3, 1),
                (5, 1),
                (7, 1),
                (9, 6),
                (20, 1),
                (30, 10),
                (50, 1),
            ],
        ),
    ];
    for (few, all) in cases {
        assert_eq!(union(&many, &extents(few)), extents(all), "{few:?}");
        assert_eq!(union(&extents(few), &many), extents(all), "{few:?}");
    }
}
