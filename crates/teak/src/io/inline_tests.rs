use super::{INLINE_LEN, InlineBytes, InlineText, checked_text};

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

/// Each byte in turn is one that may be in text, or not.
#[test]
fn short_text_is_checked_like_any_text() {
    for len in 0..=INLINE_LEN + 3 {
        let mut bytes = vec![b'a'; len];
        assert_eq!(checked_text(&bytes), str::from_utf8(&bytes));
        for index in 0..len {
            for other in [0, 0x7f, 0x80, 0xc3, 0xff] {
                bytes[index] = other;
                assert_eq!(checked_text(&bytes), str::from_utf8(&bytes));
                if let Some(next) = bytes.get_mut(index + 1) {
                    *next = 0xbc;
                    assert_eq!(checked_text(&bytes), str::from_utf8(&bytes));
                    bytes[index + 1] = b'a';
                }
            }
            bytes[index] = b'a';
        }
    }
}
