//! The tables of `docs/format.md`, read.

use std::{collections::BTreeMap, fs, path::Path, sync::LazyLock};

static TEXT: LazyLock<String> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/repository/docs/format.md");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
});

/// The rows of the table after a comment like `<!-- table: header -->`.
pub(super) fn table(marker: &str) -> Vec<Vec<&'static str>> {
    let marker = format!("<!-- {marker} -->");
    let (_, after) = TEXT
        .split_once(&marker)
        .unwrap_or_else(|| panic!("docs/format.md has no {marker}"));
    let rows: Vec<_> = after
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!(!rows.is_empty(), "{marker} is not followed by a table");
    rows
}

/// The text of the fenced block after a comment.
pub(super) fn block(marker: &str) -> &'static str {
    let marker = format!("<!-- {marker} -->");
    let (_, after) = TEXT
        .split_once(&marker)
        .unwrap_or_else(|| panic!("docs/format.md has no {marker}"));
    after.split("```").nth(1).expect("a fenced block").trim()
}

/// Every marker of the document, in order.
pub(super) fn markers() -> Vec<&'static str> {
    TEXT.split("<!-- ")
        .skip(1)
        .filter_map(|rest| rest.split_once(" -->"))
        .map(|(marker, _)| marker)
        .collect()
}

/// A number as the document writes it.
pub(super) fn number(text: &str) -> u64 {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("{text:?} is not a number"))
}

/// The value of sums and differences of products, as in `24 + 4 x count`.
pub(super) fn evaluate(expression: &str, variables: &BTreeMap<&str, usize>) -> usize {
    let product = |words: &[&str]| -> i64 {
        let factors = words.iter().filter(|word| **word != "x");
        factors
            .map(|word| match variables.get(word) {
                Some(&value) => value as i64,
                None => number(word) as i64,
            })
            .product()
    };
    let words: Vec<&str> = expression.split_whitespace().collect();
    let mut sum = 0;
    let mut sign = 1;
    for part in words.chunk_by(|left, right| !is_sign(left) && !is_sign(right)) {
        match part {
            ["+"] => sign = 1,
            ["-"] => sign = -1,
            factors => sum += sign * product(factors),
        }
    }
    usize::try_from(sum).unwrap_or_else(|_| panic!("{expression} is negative"))
}

fn is_sign(word: &&str) -> bool {
    matches!(*word, "+" | "-")
}

/// The bytes that a table of offsets, sizes and fields describes, given the fields' bytes. Every
/// row must begin where the one before ends, and every field must be given exactly once. Rows named
/// `zero` are zeros.
pub(super) fn assemble(marker: &str, fields: &[(&str, Vec<u8>)]) -> Vec<u8> {
    assemble_with(marker, fields, &BTreeMap::new())
}

/// Like [`assemble`], but for a table whose offsets and sizes have variables.
pub(super) fn assemble_with(
    marker: &str,
    fields: &[(&str, Vec<u8>)],
    variables: &BTreeMap<&str, usize>,
) -> Vec<u8> {
    let mut left: BTreeMap<&str, &Vec<u8>> = BTreeMap::new();
    for (name, bytes) in fields {
        assert!(left.insert(name, bytes).is_none(), "{name} is given twice");
    }
    let mut assembled = Vec::new();
    for row in table(marker) {
        let (offset, size) = (evaluate(row[0], variables), evaluate(row[1], variables));
        let field = row[2];
        assert_eq!(offset, assembled.len(), "{marker}: {field}");
        if field == "zero" {
            assembled.resize(assembled.len() + size, 0);
            continue;
        }
        let bytes = left
            .remove(field)
            .unwrap_or_else(|| panic!("{marker}: the code knows no field {field:?}"));
        assert_eq!(bytes.len(), size, "{marker}: {field}");
        assembled.extend(bytes);
    }
    let missing: Vec<_> = left.keys().collect();
    assert!(missing.is_empty(), "{marker} lacks {missing:?}");
    assembled
}

/// The parts of a layout, as `(what, start, end)`. They are adjacent and fill the page.
pub(super) fn layout(
    marker: &str,
    variables: &BTreeMap<&str, usize>,
) -> Vec<(&'static str, usize, usize)> {
    let mut parts = Vec::new();
    let mut end = 0;
    for row in table(marker) {
        let start = evaluate(row[0], variables);
        assert_eq!(start, end, "{marker}: {}", row[2]);
        end = start + evaluate(row[1], variables);
        parts.push((row[2], start, end));
    }
    assert_eq!(end, variables["P"], "{marker} does not fill the page");
    parts
}
