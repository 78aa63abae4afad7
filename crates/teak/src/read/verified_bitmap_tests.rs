use super::*;

#[test]
fn bits_grow_with_the_file_and_stay() {
    let verified = VerifiedBitmap::new(Verification::FirstTouch, 100);
    assert!(verified.is_unverified(PageNumber(63)));
    verified.note(Extent::new(60, 10));
    let grown = verified.covering(10_000);
    for number in 0..200 {
        let is_noted = (60..70).contains(&number);
        assert_eq!(
            grown.is_unverified(PageNumber(number)),
            !is_noted,
            "{number}"
        );
    }
    grown.note(Extent::new(9_000, 1_000));
    grown.forget(Extent::new(9_500, 1));
    assert!(!grown.is_unverified(PageNumber(9_999)));
    assert!(grown.is_unverified(PageNumber(9_500)));
    assert!(
        verified.is_unverified(PageNumber(0)),
        "the old bits are as they were"
    );
}

#[test]
fn nothing_is_recorded_if_everything_or_nothing_is_verified() {
    let always = VerifiedBitmap::new(Verification::Always, 100);
    always.note(Extent::new(5, 1));
    assert!(always.is_unverified(PageNumber(5)));
    let off = VerifiedBitmap::new(Verification::Off, 100).covering(1_000);
    assert!(!off.is_unverified(PageNumber(5)));
}

#[test]
fn pages_after_the_last_one_are_not_requested() {
    let verified = VerifiedBitmap::new(Verification::FirstTouch, 10);
    verified.note(Extent::new(0, 100_000));
    assert!(!verified.is_unverified(PageNumber(u32::MAX)));
}
