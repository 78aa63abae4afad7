//! Generates the header of the C interface from the sources of `crates/teak-c`.

use crate::{Result, built};
use cbindgen::{Config, DocumentationLength, DocumentationStyle, ItemType, Language, Style};
use clap::Parser;
use std::{fs, path::Path};

/// Regenerates crates/teak-c/include/teak.h
#[derive(Parser)]
pub(crate) struct HeaderArguments {
    /// Only check whether the file is up to date
    #[arg(long)]
    check: bool,
}

const INTRODUCTION: &str = r#"/* Teak, an embedded ordered transactional key-value store: the C interface.
 *
 * Generated from the sources of crates/teak-c. To change it, change those and run
 * `cargo xtask header`.
 *
 * Rules for all functions:
 *
 * - A function returns a teak_code: TEAK_OK for success or yes, TEAK_NONE for no, and an error
 *   otherwise. `error` may be NULL. Otherwise it points to a teak_error that begins with its own
 *   size and is filled in after an error.
 * - Handles are checked. A closed or invalid handle gives TEAK_INVALID_HANDLE. A handle in use by
 *   another call that excludes this one gives TEAK_BUSY. "Threads: any" means that any threads may
 *   make such calls with the same handles at the same time.
 * - Other pointers are trusted: each must point to a value of its type, or to the documented number
 *   of bytes. NULL is refused for a required argument.
 * - Paths end with a zero. They are any other bytes on Unix, and UTF-8 on Windows.
 * - A function does not keep its arguments after it returns, unless documented otherwise.
 * - Output parameters (`db`, `txn`, `value`) are written if the function returns TEAK_OK. After any
 *   other code, output handles are zero.
 * - In the examples, `db` is an open database, `error` a teak_error with its size set, `path` a path
 *   without a file, and check() ends the program unless its argument is TEAK_OK.
 *
 * docs/c-interface.md describes how this file is generated, and how structures grow.
 */

#ifndef TEAK_H
#define TEAK_H"#;

const HELPERS: &str = r#"/* The bytes of a zero-terminated text, without the zero. The text is not copied. */
static inline teak_slice teak_text(const char *text) {
  teak_slice slice;
  slice.data = text;
  slice.len = strlen(text);
  return slice;
}

/* The bytes at an address. */
static inline teak_slice teak_bytes(const void *data, size_t len) {
  teak_slice slice;
  slice.data = data;
  slice.len = len;
  return slice;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TEAK_H */
"#;

pub(crate) fn run(arguments: &HeaderArguments) -> Result {
    let directory = built::workspace().join("crates/teak-c");
    let path = directory.join("include/teak.h");
    let header = header(&directory)?;
    let before = fs::read_to_string(&path).unwrap_or_default();
    if before == header {
        return Ok(());
    }
    if arguments.check {
        bail!(
            "{} is out of date; run `cargo xtask header` and commit it",
            path.display()
        );
    }
    fs::write(&path, header)?;
    println!("written: {}", path.display());
    Ok(())
}

fn header(directory: &Path) -> Result<String> {
    let mut config = Config {
        language: Language::C,
        header: Some(INTRODUCTION.to_owned()),
        no_includes: true,
        sys_includes: ["stddef.h", "stdint.h", "string.h"]
            .map(str::to_owned)
            .to_vec(),
        after_includes: Some("\n#ifdef __cplusplus\nextern \"C\" {\n#endif".to_owned()),
        trailer: Some(HELPERS.to_owned()),
        style: Style::Type,
        documentation_style: DocumentationStyle::Doxy,
        documentation_length: DocumentationLength::Full,
        usize_is_size_t: true,
        line_length: 120,
        ..Config::default()
    };
    config.export.item_types = vec![
        ItemType::Constants,
        ItemType::Enums,
        ItemType::Structs,
        ItemType::Typedefs,
        ItemType::Functions,
    ];
    // Constants that no function names are written as numbers.
    config.export.include = [
        "teak_cipher",
        "teak_compression",
        "teak_create",
        "teak_access",
        "teak_sharing",
        "teak_network",
        "teak_faults",
        "teak_durability",
        "teak_verification",
        "teak_read_ahead",
        "teak_order",
        "teak_bound_kind",
        "teak_move",
        "teak_seek",
        "teak_delete_scope",
        "teak_direction",
        "teak_change",
        "teak_event_kind",
        "teak_slow_reader_choice",
        "teak_giving",
        "teak_reader_choice",
        "teak_compact_obstacle",
        "teak_expiry_kind",
    ]
    .map(str::to_owned)
    .to_vec();
    let bindings = cbindgen::Builder::new()
        .with_crate(directory)
        .with_config(config)
        .generate()?;
    let mut header = Vec::new();
    bindings.write(&mut header);
    Ok(String::from_utf8(header)?)
}
