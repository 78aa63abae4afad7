use super::*;

fn range(low: Option<&[u8]>, high: Option<&[u8]>) -> KeyRange {
    KeyRange {
        low: low.map(<[u8]>::to_vec),
        high: high.map(<[u8]>::to_vec),
    }
}

#[test]
fn ranges_are_described_in_words() {
    let cases = [
        (range(None, None), r"all keys"),
        (range(Some(b"a"), None), r#"keys from "a" on"#),
        (range(None, Some(b"b\xff")), r#"keys before "b\xff""#),
        (
            range(Some(b"a"), Some(b"b")),
            r#"keys from "a" to before "b""#,
        ),
        (KeyRange::single(b""), r#"key """#),
    ];
    for (range, words) in cases {
        assert_eq!(range.to_string(), words);
    }
}

#[test]
fn long_keys_are_shortened() {
    let words = KeyRange::single(&[b'k'; 1000]).to_string();
    assert_eq!(words, format!("key \"{}\"... (1000 bytes)", "k".repeat(40)));
}
