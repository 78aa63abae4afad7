use super::*;

#[test]
fn a_stretch_is_due_after_some_small_writes_and_not_for_ever() {
    let mut writes = SmallWrites::default();
    let due: usize = (0..10_000)
        .map(|count| {
            writes.note(HUGE_PAGE_LEN + count * 4096 % HUGE_PAGE_LEN, 4096);
            let due = writes.take_due();
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
    (0..100).for_each(|_| writes.note(0, SMALL_LEN + 1));
    assert!(writes.take_due().is_empty());
}
