use super::*;

#[test]
fn the_first_contender_changes() {
    assert_eq!(turn_order(2, 0), [0, 1]);
    assert_eq!(turn_order(2, 1), [1, 0]);
    assert_eq!(turn_order(3, 3), [2, 1, 0]);
}

#[test]
fn a_round_is_spread_over_its_operations() {
    let mut samples = vec![Samples::default(); 2];
    let sums = [Duration::from_micros(1), Duration::from_micros(3)];
    add_round(&mut samples, &sums, 10);
    assert_eq!(samples[0].median(), Some(100.0));
    assert_eq!(samples[1].median(), Some(300.0));
}
