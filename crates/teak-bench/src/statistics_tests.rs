use super::*;

fn samples(values: &[f64]) -> Samples {
    let mut samples = Samples::default();
    for value in values {
        samples.push(*value);
    }
    samples
}

#[test]
fn nothing_has_no_median() {
    assert_eq!(samples(&[]).median(), None);
    assert_eq!(samples(&[]).spread(), None);
}

#[test]
fn one_round_is_its_own_median() {
    assert_eq!(samples(&[7.0]).median(), Some(7.0));
}

#[test]
fn an_odd_number_has_a_middle() {
    assert_eq!(samples(&[9.0, 1.0, 2.0]).median(), Some(2.0));
}

#[test]
fn an_even_number_has_two() {
    assert_eq!(samples(&[4.0, 1.0, 2.0, 100.0]).median(), Some(3.0));
}

#[test]
fn the_spread_is_from_the_fastest_to_the_slowest() {
    let samples = samples(&[4.0, 1.0, 2.0]);
    assert_eq!(samples.spread(), Some(Spread { min: 1.0, max: 4.0 }));
    assert_eq!(samples.len(), 3);
}
