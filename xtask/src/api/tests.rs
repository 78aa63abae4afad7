//! The surface of a small test crate.

use super::surface::Surface;
use crate::sources::Source;
use std::path::PathBuf;

#[test]
fn exported_names_and_their_public_functions_are_counted() {
    let sources = [
        (
            "lib.rs",
            "mod a; pub use a::{Door, Way, codec, free};
             #[doc(hidden)] pub mod testing {} #[cfg(test)] pub use a::Odd;",
        ),
        (
            "a.rs",
            "pub mod codec; pub struct Door; struct Hinge; pub fn free() {} pub fn kept() {}
             pub trait Way { fn go(&self); }
             impl Door {
                 pub fn open(&self) {}
                 pub(crate) fn oil(&self) {}
                 fn creak(&self) {}
                 #[doc(hidden)] pub fn unhinge(&self) {}
                 #[cfg(test)] pub fn slam(&self) {}
             }
             impl Clone for Door { fn clone(&self) -> Self { Door } }
             impl Hinge { pub fn turn(&self) {} }",
        ),
        ("a/codec.rs", "pub struct Text; pub fn read() {}"),
    ];
    let sources = sources.map(|(path, text)| Source {
        path: PathBuf::from(path),
        text: text.to_owned(),
    });
    let surface = Surface::of(&sources).unwrap();
    let names: Vec<&str> = surface.names.iter().map(String::as_str).collect();
    assert_eq!(names, ["Door", "Text", "Way", "codec", "free", "read"]);
    let functions: Vec<String> = surface
        .functions
        .iter()
        .map(|(owner, functions)| format!("{owner}: {}", functions.join(" ")))
        .collect();
    assert_eq!(functions, ["(free): free read", "Door: open", "Way: go"]);
}
