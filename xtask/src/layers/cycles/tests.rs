//! Imports and cycles of small test crates.

use super::{Cycles, components, imports};
use crate::{
    ratchet::Ratchet,
    sources::{Package, Source},
};
use std::path::PathBuf;

fn sources(files: &[(&str, &str)]) -> Vec<Source> {
    let source = |(path, text): &(&str, &str)| Source {
        path: PathBuf::from(path),
        text: (*text).to_owned(),
    };
    files.iter().map(source).collect()
}

/// The imports of a crate as `from > to`, without the `.rs`.
fn edges(files: &[(&str, &str)]) -> Vec<String> {
    let imports = imports(&sources(files)).unwrap();
    let edges = imports.keys().map(|(from, to)| {
        let (from, to) = (from.with_extension(""), to.with_extension(""));
        format!("{} > {}", from.display(), to.display())
    });
    let mut edges: Vec<String> = edges.collect();
    edges.sort();
    edges
}

#[test]
fn a_facade_is_transparent() {
    let facade = (
        "page/mod.rs",
        "mod leaf; mod inner; pub use leaf::Leaf; pub(crate) use self::inner::Inner as Branch;",
    );
    let found = edges(&[
        ("lib.rs", "mod page; mod tree; pub use page::Leaf;"),
        facade,
        ("page/leaf.rs", "pub struct Leaf;"),
        ("page/inner.rs", "pub(crate) struct Inner;"),
        (
            "tree.rs",
            "use crate::Leaf; fn f() { crate::page::Branch::new(); }",
        ),
    ]);
    assert_eq!(found, ["tree > page/inner", "tree > page/leaf"]);
}

#[test]
fn a_facade_of_a_facade_is_transparent() {
    let found = edges(&[
        ("lib.rs", "mod a; mod user; pub use a::*;"),
        ("a/mod.rs", "mod b; pub use b::*;"),
        ("a/b/mod.rs", "mod c; pub use c::Item;"),
        ("a/b/c.rs", "pub struct Item;"),
        ("user.rs", "use crate::Item;"),
    ]);
    assert!(found.contains(&"user > a/b/c".to_owned()), "{found:?}");
    assert!(!found.iter().any(|edge| edge == "user > a/mod"));
}

#[test]
fn an_imported_module_counts_by_the_items_used() {
    let found = edges(&[
        ("lib.rs", "mod page; mod tree;"),
        ("page/mod.rs", "pub mod leaf; pub use leaf::Leaf;"),
        ("page/leaf.rs", "pub struct Leaf;"),
        ("tree.rs", "use crate::page; fn f(leaf: &page::Leaf) {}"),
    ]);
    assert_eq!(found, ["tree > page/leaf"]);
}

#[test]
fn a_name_may_be_a_module_and_a_function() {
    let found = edges(&[
        (
            "lib.rs",
            "mod limits; mod user; pub use limits::{Limits, limits};",
        ),
        ("limits.rs", "pub struct Limits; pub fn limits() {}"),
        ("user.rs", "use crate::{limits, Limits};"),
    ]);
    assert_eq!(found, ["user > limits"]);
}

#[test]
fn a_glob_counts_for_the_module_it_names() {
    let found = edges(&[
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "mod leaf; pub use leaf::Leaf;"),
        ("a/leaf.rs", "pub struct Leaf;"),
        ("b.rs", "use crate::a::*; fn f(leaf: Leaf) {}"),
    ]);
    assert_eq!(found, ["b > a/mod"]);
}

#[test]
fn super_and_self_are_followed() {
    let found = edges(&[
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "mod x; mod y; pub(crate) struct Own;"),
        (
            "a/x.rs",
            "use super::{y::Y, Own}; fn f() { super::super::b::g() }",
        ),
        ("a/y.rs", "pub(super) struct Y; fn f() -> self::Y { Y }"),
        ("b.rs", "pub(crate) fn g() {}"),
    ]);
    assert_eq!(found, ["a/x > a/mod", "a/x > a/y", "a/x > b"]);
}

#[test]
fn an_import_of_a_parent_counts_for_the_defining_file() {
    let found = edges(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod x; use crate::b::B; fn f(b: B) {}"),
        ("a/x.rs", "use super::B;"),
        ("b.rs", "pub struct B;"),
    ]);
    assert_eq!(found, ["a > b", "a/x > b"]);
}

#[test]
fn a_parent_that_calls_its_child_imports_it() {
    let found = edges(&[
        ("lib.rs", "mod a; fn f() { a::g() }"),
        ("a.rs", "mod x; pub fn g() { x::h() } mod unused;"),
        ("a/x.rs", "pub fn h() {}"),
        ("a/unused.rs", ""),
    ]);
    assert_eq!(found, ["a > a/x", "lib > a"]);
}

