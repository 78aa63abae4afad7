//! The answers to questions about a database, as JSON.

use serde::Serialize;
use std::ops::ControlFlow;
use teak::{
    Cursor, Damage, Database, Error, KeyOrder, Multi, Options, ReadAt, ReadTxn, Result, SeekOp,
    Table, Transaction, codec::Raw,
};

/// The most bytes of a key or a value in an answer.
const SHOWN_BYTES_MAX: usize = 4096;
/// The most records in an answer.
const RECORDS_MAX: usize = 10_000;

/// A database, and its answers.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("ages.teak");
/// # let database = teak::Database::open(&path)?;
/// # let mut txn = database.begin_write()?;
/// # txn.create_table::<&str, &str>("ages")?.insert(&mut txn, "Ada", "36")?;
/// # txn.commit()?;
/// # database.close()?;
/// use teak_web::{Answers, RecordsFrom};
/// let answers = Answers::of_bytes(&std::fs::read(&path)?)?;
/// let records = answers.records(b"ages", RecordsFrom::Start, 10)?;
/// assert_eq!(records, r#"{"records":[{"key":"416461","value":"3336"}],"next":null}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Answers {
    database: Database,
}

/// The first record of an answer.
#[derive(Clone, Copy, Debug)]
pub enum RecordsFrom<'a> {
    /// The first one of the table.
    Start,
    /// The first one whose key is not less.
    Key(&'a [u8]),
    /// The first one that is not less than this pair of key and value, in a table whose keys have
    /// several values.
    Pair(&'a [u8], &'a [u8]),
}

#[derive(Serialize)]
struct TableAnswer {
    name: String,
    records: u64,
    depth: u8,
    pages: u64,
    has_several_values: bool,
    order: &'static str,
    /// Why the table cannot be read.
    obstacle: Option<String>,
}

#[derive(Serialize)]
struct RecordsAnswer {
    records: Vec<RecordAnswer>,
    next: Option<Next>,
}

#[derive(Serialize)]
struct RecordAnswer {
    key: String,
    value: String,
    /// The length of the value in bytes, if not all of it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    value_len: Option<usize>,
}

#[derive(Serialize)]
struct Next {
    key: String,
    value: Option<String>,
}

#[derive(Serialize)]
struct CheckAnswer {
    tables: u64,
    records: u64,
    damages: Vec<String>,
}

