//! Makes the packages that are published, and builds and tests them outside of the repository.
//!
//! `cargo package` makes a file for each published crate. They are unpacked into an empty workspace
//! in a temporary directory, in which they replace the crates of the registry. So a file that lies
//! outside of its package, or a test that needs the repository, does not pass.

use crate::{Context, Result, built, commands};
use clap::Args;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Makes the published packages, and builds and tests them in an empty workspace
#[derive(Args)]
pub(crate) struct PackageArguments {
    /// Run all tests of all packages, not only a few of the engine's
    #[arg(long = "all")]
    is_all: bool,
    /// Unpack into this directory and keep it [default: a temporary one]
    #[arg(long)]
    directory: Option<PathBuf>,
}

/// A crate that is published.
struct Published {
    name: String,
    version: String,
}

/// The files that every package has.
const FILES: &[&str] = &["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// The fields that every manifest has.
const FIELDS: &[&str] = &[
    "description",
    "license",
    "readme",
    "rust_version",
    "keywords",
    "categories",
];

/// The tests of the engine that are run unless all are. They read files of the package.
const TESTS: &[&str] = &["stored_file::", "parity::rows::", "transactions::"];

/// Optimised code takes longer to compile than a few tests take to run without.
const PROFILE: &str = "[profile.dev]\ndebug = false\nincremental = false\n";

pub(crate) fn run(arguments: &PackageArguments) -> Result {
    let packages = published()?;
    make(&packages)?;
    let temporary = tempfile::tempdir()?;
    let directory = arguments.directory.as_deref().unwrap_or(temporary.path());
    ensure!(
        !directory.starts_with(built::workspace()),
        "{} is in the repository; choose a directory outside of it",
        directory.display()
    );
    unpack(&packages, directory)?;
    // The registry's crates are built once for all runs.
    let target = built::target_directory()?.join("packages");
    let cargo = |words: &str| {
        let mut cargo = built::cargo();
        cargo
            .current_dir(directory)
            .args(words.split(' '))
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TERM_QUIET", "true");
        if arguments.is_all {
            cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        }
        commands::run(&mut cargo)
    };
    // Tests of an earlier run look for their files in the directory that it had.
    for package in &packages {
        cargo(&format!("clean --package {}", package.name))?;
    }
    if arguments.is_all {
        for package in &packages {
            cargo(&match package.name.as_str() {
                "teak" => "test --no-fail-fast --package teak --all-features".to_owned(),
                // Its tests are the engine's.
                "teak-derive" => "check --package teak-derive".to_owned(),
                name => format!("test --no-fail-fast --package {name}"),
            })?;
        }
    } else {
        cargo("check --workspace --all-targets")?;
        let tests = TESTS.join(" ");
        cargo(&format!(
            "test --package teak --features compression,encryption,testing --test main -- {tests}"
        ))?;
    }
    println!("package: {} packages are complete", packages.len());
    Ok(())
}

/// The crates of the workspace that are published. Their manifests have all fields.
fn published() -> Result<Vec<Published>> {
    let mut metadata = built::cargo();
    metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&commands::output(&mut metadata)?)?;
    let packages = metadata["packages"].as_array();
    let mut published = Vec::new();
    for package in packages.context("cargo lists no packages")? {
        // An empty list of registries is `publish = false`.
        if package["publish"].is_array() {
            continue;
        }
        let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
        for field in FIELDS {
            let value = &package[*field];
            let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            ensure!(!is_empty, "{}: Cargo.toml has no {field}", text("name"));
        }
        published.push(Published {
            name: text("name"),
            version: text("version"),
        });
    }
    Ok(published)
}

/// Makes the packages. Cargo does not build them here, because it would do so in the repository.
fn make(packages: &[Published]) -> Result {
    let mut cargo = built::cargo();
    cargo.args(["package", "--no-verify", "--allow-dirty", "--quiet"]);
    for package in packages {
        cargo.args(["--package", &package.name]);
    }
    commands::run(&mut cargo)
}

/// Unpacks the packages into a workspace of their own, and looks for the files that each must have.
fn unpack(packages: &[Published], directory: &Path) -> Result {
    let made = built::target_directory()?.join("package");
    let mut members = Vec::new();
    let mut patches = String::new();
    for package in packages {
        let folder = format!("{}-{}", package.name, package.version);
        let file = made.join(format!("{folder}.crate"));
        let mut tar = Command::new("tar");
        commands::output(tar.arg("-xzf").arg(&file).arg("-C").arg(directory))?;
        for name in FILES {
            ensure!(
                directory.join(&folder).join(name).is_file(),
                "{} has no {name}",
                file.display()
            );
        }
        println!("{folder}: {} KB", fs::metadata(&file)?.len().div_ceil(1000));
        patches.push_str(&format!("{} = {{ path = {folder:?} }}\n", package.name));
        members.push(folder);
    }
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[patch.crates-io]\n{patches}\n{PROFILE}"
    );
    fs::write(directory.join("Cargo.toml"), manifest)?;
    fs::copy(
        built::workspace().join("Cargo.lock"),
        directory.join("Cargo.lock"),
    )?;
    Ok(())
}