#[test]
fn a_re_exported_name_that_is_used_is_an_import() {
    let found = edges(&[
        ("lib.rs", "mod a;"),
        ("a.rs", "mod x; pub use x::X; pub fn g(x: &X) {}"),
        ("a/x.rs", "pub struct X;"),
    ]);
    assert_eq!(found, ["a > a/x"]);
}

#[test]
fn inline_modules_belong_to_their_file() {
    let found = edges(&[
        ("lib.rs", "mod a; mod b;"),
        (
            "a.rs",
            "struct S; pub mod inner { use super::S; use crate::b::B; pub struct I; mod deep; }",
        ),
        ("a/inner/deep.rs", "use super::I;"),
        ("b.rs", "pub struct B; fn f() { crate::a::inner::I; }"),
    ]);
    assert_eq!(found, ["a > b", "a/inner/deep > a", "b > a"]);
}

#[test]
fn tests_may_import_everything() {
    let found = edges(&[
        (
            "lib.rs",
            "mod a; mod b; #[cfg(any(test, feature = \"testing\"))] pub mod testing;",
        ),
        (
            "a.rs",
            "#[cfg(test)] mod tests; #[cfg(test)] mod inline { use crate::b::B; } \
             #[cfg(test)] use crate::b::B; \
             struct S { #[cfg(test)] b: crate::b::B } \
             impl S { #[cfg(test)] fn f() { crate::b::B; } }",
        ),
        ("a/tests.rs", "use crate::b::B;"),
        ("b.rs", "pub struct B; mod more_tests;"),
        ("b/more_tests.rs", "use crate::a::S;"),
        ("testing.rs", "use crate::b::B;"),
    ]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn conditions_that_hold_in_product_code_are_not_tests() {
    let found = edges(&[
        ("lib.rs", "mod a; mod b;"),
        (
            "a.rs",
            "#[cfg(not(test))] use crate::b::B; #[cfg(all(test, unix))] use crate::b::C;",
        ),
        ("b.rs", "pub struct B; pub struct C;"),
    ]);
    assert_eq!(found, ["a > b"]);
}

#[test]
fn a_path_attribute_names_the_file() {
    let found = edges(&[
        (
            "lib.rs",
            "#[path = \"other/place.rs\"] mod a; #[path = \"../../teak/src/b.rs\"] mod b; fn f() { a::g() }",
        ),
        ("other/place.rs", "mod c; pub fn g() { c::h() }"),
        ("other/c.rs", "pub fn h() {}"),
    ]);
    assert_eq!(found, ["lib > other/place", "other/place > other/c"]);
}

#[test]
fn macros_are_read_and_define_names() {
    let found = edges(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        (
            "a.rs",
            "macro_rules! make { () => { $crate::c::f() } } make!(Made);",
        ),
        (
            "b.rs",
            "use crate::a::Made; fn f() { assert!(x > crate::c::f()); }",
        ),
        ("c.rs", "pub fn f() {}"),
    ]);
    assert_eq!(found, ["a > c", "b > a", "b > c"]);
}

#[test]
fn comments_strings_and_other_crates_are_not_imports() {
    let found = edges(&[
        ("lib.rs", "mod a; mod b;"),
        (
            "a.rs",
            "// crate::b::B\nconst S: &str = \"crate::b::B\"; use std::b; use ::b::B;",
        ),
        ("b.rs", "pub struct B;"),
    ]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_cycle_of_three_is_one_component() {
    let imports = imports(&sources(&[
        ("lib.rs", "mod a; mod b; mod c; mod d; fn f() { a::f() }"),
        ("a.rs", "use crate::b::B; pub fn f() {} pub struct A;"),
        ("b.rs", "use crate::c::C; pub struct B;"),
        ("c.rs", "use crate::a::A; use crate::d::D; pub struct C;"),
        ("d.rs", "pub struct D;"),
    ]))
    .unwrap();
    let files = ["a.rs", "b.rs", "c.rs"].map(PathBuf::from);
    assert_eq!(components(&imports), [files.to_vec()]);
}

#[test]
fn a_cycle_is_a_complaint() {
    let package = |of_b: &str| Package {
        name: "small".to_owned(),
        sources: sources(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", of_b),
        ]),
    };
    let complaints = |of_b: &str| {
        let mut ratchet = Ratchet::default();
        let cycles = Cycles::of(&package(of_b)).unwrap();
        cycles.compare(&mut ratchet);
        ratchet.complaints
    };
    assert_eq!(
        complaints("use crate::a::A; pub struct B;"),
        ["small: files in import cycles: 2, limit 0"]
    );
    assert!(complaints("pub struct B;").is_empty());
}