impl Answers {
    /// Opens a database whose file is in memory.
    ///
    /// # Errors
    ///
    /// [`Error::NotADatabase`] and [`Error::UnknownFormat`] for other bytes; [`Error::Corrupted`]
    /// for damaged ones; [`Error::InvalidArgument`] if the newest commits are only in the journal.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self> {
        let database = Options::new().open_bytes(bytes)?;
        Ok(Self { database })
    }

    /// Opens a database whose file is read by a function.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::of_bytes`], and [`Error::Io`] with the error of the function.
    pub fn of_source(source: impl ReadAt + 'static) -> Result<Self> {
        let database = Options::new().open_read_at(source)?;
        Ok(Self { database })
    }

    /// All tables: name (in hexadecimal), counts, kind, order.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if a page is damaged.
    pub fn tables(&self) -> Result<String> {
        let tables = self.database.begin_read()?.tables()?;
        let answers = tables.into_iter().map(|table| TableAnswer {
            name: hexadecimal(&table.name),
            records: table.stat.records,
            depth: table.stat.depth,
            pages: table.stat.inner_pages + table.stat.leaf_pages + table.stat.value_pages,
            has_several_values: table.options.is_multi(),
            order: order_name(table.options.order),
            obstacle: match (table.unknown, table.missing_comparisons) {
                (Some(unknown), _) => Some(format!("a newer version created it: {unknown}")),
                (None, missing) if !missing.is_empty() => {
                    Some(format!("it needs the comparison {}", missing.join(", ")))
                }
                _ => None,
            },
        });
        Ok(json(&answers.collect::<Vec<_>>()))
    }

    /// At most `limit` records of a table, in hexadecimal, and the next one.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`]; [`Error::Corrupted`] if a page is damaged;
    /// [`Error::InvalidArgument`] for a start that the table's order does not allow.
    pub fn records(&self, table: &[u8], from: RecordsFrom<'_>, limit: usize) -> Result<String> {
        let txn = self.database.begin_read()?;
        let mut answer = RecordsAnswer {
            records: Vec::new(),
            next: None,
        };
        self.for_each(&txn, table, from, |cursor, has_several_values| {
            if answer.records.len() < limit.min(RECORDS_MAX) {
                let value = cursor.value()?;
                let shown = &value[..value.len().min(SHOWN_BYTES_MAX)];
                answer.records.push(RecordAnswer {
                    key: hexadecimal(cursor.key()),
                    value: hexadecimal(shown),
                    value_len: (shown.len() < value.len()).then_some(value.len()),
                });
                return Ok(ControlFlow::Continue(()));
            }
            let value = has_several_values.then(|| cursor.value()).transpose()?;
            answer.next = Some(Next {
                key: hexadecimal(cursor.key()),
                value: value.map(hexadecimal),
            });
            Ok(ControlFlow::Break(()))
        })?;
        Ok(json(&answer))
    }

    /// Calls `visit` with a cursor on each record from `from` on, and whether keys have several
    /// values.
    fn for_each(
        &self,
        txn: &ReadTxn,
        name: &[u8],
        from: RecordsFrom<'_>,
        mut visit: impl FnMut(&Cursor<'_>, bool) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (mut cursor, has_several_values) = match txn.open_table(name) {
            Ok(table) => (Table::<Raw, Raw>::cursor(&table, txn)?, false),
            Err(Error::TableMismatch { .. }) => {
                let table: Table<Raw, Raw, Multi> = txn.open_multi_table(name)?;
                (table.cursor(txn)?, true)
            }
            Err(error) => return Err(error),
        };
        match from {
            RecordsFrom::Start => cursor.first()?,
            RecordsFrom::Key(key) => cursor.seek(SeekOp::GreaterOrEqual, key)?,
            RecordsFrom::Pair(key, value) => cursor.seek(SeekOp::GreaterOrEqual, (key, value))?,
        };
        while cursor.is_on_record() {
            if visit(&cursor, has_several_values)?.is_break() {
                break;
            }
            cursor.next()?;
        }
        Ok(())
    }

    /// The whole value of a key; its first one if it has several.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`]; [`Error::Corrupted`] if a page is damaged.
    pub fn value(&self, table: &[u8], key: &[u8]) -> Result<Option<Vec<u8>>> {
        let txn = self.database.begin_read()?;
        let mut found = None;
        self.for_each(&txn, table, RecordsFrom::Key(key), |cursor, _| {
            if cursor.key() == key {
                found = Some(cursor.value()?.to_vec());
            }
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Reads everything and compares it with its checksums.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the file cannot be read. Damage is in the answer.
    pub fn check(&self) -> Result<String> {
        let report = self.database.check(&mut |_| ControlFlow::Continue(()))?;
        Ok(json(&CheckAnswer {
            tables: report.tables,
            records: report.records,
            damages: report.damages.iter().map(damage_text).collect(),
        }))
    }
}

fn damage_text(damage: &Damage) -> String {
    let page = damage.page.map(|page| format!("page {page}: "));
    let table = damage.table.as_deref().map(String::from_utf8_lossy);
    let table = table.map(|table| format!("table {table}: "));
    page.unwrap_or_default() + &table.unwrap_or_default() + &damage.detail
}

fn order_name(order: KeyOrder) -> &'static str {
    match order {
        KeyOrder::Bytes => "bytes",
        KeyOrder::ReverseBytes => "bytes from the last one on",
        KeyOrder::Integer => "integers",
        _ => "a comparison",
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn json(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).expect("names are texts, and nothing else can fail")
}
