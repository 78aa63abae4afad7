//! The dump format: written dumps read back, and malformed ones are refused with the position of
//! the error.

use super::*;
use proptest::prelude::*;
use teak::TableTypes;

/// An event without borrows.
#[derive(Debug, PartialEq, Eq)]
enum Owned {
    Table(Header),
    Record(Vec<u8>, Vec<u8>),
}

fn read_all(input: &[u8]) -> Result<Vec<Owned>, Malformed> {
    let mut reader = DumpReader::new(input, "input");
    let mut events = Vec::new();
    loop {
        match reader.next() {
            Ok(Event::Table(header)) => events.push(Owned::Table(header)),
            Ok(Event::Record { key, value, .. }) => {
                events.push(Owned::Record(key.to_vec(), value.to_vec()))
            }
            Ok(Event::End) => return Ok(events),
            Err(ReadError::Malformed(malformed)) => return Err(malformed),
            Err(ReadError::Io(error)) => panic!("reading from memory failed: {error}"),
        }
    }
}

fn named(name: &str) -> Header {
    Header {
        name: Some(name.as_bytes().to_vec()),
        ..Header::default()
    }
}

type Records = Vec<(Vec<u8>, Vec<u8>)>;

fn write_all(tables: &[(Option<Vec<u8>>, TableKind, Records)], encoding: Encoding) -> Vec<u8> {
    let mut text = Vec::new();
    let mut writer = DumpWriter::new(&mut text, encoding);
    for (name, kind, records) in tables {
        writer
            .begin_table(name.as_deref(), (*kind, &types()), 1 << 30)
            .expect("writes into memory");
        for (key, value) in records {
            writer.record(key, value).expect("writes into memory");
        }
        writer.end_table().expect("writes into memory");
    }
    text
}

/// The names of types of all dumped tables; those of the first table hold a line feed.
fn types() -> TableTypes {
    TableTypes::new("(u64,str)", "two\nlines")
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..40)
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![
        Just(Order::Bytes),
        Just(Order::ReverseBytes),
        Just(Order::Integer)
    ]
}

fn kind() -> impl Strategy<Value = TableKind> {
    let values = (order(), any::<bool>()).prop_map(|(order, is_fixed)| ValueKind {
        order,
        // Integers have a size.
        is_fixed: is_fixed || order == Order::Integer,
    });
    let values = proptest::option::of(values);
    (order(), values).prop_map(|(order, values)| TableKind { order, values })
}

fn table() -> impl Strategy<Value = (Option<Vec<u8>>, TableKind, Records)> {
    let name = proptest::option::of("[ -~]{0,12}".prop_map(String::into_bytes));
    (
        name,
        kind(),
        proptest::collection::vec((bytes(), bytes()), 0..8),
    )
}

proptest! {
    #[test]
    fn written_records_read_back(
        tables in proptest::collection::vec(table(), 1..4),
        encoding in prop_oneof![Just(Encoding::Hex), Just(Encoding::Print)],
    ) {
        let mut expected = Vec::new();
        for (name, kind, records) in &tables {
            expected.push(Owned::Table(Header { name: name.clone(), kind: *kind, types: types(), warnings: Vec::new() }));
            expected.extend(records.iter().map(|(key, value)| Owned::Record(key.clone(), value.clone())));
        }
        prop_assert_eq!(read_all(&write_all(&tables, encoding)), Ok(expected));
    }

    #[test]
    fn any_bytes_are_read_or_refused(input in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_all(&input);
        let _ = read_all(&[b"VERSION=3\nformat=print\nHEADER=END\n", &input[..]].concat());
        let _ = read_all(&[b"VERSION=3\nformat=bytevalue\nHEADER=END\n ", &input[..]].concat());
    }
}

#[test]
fn dumps_of_other_programs_are_read() {
    let lmdb =
        b"VERSION=3\nformat=bytevalue\ndatabase=foo\ntype=btree\nmapsize=1048576\nmaxreaders=126\n\
                 db_pagesize=4096\nHEADER=END\n 6162\n 00FF\n 63\n \nDATA=END\n";
    let records = [
        Owned::Record(b"ab".to_vec(), vec![0, 255]),
        Owned::Record(b"c".to_vec(), Vec::new()),
    ];
    let [first, second] = records;
    assert_eq!(
        read_all(lmdb),
        Ok(vec![Owned::Table(named("foo")), first, second])
    );

    let print = b"VERSION=3\r\nformat=print\r\ntype=hash\r\nduplicates=0\r\ndb_lorder=1234\r\nkeys=1\r\nHEADER=END\r\n \
                  a\\5cb\\\\c\r\n \\0a\\c3\\A9 x\r\nDATA=END\r\n";
    let record = Owned::Record(b"a\\b\\c".to_vec(), "\né x".into());
    assert_eq!(
        read_all(print),
        Ok(vec![Owned::Table(Header::default()), record])
    );
}

