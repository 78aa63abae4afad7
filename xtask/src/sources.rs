//! The workspace's sources: files, module trees, product code, comments.

mod collect;
mod files;
mod lexer;
mod module;
mod modules;
mod product;

#[cfg(test)]
mod tests;

pub(crate) use collect::attributes;
pub(crate) use files::{Package, Source, packages};
pub(crate) use lexer::{Kind, pieces};
pub(crate) use module::Meaning;
pub(crate) use modules::Modules;
pub(crate) use product::{is_test_file, is_test_item};
