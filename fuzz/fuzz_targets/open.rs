//! Any bytes as a database: opening, checking, reading everything and changing something may fail, and
//! must do nothing worse. The bytes are tried as they are, and with checksums that are right.

#![no_main]

use libfuzzer_sys::fuzz_target;
use teak::testing::{exercise, repair};

fuzz_target!(|bytes: &[u8]| {
    exercise(bytes);
    let mut repaired = bytes.to_vec();
    repair(&mut repaired);
    exercise(&repaired);
});
