use super::{INLINE_LEN, InlineBytes, InlineText};

#[test]
fn bytes_of_every_length_are_copied() {
    let bytes: Vec<u8> = (1..=INLINE_LEN as u8 + 1).collect();
    for len in 0..=INLINE_LEN {
        let copy = InlineBytes::new(&bytes[..len]).expect("it is short");
        assert_eq!(copy.as_slice(), &bytes[..len]);
    }
    assert!(InlineBytes::new(&bytes).is_none());
}

#[test]
fn text_of_every_length_is_copied() {
    for len in 0..=INLINE_LEN / 2 {
        let text = "ü".repeat(len);
        let copy = InlineText::new(&text).expect("it is short");
        assert_eq!(copy.as_str(), text);
    }
    assert!(InlineText::new(&"ü".repeat(INLINE_LEN / 2 + 1)).is_none());
}
