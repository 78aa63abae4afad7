//! The reader for WebAssembly: a script for Node reads databases with it as a page does.

use super::{
    end::{PortEnd, require},
    targets,
};
use crate::{Context, Result, built, campaign::scratch, commands};
use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path, process::Command};
use teak::{Database, Transaction, codec::Raw};

const TARGET: &str = "wasm32-wasip1";
/// Records of the plain table: enough that little of the file is needed for one of them.
const RECORDS: u32 = 60_000;
/// The lines that the script prints.
const SHOWN: usize = 5;
/// In the value of one record, which the damage is in.
const MARK: &[u8] = b"the marked value";

pub(super) fn run() -> Result<PortEnd> {
    require!(targets::missing(TARGET));
    require!(targets::missing_program("node"));
    commands::run(targets::cargo("build", TARGET).args(["--package", "teak-web"]))?;
    let built = built::target_directory()?;
    let module = built.join(TARGET).join("debug/teak_web.wasm");
    let scratch = scratch::directory(None)?;
    make_databases(scratch.path())?;
    let script = built::workspace().join("crates/teak-web/tests/reading.mjs");
    let mut node = Command::new("node");
    let printed = commands::output(node.args([&script, &module]).arg(scratch.path()))?;
    print!("{printed}");
    let shown = printed.lines().filter(|line| line.starts_with("ok: "));
    let count = shown.count();
    ensure!(count == SHOWN, "{count} of {SHOWN} things were shown");
    Ok(PortEnd::Passed(format!("{count} things shown")))
}

/// Makes a database, its records as text, and a damaged copy.
fn make_databases(directory: &Path) -> Result {
    let path = directory.join("numbers.teak");
    let database = Database::open(&path)?;
    let mut txn = database.begin_write()?;
    let numbers = txn.create_table::<Raw, Raw>("numbers")?;
    for number in 0..RECORDS {
        let value = format!("value {number} ").repeat(1 + number as usize % 7);
        numbers.insert(&mut txn, &number.to_be_bytes()[..], value.as_bytes())?;
    }
    numbers.insert(&mut txn, &b"long"[..], &[b'x'; 100_000][..])?;
    numbers.insert(&mut txn, &b"marked"[..], MARK)?;
    let several = txn.create_multi_table::<Raw, Raw>("several")?;
    for pair in 0..5000_u32 {
        let key = (pair / 100).to_be_bytes();
        several.insert(&mut txn, &key[..], &pair.to_be_bytes()[..])?;
    }
    txn.commit()?;
    let records = records(&database)?;
    database.close()?;
    fs::write(
        directory.join("numbers.json"),
        serde_json::to_string(&records)?,
    )?;
    let mut bytes = fs::read(&path)?;
    let mark = bytes.windows(MARK.len()).position(|bytes| bytes == MARK);
    bytes[mark.context("the marked value is not in the file")?] ^= 1;
    fs::write(directory.join("damaged.teak"), bytes)?;
    Ok(())
}

/// The records of each table, in hexadecimal.
fn records(database: &Database) -> Result<BTreeMap<&'static str, Vec<[String; 2]>>> {
    let txn = database.begin_read()?;
    let numbers = txn.open_table::<Raw, Raw>("numbers")?;
    let several = txn.open_multi_table::<Raw, Raw>("several")?;
    let mut tables = BTreeMap::new();
    for (name, mut cursor) in [
        ("numbers", numbers.cursor(&txn)?),
        ("several", several.cursor(&txn)?),
    ] {
        let mut records = Vec::new();
        cursor.first()?;
        while cursor.is_on_record() {
            records.push([cursor.key(), cursor.value()?].map(hexadecimal));
            cursor.next()?;
        }
        tables.insert(name, records);
    }
    Ok(tables)
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
