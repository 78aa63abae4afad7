//! The public interface of the published libraries as text: one line for each item, with its whole
//! signature. The texts are in `docs/public-api`, so a change shows which items it adds, changes
//! and removes.
//!
//! The items come from rustdoc, in its JSON format. That format is not stable: the crate
//! `public-api` reads the one of the compiler that [`scripts/setup.sh`] installs.
//!
//! [`scripts/setup.sh`]: ../../../scripts/setup.sh

use crate::{Context, Result, built, commands};
use std::{fs, path::Path};

/// The published crates with an interface for Rust.
const LIBRARIES: &[&str] = &["teak", "teak-foreign"];

/// The version of rustdoc's JSON format that the crate `public-api` reads here.
const FORMAT: &str = "57";

/// Marker traits that say nothing to callers.
const SILENT: &[&str] = &[
    "core::marker::Freeze",
    "core::marker::StructuralPartialEq",
    "core::marker::Unpin",
    "core::marker::UnsafeUnpin",
    "core::panic::unwind_safe::RefUnwindSafe",
    "core::panic::unwind_safe::UnwindSafe",
];

/// Compares the interface of each library with its text in `docs/public-api`, or writes the texts.
/// Returns complaints.
pub(super) fn compare(workspace: &Path, is_updated: bool) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for library in LIBRARIES {
        let name = format!("docs/public-api/{library}.txt");
        let path = workspace.join(&name);
        let stored = fs::read_to_string(&path).unwrap_or_default();
        let text = interface(workspace, library)?;
        println!("{library}: {} lines in {name}", text.lines().count());
        if text == stored {
            continue;
        }
        if is_updated {
            fs::create_dir_all(path.parent().unwrap_or(workspace))?;
            fs::write(&path, text)?;
            println!("written: {name}");
            continue;
        }
        print_difference(&stored, &text);
        complaints.push(format!(
            "{name} differs from the code; run `cargo xtask api --update` and commit it"
        ));
    }
    Ok(complaints)
}

/// The interface of a library, with all features.
fn interface(workspace: &Path, library: &str) -> Result<String> {
    let crate_name = library.replace('-', "_");
    let mut rustdoc = built::cargo();
    rustdoc
        .current_dir(workspace)
        .args(["rustdoc", "--quiet", "--all-features", "--lib"])
        .args(["--package", library, "--"])
        .args(["-Zunstable-options", "--output-format", "json"])
        .args(["--cap-lints", "allow"])
        // Unstable options of rustdoc, for this crate alone, with a stable compiler.
        .env("RUSTC_BOOTSTRAP", &crate_name);
    commands::run(&mut rustdoc)?;
    let json = built::target_directory()?.join(format!("doc/{crate_name}.json"));
    ensure!(
        fs::read_to_string(&json)?.ends_with(&format!("\"format_version\":{FORMAT}}}")),
        "this compiler's rustdoc does not write JSON of format {FORMAT}, which this task reads; use \
         the compiler that scripts/setup.sh names: cargo +VERSION xtask api"
    );
    let api = public_api::Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .build()
        .context(json.display())?;
    let items: Vec<String> = api.items().map(ToString::to_string).collect();
    Ok(significant(&items))
}

/// The lines without marker traits, and without the methods of the standard library's traits.
fn significant(items: &[String]) -> String {
    let mut text = String::new();
    let mut is_foreign = false;
    for item in items {
        let is_impl = item.starts_with("impl");
        if is_impl {
            is_foreign = ["core::", "alloc::", "std::"]
                .iter()
                .any(|path| implemented(item).starts_with(path));
        } else if !item.starts_with("pub fn") && !item.starts_with("pub type") {
            is_foreign = false;
        }
        let is_silent = is_impl && SILENT.contains(&implemented(item));
        if !(is_silent || is_foreign && item.starts_with("pub fn")) {
            text.push_str(item);
            text.push('\n');
        }
    }
    text
}

/// The path of the trait of an implementation, without parameters.
fn implemented(item: &str) -> &str {
    let before = item.split(" for ").next().unwrap_or_default();
    let path = before.rsplit_once("> ").or(before.rsplit_once(' '));
    let path = path
        .map_or(before, |(_, path)| path)
        .trim_start_matches('!');
    path.split('<').next().unwrap_or_default()
}

/// Prints the lines that only one of two texts has.
fn print_difference(stored: &str, text: &str) {
    let [before, after] = [stored, text].map(|text| {
        let lines: std::collections::BTreeSet<&str> = text.lines().collect();
        lines
    });
    for line in before.difference(&after) {
        println!("- {line}");
    }
    for line in after.difference(&before) {
        println!("+ {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_methods_of_foreign_traits_and_silent_markers_are_left_out() {
        let items = [
            "pub struct a::Door<T>",
            "impl<T> a::Door<T>",
            "pub fn a::Door<T>::open(&self)",
            "impl<T: core::clone::Clone> core::clone::Clone for a::Door<T>",
            "pub fn a::Door<T>::clone(&self) -> a::Door<T>",
            "impl<T> core::iter::traits::iterator::Iterator for a::Door<T>",
            "pub type a::Door<T>::Item = T",
            "pub fn a::Door<T>::next(&mut self) -> core::option::Option<T>",
            "impl<T> !core::marker::Send for a::Door<T>",
            "impl<T> core::marker::Freeze for a::Door<T>",
            "impl<T> core::convert::From<a::Way<T>> for a::Door<T>",
            "pub fn a::Door<T>::from(way: a::Way<T>) -> Self",
            "impl a::Go for a::Door<u8>",
            "pub fn a::Door<u8>::go(&self)",
        ]
        .map(str::to_owned);
        let text = significant(&items);
        let left_out: Vec<&str> = items
            .iter()
            .map(String::as_str)
            .filter(|item| !text.lines().any(|line| line == *item))
            .collect();
        assert_eq!(
            left_out,
            [items[4].as_str(), &items[7], &items[9], &items[11]]
        );
    }
}