#[test]
fn tables_may_follow_one_another_with_empty_lines_between() {
    let input = b"VERSION=3\nformat=print\ndatabase=one\nHEADER=END\n a\n b\nDATA=END\n\n\
                  VERSION=3\nformat=bytevalue\ndatabase=two\nintegerkey=1\nHEADER=END\nDATA=END";
    let two = Header {
        kind: TableKind {
            order: Order::Integer,
            values: None,
        },
        ..named("two")
    };
    let record = Owned::Record(b"a".to_vec(), b"b".to_vec());
    assert_eq!(
        read_all(input),
        Ok(vec![Owned::Table(named("one")), record, Owned::Table(two)])
    );
}

#[test]
fn unknown_header_keys_are_warned_about() {
    let input = b"VERSION=3\nformat=print\ncanary=1\nHEADER=END\nDATA=END\n";
    let warnings = vec!["line 3: canary=1 is unknown and has no effect".to_owned()];
    assert_eq!(
        read_all(input),
        Ok(vec![Owned::Table(Header {
            warnings,
            ..Header::default()
        })])
    );
}

#[test]
fn records_know_their_lines() {
    let input: &[u8] = b"VERSION=3\nformat=print\nHEADER=END\n a\n b\n c\n d\nDATA=END\n";
    let mut reader = DumpReader::new(input, "input");
    let mut lines = Vec::new();
    while let Ok(event) = reader.next() {
        match event {
            Event::Record { line, .. } => lines.push(line),
            Event::Table(_) => {}
            Event::End => break,
        }
    }
    assert_eq!(lines, [4, 6]);
}

#[test]
fn malformed_dumps_are_refused_where_they_are_wrong() {
    const HEX: &str = "VERSION=3\nformat=bytevalue\nHEADER=END\n";
    const PRINT: &str = "VERSION=3\nformat=print\nHEADER=END\n";
    let cases: &[(&str, &str, u64, u64, &str, &str)] = &[
        ("", "", 1, 1, "VERSION=3", "the end of the input"),
        (
            "",
            "\n\nkey\tvalue\n",
            3,
            1,
            "--format tsv",
            "\"key\\tvalue\"",
        ),
        ("", "VERSION=2\n", 1, 1, "VERSION=3", "\"VERSION=2\""),
        (
            "",
            "VERSION=3\n",
            2,
            1,
            "HEADER=END",
            "the end of the input",
        ),
        ("", "VERSION=3\nformat\n", 2, 1, "KEY=VALUE", "\"format\""),
        (
            "",
            "VERSION=3\nformat=xml\n",
            2,
            8,
            "bytevalue or print",
            "\"xml\"",
        ),
        (
            "",
            "VERSION=3\ntype=btree\nHEADER=END\n",
            3,
            1,
            "format=bytevalue",
            "\"HEADER=END\"",
        ),
        (
            "",
            "VERSION=3\ntype=recno\n",
            2,
            6,
            "btree or hash",
            "\"recno\"",
        ),
        ("", "VERSION=3\nkeys=0\n", 2, 6, "with its keys", "\"0\""),
        (HEX, "", 4, 1, "DATA=END", "the end of the input"),
        (HEX, "61\n", 4, 1, "begins with a space", "\"61\""),
        (
            HEX,
            " 61\n",
            5,
            1,
            "of the key in line 4",
            "the end of the input",
        ),
        (
            HEX,
            " 61\n 62\n 63\nDATA=END\n",
            7,
            1,
            "of the key in line 6",
            "\"DATA=END\"",
        ),
        (HEX, " 6\n", 4, 3, "an even number", "the end of the line"),
        (HEX, " 61\n 6g62\n", 5, 3, "a hexadecimal digit", "\"g62\""),
        (HEX, " 61\n 62x\n", 5, 4, "a hexadecimal digit", "\"x\""),
        (HEX, " 61 62\n", 4, 4, "a hexadecimal digit", "\" 62\""),
        (HEX, "DATA=END\nmore\n", 5, 1, "the next table", "\"more\""),
        (
            PRINT,
            " ab\\4\n",
            4,
            6,
            "two hexadecimal digits",
            "the end of the line",
        ),
        (PRINT, " ab\\4z\n", 4, 6, "a hexadecimal digit", "\"z\""),
        (
            PRINT,
            " ab\\\n",
            4,
            5,
            "two hexadecimal digits",
            "the end of the line",
        ),
    ];
    for (header, rest, line, column, expected, found) in cases {
        let input = format!("{header}{rest}");
        let malformed = read_all(input.as_bytes()).expect_err(&input);
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

#[test]
fn an_endless_first_line_is_refused_early() {
    let input = vec![0xff; 1 << 20];
    let malformed = read_all(&input).expect_err("a line of 1 MiB");
    assert!(
        malformed.expected.contains("at most 65536 bytes"),
        "{malformed}"
    );
    assert!(malformed.found.len() < 200, "{malformed}");
}
