//! Sources split into code, strings and comments.

use super::{Kind, pieces};

fn of_kind(text: &str, kind: Kind) -> Vec<&str> {
    let pieces = pieces(text).into_iter();
    pieces
        .filter(|piece| piece.kind == kind)
        .map(|piece| piece.text)
        .collect()
}

#[test]
fn pieces_join_to_the_text() {
    let text =
        "//! Head.\nfn f<'a>(x: &'a str) { /* a /* b */ c */ g(\"// no\", 'x', '\\'') }\n// end";
    let joined: String = pieces(text).iter().map(|piece| piece.text).collect();
    assert_eq!(joined, text);
    assert_eq!(of_kind(text, Kind::Doc), ["//! Head."]);
    assert_eq!(
        of_kind(text, Kind::Comment),
        ["/* a /* b */ c */", "// end"]
    );
    assert_eq!(of_kind(text, Kind::Text), ["\"// no\"", "'x'", "'\\''"]);
}

#[test]
fn raw_and_byte_strings_are_strings() {
    let text = "f(r#\"a \" // b\"#, b\"c\\\"\", b'/', br\"d\", for_r, r#type)";
    assert_eq!(
        of_kind(text, Kind::Text),
        ["r#\"a \" // b\"#", "b\"c\\\"\"", "b'/'", "br\"d\""]
    );
    assert!(of_kind(text, Kind::Comment).is_empty());
}

#[test]
fn pieces_know_their_lines() {
    let text = "a\n\"b\nc\"\n/// d\ne";
    let lines: Vec<usize> = pieces(text).iter().map(|piece| piece.line).collect();
    assert_eq!(lines, [1, 2, 3, 4, 4]);
}
