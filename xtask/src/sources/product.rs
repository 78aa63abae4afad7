//! Defines product code: all code that is compiled without `cfg(test)` and without the feature
//! `testing`.
//!
//! Test files are also recognised by name: `tests.rs`, `*_tests.rs`, and all files in folders of
//! these names.

use std::path::Path;
use syn::{Attribute, Meta, Token, punctuated::Punctuated};

/// Whether a file has tests, by its name or by the name of one of its folders.
pub(crate) fn is_test_file(path: &Path) -> bool {
    let is_test_name = |name: &str| name == "tests" || name.ends_with("_tests");
    path.with_extension("")
        .iter()
        .any(|part| is_test_name(&part.to_string_lossy()))
}

/// Whether attributes keep an item out of product code: `#[test]`, or a `#[cfg(...)]` that cannot
/// hold without `test` or the feature `testing`.
pub(crate) fn is_test_item(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<Meta>()
                    .is_ok_and(|condition| product_value(&condition) == Some(false))
    })
}

/// The value of a `cfg` condition in product code; `None` if it depends on anything else.
fn product_value(condition: &Meta) -> Option<bool> {
    match condition {
        Meta::Path(path) => path.is_ident("test").then_some(false),
        Meta::NameValue(pair) => {
            let is_testing = matches!(&pair.value, syn::Expr::Lit(literal)
                if matches!(&literal.lit, syn::Lit::Str(text) if text.value() == "testing"));
            (pair.path.is_ident("feature") && is_testing).then_some(false)
        }
        Meta::List(list) => {
            let parts = list
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .ok()?;
            let values: Vec<Option<bool>> = parts.iter().map(product_value).collect();
            if list.path.is_ident("not") {
                values.first().copied().flatten().map(|value| !value)
            } else {
                combined(&values, list.path.is_ident("all"))
            }
        }
    }
}

/// The value of `all(...)` or `any(...)` over values, some of which are unknown.
fn combined(values: &[Option<bool>], is_all: bool) -> Option<bool> {
    if values.contains(&Some(!is_all)) {
        Some(!is_all)
    } else if values.contains(&None) {
        None
    } else {
        Some(is_all)
    }
}
