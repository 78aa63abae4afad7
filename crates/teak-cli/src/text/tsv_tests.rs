//! Tab-separated text: written records read back, and malformed text is refused with the position
//! of the error.

use super::*;
use proptest::prelude::*;

type Records = Vec<(Vec<u8>, Vec<u8>)>;

fn read_all(input: &[u8]) -> Result<Records, Malformed> {
    let mut reader = TsvReader::new(input, "input");
    let mut records = Vec::new();
    loop {
        match reader.next() {
            Ok(Event::Table(header)) => assert_eq!(header, Header::default()),
            Ok(Event::Record { key, value, .. }) => records.push((key.to_vec(), value.to_vec())),
            Ok(Event::End) => return Ok(records),
            Err(ReadError::Malformed(malformed)) => return Err(malformed),
            Err(ReadError::Io(error)) => panic!("reading from memory failed: {error}"),
        }
    }
}

fn field(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    write_tsv_field(bytes, &mut text).expect("writes into memory");
    text
}

proptest! {
    #[test]
    fn written_records_read_back(
        records in proptest::collection::vec((any::<Vec<u8>>(), any::<String>()), 0..8),
    ) {
        let mut text = Vec::new();
        for (key, value) in &records {
            text.extend([field(key), b"\t".to_vec(), field(value.as_bytes()), b"\n".to_vec()].concat());
        }
        let expected = records.into_iter().map(|(key, value)| (key, value.into_bytes())).collect();
        prop_assert_eq!(read_all(&text), Ok(expected));
    }

    #[test]
    fn a_field_is_text_without_control_characters(bytes in any::<Vec<u8>>()) {
        let text = String::from_utf8(field(&bytes)).expect("a field is UTF-8");
        prop_assert!(!text.contains(char::is_control));
    }
}

#[test]
fn fields_are_written_as_documented() {
    let cases: &[(&[u8], &str)] = &[
        (b"plain", "plain"),
        ("Zürich €".as_bytes(), "Zürich €"),
        (b"a\tb\nc\rd\\e", "a\\tb\\nc\\rd\\\\e"),
        (b"\x00\x1b[31m\x7f", "\\x00\\x1b[31m\\x7f"),
        ("\u{85}".as_bytes(), "\\xc2\\x85"),
        (
            "a\u{202e}\u{2028}".as_bytes(),
            "a\\xe2\\x80\\xae\\xe2\\x80\\xa8",
        ),
        (b"ab\xff\xc3", "ab\\xff\\xc3"),
        (b"", ""),
    ];
    for (bytes, text) in cases {
        assert_eq!(String::from_utf8_lossy(&field(bytes)), *text);
    }
}

/// Characters that Rust's library prints unescaped are not hidden.
#[test]
fn nothing_is_hidden_that_could_be_seen() {
    for character in '\0'..=char::MAX {
        let shown: String = format!("x{character}").escape_debug().collect();
        let is_shown = shown.chars().nth(1) == Some(character) && character != '\\';
        assert!(!is_shown || !is_hidden(character), "{character:?}");
    }
}

#[test]
fn malformed_lines_are_refused_where_they_are_wrong() {
    let cases: &[(&str, u64, u64, &str, &str)] = &[
        (
            "a\tb\nkey\n",
            2,
            4,
            "a tab after the key",
            "the end of the line",
        ),
        (
            "a\tb\n\n",
            2,
            1,
            "a tab after the key",
            "the end of the line",
        ),
        ("a\tb\tc\n", 1, 4, "one tab on each line", "\"\\tc\""),
        (
            "a\\q\tb\n",
            1,
            3,
            "t, n, r, x or another backslash",
            "\"q\\tb\"",
        ),
        (
            "a\tbb\\\n",
            1,
            6,
            "t, n, r, x or another backslash",
            "the end of the line",
        ),
        (
            "a\t\\x4\n",
            1,
            6,
            "two hexadecimal digits",
            "the end of the line",
        ),
        ("a\t\\x4g\n", 1, 6, "a hexadecimal digit", "\"g\""),
    ];
    for (input, line, column, expected, found) in cases {
        let malformed = read_all(input.as_bytes()).expect_err(input);
        assert_eq!(
            (malformed.line, malformed.column),
            (*line, *column),
            "{input:?}: {malformed}"
        );
        assert!(
            malformed.expected.contains(expected),
            "{input:?}: {malformed}"
        );
        assert_eq!(malformed.found, *found, "{input:?}: {malformed}");
    }
}
