use super::*;

#[test]
fn a_huge_page_is_due_after_some_flushes_but_not_forever() {
    let mut writes = SmallWrites::default();
    let due: usize = (0..10_000)
        .map(|count| {
            (0..3).for_each(|page| writes.note(HUGE_PAGE_LEN + page * 4096, 4096));
            let due = writes.end_flush();
            assert!(due.iter().all(|offset| offset / HUGE_PAGE_LEN == 1));
            assert!(due.is_empty() || count >= 3);
            due.len()
        })
        .sum();
    assert_eq!(due, 64);
}

#[test]
fn long_writes_leave_huge_pages_alone() {
    let mut writes = SmallWrites::default();
    for _ in 0..100 {
        writes.note(0, SMALL_LEN + 1);
        assert!(writes.end_flush().is_empty());
    }
}

#[test]
fn one_transaction_however_large_splits_nothing_and_no_flush_splits_many() {
    let mut writes = SmallWrites::default();
    let mut flush = || {
        for _ in 0..10 {
            (0..1000).for_each(|index| writes.note(index * HUGE_PAGE_LEN, 4096));
        }
        writes.end_flush().len()
    };
    assert_eq!([flush(), flush(), flush()], [0; 3]);
    assert!((0..100).map(|_| flush()).all(|count| count <= SPLITS_MAX));
}
