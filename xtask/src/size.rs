//! Counts the sources of each crate: lines, long functions and files, assertions, type names.

mod limits;
mod measure;
#[cfg(test)]
mod tests;

use crate::{Result, built, ratchet::Ratchet, sources};
use clap::Args;
use limits::{LIMITS, LINES_PER_ASSERTION};
use measure::{ASSERTIONS, FILE_LINES, FILE_LINES_MAX, FUNCTION_LINES, Measures};
use std::path::PathBuf;

/// The crate whose folders are listed with the density of their assertions.
const ENGINE: &str = "teak";

/// Counts lines, long functions and files, assertions and repeated type names in product code
#[derive(Args, Default)]
pub(crate) struct SizeArguments {
    /// Print each long function, each long file and each type name that is defined twice
    #[arg(long)]
    list: bool,
    /// The workspace to check [default: the one that this program was built from]
    #[arg(long)]
    root: Option<PathBuf>,
}

/// Prints the figures. Fails if there are more offenders than the limits allow.
pub(crate) fn run(arguments: &SizeArguments) -> Result {
    let root = arguments.root.as_deref();
    let packages = sources::packages(root.unwrap_or(built::workspace()))?;
    let mut ratchet = Ratchet::default();
    let mut total = Measures::default();
    println!(
        "{:<16} {:>8} {:>8} {:>6} {:>6} {:>6} {:>6} {:>10}",
        "crate",
        "code",
        "comment",
        format!("fn>{FUNCTION_LINES}"),
        format!("f>{FILE_LINES}"),
        format!("f>{FILE_LINES_MAX}"),
        "names",
        "assertions"
    );
    for package in &packages {
        let measures = Measures::of(package)?;
        print_row(&package.name, &measures);
        compare(&package.name, &measures, &mut ratchet);
        if arguments.list {
            measures.offenders().for_each(|line| println!("    {line}"));
        }
        total.add(&measures);
        if package.name == ENGINE {
            print_folders(&measures);
            compare_assertions(&measures, LINES_PER_ASSERTION, &mut ratchet);
        }
    }
    print_row("total", &total);
    ratchet.finish("size")
}

fn print_row(name: &str, measures: &Measures) {
    println!(
        "{name:<16} {:>8} {:>8} {:>6} {:>6} {:>6} {:>6} {:>10}",
        measures.code_lines,
        measures.comment_lines,
        measures.long_functions.len(),
        measures.long_files.len(),
        measures.longest_files.len(),
        measures.repeated_names.len(),
        density(measures.code_lines, measures.assertions)
    );
}

/// Prints the density of assertions in each folder.
fn print_folders(measures: &Measures) {
    println!("    assertions ({}):", ASSERTIONS.join(", "));
    for (folder, counts) in &measures.folders {
        println!(
            "    {folder:<12} {:>8} {:>45}",
            counts.code_lines,
            density(counts.code_lines, counts.assertions)
        );
    }
}

/// Lines of code for each assertion, as text.
fn density(code_lines: usize, assertions: usize) -> String {
    code_lines
        .checked_div(assertions)
        .map_or("none".to_owned(), |lines| format!("1 in {lines}"))
}

/// Complains about folders with fewer assertions than before.
fn compare_assertions(measures: &Measures, limits: &[(&str, usize)], ratchet: &mut Ratchet) {
    for (folder, limit) in limits {
        let Some(counts) = measures.folders.get(*folder) else {
            ratchet
                .complaints
                .push(format!("{ENGINE}: there is no folder {folder}"));
            continue;
        };
        let lines = counts.code_lines.checked_div(counts.assertions);
        ratchet.compare(
            &format!("{ENGINE}: lines of code for each assertion in {folder}"),
            lines.unwrap_or(usize::MAX),
            *limit,
        );
    }
}

fn compare(name: &str, measures: &Measures, ratchet: &mut Ratchet) {
    let limit = LIMITS.iter().find(|limits| limits.crate_name == name);
    let limit = limit.copied().unwrap_or_default();
    let counts = [
        (
            "long functions",
            measures.long_functions.len(),
            limit.functions,
        ),
        ("long files", measures.long_files.len(), limit.files),
        (
            "repeated type names",
            measures.repeated_names.len(),
            limit.names,
        ),
    ];
    for (offenders, count, limit) in counts {
        ratchet.compare(
            &format!("{name}: {offenders} (`size --list`)"),
            count,
            limit,
        );
    }
}
