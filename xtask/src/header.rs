//! The header of the C interface, made from the sources of `crates/teak-c`.

use crate::{Failure, built};
use cbindgen::{Config, DocumentationLength, DocumentationStyle, ItemType, Language, Style};
use clap::Parser;
use std::{fs, path::Path};

/// Regenerates crates/teak-c/include/teak.h
#[derive(Parser)]
pub(crate) struct HeaderArguments {
    /// Only say whether it is what would be written
    #[arg(long)]
    check: bool,
}

const INTRODUCTION: &str = r#"/* Teak, an embedded ordered transactional key-value store: the C interface.
 *
 * This file is made from the sources of crates/teak-c: change those, and run `cargo xtask header`.
 *
 * What holds for every function:
 *
 * - It answers with a teak_code: TEAK_OK for done or yes, TEAK_NONE for no, and an error otherwise. `error` may be NULL; else what it points to
 *   begins with its size, and is filled in if there is an error.
 * - Handles are checked: one that was closed or never was is TEAK_INVALID_HANDLE, one that another call uses in a way that does not go together with
 *   this one is TEAK_BUSY. "Threads: any" says that calls with the same handles may go on at the same time in any threads.
 * - Pointers are trusted: each leads to what its type says, and to as much as is said beside it. A NULL is refused where something is needed.
 * - What is given to a function is not kept when it returns, unless it says so.
 * - A place for what a function gives (`db`, `txn`, `value`) is written if the answer is TEAK_OK; handles are zeros after any other.
 * - In the examples `db` is an open database, `error` a teak_error whose size is set, `path` a path where there is no file, and check() ends the
 *   program unless it is given TEAK_OK.
 *
 * docs/c-interface.md says how it is made, and how structures grow.
 */

#ifndef TEAK_H
#define TEAK_H"#;

const HELPERS: &str = r#"/* The bytes of a text that ends with a zero, without that. They are where the text is. */
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

pub(crate) fn run(arguments: &HeaderArguments) -> Result<(), Failure> {
    let directory = built::workspace().join("crates/teak-c");
    let path = directory.join("include/teak.h");
    let header = header(&directory)?;
    let before = fs::read_to_string(&path).unwrap_or_default();
    if before == header {
        return Ok(());
    }
    if arguments.check {
        let text = format!(
            "{} is not what its sources say; run `cargo xtask header` and commit it",
            path.display()
        );
        return Err(Failure(text));
    }
    fs::write(&path, header)?;
    println!("written: {}", path.display());
    Ok(())
}

fn header(directory: &Path) -> Result<String, Failure> {
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
    // Those that no function names: their numbers are given as numbers.
    config.export.include = [
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
