//! The rules on small test sources, and on the engine itself.

use super::{LayersArguments, Source, check, impls, run};
use std::path::PathBuf;

fn complaints(path: &str, text: &str) -> Vec<String> {
    let source = |path: &str, text: &str| Source {
        path: PathBuf::from(path),
        text: text.to_owned(),
    };
    let root = source(
        "lib.rs",
        "mod api; mod btree; pub use api::{Database, codec::{self, Bytes}}; pub use types::Run;",
    );
    check(&[root, source(path, text)]).unwrap()
}

#[test]
fn the_engine_keeps_its_layers() {
    run(&LayersArguments::default()).unwrap();
}

#[test]
fn an_upward_import_is_found() {
    let found = complaints(
        "page/leaf.rs",
        "use crate::types::Run;\nuse crate::btree::Cursor;",
    );
    assert_eq!(found, ["page/leaf.rs:2: page imports btree (btree)"]);
}

#[test]
fn the_system_is_called_in_one_folder() {
    for text in [
        "use rustix::io::Errno;",
        "fn f() { unsafe { libc::fork() } }",
        "#[cfg(target_os = \"linux\")] fn f() {}",
        "#[cfg(all(unix, not(x)))] fn f() {}",
        "fn f() -> bool { cfg!(windows) }",
        "use std::{fs, os::unix::fs::FileExt};",
        "use std::os::{fd::AsFd, unix::fs::FileExt};",
    ] {
        assert_eq!(complaints("io/memory.rs", text).len(), 1, "{text}");
        assert_eq!(complaints("io/sys/linux.rs", text).len(), 0, "{text}");
        assert_eq!(complaints("io/memory_tests.rs", text).len(), 0, "{text}");
    }
    assert!(complaints("io/memory.rs", "fn f(os: u8) -> u8 { os }").is_empty());
    assert!(complaints("io/memory.rs", "fn f(x: &[u8]) { x.windows(2); }").is_empty());
}

#[test]
fn an_exception_is_for_one_file() {
    let text = "use crate::io::Access;";
    assert!(complaints("api/options.rs", text).is_empty());
    assert_eq!(complaints("api/table.rs", text).len(), 1);
    assert_eq!(
        complaints("api/options.rs", "use crate::alloc::Pins;").len(),
        1
    );
}

#[test]
fn an_upward_path_in_code_is_found() {
    assert_eq!(
        complaints(
            "btree/mod.rs",
            "fn f() { g(crate::write::WriteTxn::new()) }"
        )
        .len(),
        1
    );
    assert_eq!(
        complaints("btree/mod.rs", "m! { crate::write::X }").len(),
        1
    );
}

#[test]
fn braces_are_read() {
    let found = complaints(
        "alloc/map.rs",
        "use crate::{error::Error, page::{Page, Leaf}, write::{self}};",
    );
    assert_eq!(found, ["alloc/map.rs:1: alloc imports write (write)"]);
}

#[test]
fn a_name_of_the_root_counts_for_its_module() {
    assert_eq!(complaints("btree/mod.rs", "use crate::Database;").len(), 1);
    assert_eq!(
        complaints("btree/mod.rs", "use crate::{Run, Bytes};").len(),
        1
    );
    assert_eq!(complaints("api/mod.rs", "use crate::Database;").len(), 0);
}

#[test]
fn super_counts_where_it_reaches_the_root() {
    assert_eq!(
        complaints("btree/cursor.rs", "use super::super::write::X;").len(),
        1
    );
    assert_eq!(
        complaints("btree/cursor.rs", "use super::write::X;").len(),
        0
    );
    assert_eq!(complaints("btree/mod.rs", "use super::write::X;").len(), 1);
}

#[test]
fn tests_comments_and_strings_are_exempt() {
    assert!(complaints("page/leaf_tests.rs", "use crate::api::Database;").is_empty());
    assert!(complaints("page/leaf/tests.rs", "use crate::api::Database;").is_empty());
    assert!(
        complaints(
            "page/leaf.rs",
            "#[cfg(test)] mod tests { use crate::api::Database; }"
        )
        .is_empty()
    );
    assert!(complaints("page/leaf.rs", "#[cfg(test)] use crate::{api::Database};").is_empty());
    assert!(
        complaints(
            "page/leaf.rs",
            "// crate::api\nconst A: &str = \"crate::api\";"
        )
        .is_empty()
    );
    assert_eq!(
        complaints("page/leaf.rs", "#[cfg(test)] mod tests; use crate::api::X;").len(),
        1
    );
}

#[test]
fn unsafe_is_allowed_only_in_io() {
    assert_eq!(
        complaints("btree/mod.rs", "fn f() {\n unsafe { g() } }"),
        ["btree/mod.rs:2: unsafe outside of io"]
    );
    assert_eq!(
        complaints(
            "btree/mod.rs",
            "#[cfg(test)] mod tests { unsafe fn f() {} }"
        )
        .len(),
        1
    );
    assert!(complaints("io/map.rs", "unsafe fn f() {}").is_empty());
    assert_eq!(
        complaints(
            "read/reader_hold.rs",
            "fn f() {\n unsafe { g() };\n unsafe { g() } }"
        ),
        ["read/reader_hold.rs:3: unsafe outside of io"]
    );
    assert!(complaints("btree/mod.rs", "#![forbid(unsafe_code)]").is_empty());
}

#[test]
fn long_files_and_unknown_modules_are_found() {
    assert_eq!(complaints("page/mod.rs", &"\n".repeat(801)).len(), 1);
    assert_eq!(complaints("cellar.rs", "").len(), 1);
}

#[test]
fn methods_of_a_type_of_another_folder_are_found() {
    let source = |path: &str, text: &str| Source {
        path: path.into(),
        text: text.to_owned(),
    };
    let sources = [
        source("write/transaction.rs", "struct Txn; impl Txn { fn a() {} }"),
        source("write/begin.rs", "impl Txn { fn b() {} }"),
        source(
            "maintain/tail.rs",
            "impl Txn { fn c() {} } impl Drop for Txn {}",
        ),
    ];
    let complaints = impls::check(sources.iter()).unwrap();
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(complaints[0].starts_with("maintain/tail.rs: methods of Txn"));
}
