//! Any bytes as a file of LMDB or libmdbx: recognising it and reading all of its records may fail, and must do nothing worse.

#![no_main]

use libfuzzer_sys::fuzz_target;
use teak_foreign::{Environment, Result};

/// The number of a boot, as it may stand in a file of libmdbx.
const BOOT: u128 = 1;

fn read(bytes: &[u8]) -> Result<()> {
    let environment = Environment::open(bytes.to_vec(), Some(BOOT))?;
    let mut pass = environment.pass();
    for table in environment.tables()? {
        let mut records = pass.records(&table)?;
        while records.next_record()?.is_some() {}
    }
    environment.refuse_changed()
}

fuzz_target!(|bytes: &[u8]| {
    let _ = read(bytes);
});
