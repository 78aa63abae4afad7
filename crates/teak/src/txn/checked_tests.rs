use super::*;

#[test]
fn bits_grow_with_the_file_and_stay() {
    let checked = Checked::new(Verification::FirstTouch, 100);
    assert!(checked.lacks(PageNumber(63)));
    checked.note(Run::new(60, 10));
    let grown = checked.covering(10_000);
    for number in 0..200 {
        let is_noted = (60..70).contains(&number);
        assert_eq!(grown.lacks(PageNumber(number)), !is_noted, "{number}");
    }
    grown.note(Run::new(9_000, 1_000));
    grown.forget(Run::new(9_500, 1));
    assert!(!grown.lacks(PageNumber(9_999)));
    assert!(grown.lacks(PageNumber(9_500)));
    assert!(
        checked.lacks(PageNumber(0)),
        "the old bits are as they were"
    );
}

#[test]
fn nothing_is_noted_where_everything_is_compared_or_nothing() {
    let always = Checked::new(Verification::Always, 100);
    always.note(Run::new(5, 1));
    assert!(always.lacks(PageNumber(5)));
    let off = Checked::new(Verification::Off, 100).covering(1_000);
    assert!(!off.lacks(PageNumber(5)));
}

#[test]
fn pages_behind_the_last_one_are_not_asked_for() {
    let checked = Checked::new(Verification::FirstTouch, 10);
    checked.note(Run::new(0, 100_000));
    assert!(!checked.lacks(PageNumber(u32::MAX)));
}
