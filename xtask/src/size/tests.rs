//! The figures of a small test crate.

use super::{compare_assertions, measure::Measures};
use crate::{
    ratchet::Ratchet,
    sources::{Package, Source},
};
use std::path::PathBuf;

fn measures(files: &[(&str, String)]) -> Measures {
    let source = |(path, text): &(&str, String)| Source {
        path: PathBuf::from(path),
        text: text.clone(),
    };
    let package = Package {
        name: "small".to_owned(),
        sources: files.iter().map(source).collect(),
    };
    Measures::of(&package).unwrap()
}

#[test]
fn tests_comments_and_blank_lines_are_not_code() {
    let text = "//! Head.\n\n/// Doc.\nfn f() { // why\n    let text = \"\n// text\n\";\n}\n\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n";
    let found = measures(&[("lib.rs", text.to_owned())]);
    assert_eq!((found.code_lines, found.comment_lines), (5, 2));
}

#[test]
fn long_functions_and_files_are_found() {
    let body = "    f();\n".repeat(70);
    let text = format!("fn short() {{}}\nfn long() {{\n{body}}}\n");
    let found = measures(&[("lib.rs", format!("{text}{}", "\n".repeat(500)))]);
    assert_eq!(found.long_functions, ["fn long: 72 lines, lib.rs:2"]);
    assert_eq!(found.long_files, ["file lib.rs: 573 lines"]);
    assert!(found.longest_files.is_empty());
}

#[test]
fn repeated_type_names_are_found_outside_of_tests() {
    let found = measures(&[
        (
            "lib.rs",
            "mod a; struct Place; struct Once; #[cfg(test)] mod tests { struct Once; }".to_owned(),
        ),
        ("a.rs", "\nenum Place {}".to_owned()),
        ("unused.rs", "struct Once;".to_owned()),
    ]);
    assert_eq!(found.repeated_names, ["type Place in lib.rs:1, a.rs:2"]);
}

#[test]
fn assertions_are_counted_by_folder() {
    let found = measures(&[
        (
            "lib.rs",
            "mod a; #[cfg(test)] fn t() { assert!(true); }".to_owned(),
        ),
        (
            "a/mod.rs",
            "fn f() {\n assert!(true);\n debug_assert_eq!(1, 1);\n}".to_owned(),
        ),
    ]);
    assert_eq!(found.assertions, 2);
    assert_eq!(found.folders["a"].assertions, 2);
    assert_eq!(found.folders["a"].code_lines, 4);
}

#[test]
fn folders_with_too_few_assertions_are_complained_about() {
    let text = "fn f() {\n assert!(true);\n}";
    let found = measures(&[
        ("lib.rs", "mod a; mod b;".to_owned()),
        ("a.rs", text.to_owned()),
        ("b.rs", "fn g() {}".to_owned()),
    ]);
    let complaints = |limits: &[(&str, usize)]| {
        let mut ratchet = Ratchet::default();
        compare_assertions(&found, limits, &mut ratchet);
        (ratchet.complaints.len(), ratchet.hints.len())
    };
    assert_eq!(complaints(&[("a", 3)]), (0, 0));
    assert_eq!(complaints(&[("a", 2), ("b", 9), ("c", 9)]), (3, 0));
    assert_eq!(complaints(&[("a", 4)]), (0, 1));
}
