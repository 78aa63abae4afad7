use super::*;

#[test]
fn slices_are_of_about_the_same_size() {
    assert_eq!(slice_len(2000, 1), 65);
    assert_eq!(slice_len(20_000, 32), 2223);
}

#[test]
fn few_commits_are_one_slice() {
    assert_eq!(slice_len(10, 32), 10);
    assert_eq!(slice_len(100, 1), 100);
}
