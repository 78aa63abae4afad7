//! Any bytes as a page of the tree: decoding them may fail, and must do nothing worse.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| teak::testing::fuzz_page(bytes));
