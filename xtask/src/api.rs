//! Counts the public surface of the engine: the names that a program can import, and the functions
//! that it can call. Compares the interface of the published libraries with its text in
//! `docs/public-api`.

mod surface;
#[cfg(test)]
mod tests;
mod text;

use crate::{Result, built, ratchet::Ratchet, sources};
use clap::Args;
use std::path::PathBuf;
use surface::Surface;

/// The crate whose surface is counted.
const ENGINE: &str = "teak";

/// Today's number of names and of functions. They go up only with a new capability.
const NAMES_MAX: usize = 155;
const FUNCTIONS_MAX: usize = 373;

/// Counts the exported names and the public functions of the engine, and compares the interfaces of
/// the libraries with docs/public-api
#[derive(Args, Default)]
pub(crate) struct ApiArguments {
    /// Print the functions of each type
    #[arg(long)]
    list: bool,
    /// Write the interfaces to docs/public-api
    #[arg(long = "update")]
    is_updated: bool,
    /// The workspace to check [default: the one that this program was built from]
    #[arg(long)]
    root: Option<PathBuf>,
}

/// Prints the figures. Fails if there is more than the limits allow.
pub(crate) fn run(arguments: &ApiArguments) -> Result {
    let root = arguments.root.as_deref().unwrap_or(built::workspace());
    let packages = sources::packages(root)?;
    let engine = packages.iter().find(|package| package.name == ENGINE);
    let engine = engine.ok_or_else(|| failure!("there is no crate {ENGINE}"))?;
    let surface = Surface::of(&engine.sources)?;
    let functions = surface.functions.values().map(Vec::len).sum();
    if arguments.list {
        for (owner, functions) in &surface.functions {
            println!("{owner} {}: {}", functions.len(), functions.join(", "));
        }
        let others = surface.names.iter();
        let others = others.filter(|name| !surface.functions.contains_key(*name));
        let others: Vec<&str> = others.map(String::as_str).collect();
        println!("without functions {}: {}", others.len(), others.join(", "));
    }
    println!(
        "{ENGINE}: {} names, {functions} functions",
        surface.names.len()
    );
    let mut ratchet = Ratchet::default();
    ratchet.compare(
        &format!("{ENGINE}: exported names"),
        surface.names.len(),
        NAMES_MAX,
    );
    ratchet.compare(
        &format!("{ENGINE}: public functions (`api --list`)"),
        functions,
        FUNCTIONS_MAX,
    );
    let complaints = text::compare(root, arguments.is_updated)?;
    ratchet.complaints.extend(complaints);
    ratchet.finish("api")
}
