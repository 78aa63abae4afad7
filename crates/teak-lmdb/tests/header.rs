//! The header declares the exported functions and has the library's numbers.

use lmdb::{codes, flags};
use std::{collections::BTreeSet, ffi::c_int, fs, path::Path};

fn source(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// The words of `text` between `mark` and a parenthesis.
fn names(text: &str, is_declared: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '(');
    let named = words.filter_map(|word| word.split_once('(').map(|(name, _)| name.to_owned()));
    named.filter(|name| is_declared(name)).collect()
}

#[test]
fn the_header_declares_each_exported_function() {
    let header = names(&source("include/lmdb.h"), |name| name.starts_with("mdb_"));
    let mut exported = BTreeSet::new();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in fs::read_dir(sources).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(file).unwrap();
        for function in text.split("#[unsafe(no_mangle)]").skip(1) {
            let declared = function.split_once("fn ").unwrap().1;
            exported.insert(declared.split_once('(').unwrap().0.to_owned());
        }
    }
    assert_eq!(header, exported);
    assert_eq!(exported.len(), 56);
}

/// The number of a name in the header.
fn number(header: &str, name: &str) -> c_int {
    let mark = format!("#define {name} ");
    let line = header.lines().find_map(|line| line.strip_prefix(&mark));
    let text = line.unwrap_or_else(|| panic!("{name} is missing"));
    let text = text.trim_matches(['(', ')']);
    match text.strip_prefix("0x") {
        Some(digits) => i32::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

#[test]
fn flags_and_codes_have_the_same_numbers() {
    let header = source("include/lmdb.h");
    for (name, flag) in [
        ("MDB_FIXEDMAP", flags::FIXEDMAP),
        ("MDB_NOSUBDIR", flags::NOSUBDIR),
        ("MDB_NOSYNC", flags::NOSYNC),
        ("MDB_RDONLY", flags::RDONLY),
        ("MDB_NOMETASYNC", flags::NOMETASYNC),
        ("MDB_WRITEMAP", flags::WRITEMAP),
        ("MDB_MAPASYNC", flags::MAPASYNC),
        ("MDB_NOTLS", flags::NOTLS),
        ("MDB_NOLOCK", flags::NOLOCK),
        ("MDB_NORDAHEAD", flags::NORDAHEAD),
        ("MDB_NOMEMINIT", flags::NOMEMINIT),
        ("MDB_REVERSEKEY", flags::REVERSEKEY),
        ("MDB_DUPSORT", flags::DUPSORT),
        ("MDB_INTEGERKEY", flags::INTEGERKEY),
        ("MDB_DUPFIXED", flags::DUPFIXED),
        ("MDB_INTEGERDUP", flags::INTEGERDUP),
        ("MDB_REVERSEDUP", flags::REVERSEDUP),
        ("MDB_CREATE", flags::CREATE),
        ("MDB_NOOVERWRITE", flags::NOOVERWRITE),
        ("MDB_NODUPDATA", flags::NODUPDATA),
        ("MDB_CURRENT", flags::CURRENT),
        ("MDB_RESERVE", flags::RESERVE),
        ("MDB_APPEND", flags::APPEND),
        ("MDB_APPENDDUP", flags::APPENDDUP),
        ("MDB_MULTIPLE", flags::MULTIPLE),
        ("MDB_CP_COMPACT", flags::CP_COMPACT),
    ] {
        assert_eq!(number(&header, name), flag as c_int, "{name}");
    }
    assert_eq!(number(&header, "MDB_KEYEXIST"), codes::KEYEXIST);
    assert_eq!(number(&header, "MDB_MAP_RESIZED"), codes::MAP_RESIZED);
    assert_eq!(number(&header, "MDB_BAD_DBI"), codes::BAD_DBI);
}
