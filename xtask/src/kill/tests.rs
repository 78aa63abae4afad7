//! What counts as acknowledged.

use super::loader::acknowledged;

#[test]
fn the_last_whole_line_counts() {
    assert_eq!(acknowledged("").unwrap(), 0);
    assert_eq!(
        acknowledged("committed 1 250\ncommitted 2 500\n").unwrap(),
        500
    );
    assert_eq!(
        acknowledged("committed 1 250\ncommitted 2 500\ncommitted 3 7").unwrap(),
        500
    );
    assert_eq!(acknowledged("committed 1 25").unwrap(), 0);
}

#[test]
fn other_lines_do_not_count() {
    assert_eq!(
        acknowledged("loading\ncommitted 1 250\ndone\n").unwrap(),
        250
    );
    assert!(acknowledged("committed much\n").is_err());
}
