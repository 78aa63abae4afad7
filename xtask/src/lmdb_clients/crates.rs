//! Clients in Rust: the tests, documentation tests and examples of a published crate.

use super::{
    bench::{ClientBench, Side},
    library::sources_of,
    outcomes::{TestOutcome, TestOutcomes},
    running,
};
use crate::{
    Context, Result,
    built::{cargo, metadata},
    commands,
};
use std::{
    env,
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

/// A published crate, and how it is linked with another library than its bundled one.
#[derive(Debug)]
pub(super) struct ClientCrate {
    name: &'static str,
    version: &'static str,
    features: &'static [&'static str],
    link: LinkMethod,
}

/// How a crate finds a library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LinkMethod {
    /// By `pkg-config`.
    PackageConfiguration,
    /// Its crate of declarations links `lmdb`; cargo can override the linked library.
    Override,
    /// This crate of declarations always compiles LMDB. It is patched with another build script.
    Patch(&'static str),
}

pub(super) const HEED: ClientCrate = ClientCrate {
    name: "heed",
    version: "0.22.0",
    features: &["serde-rmp"],
    link: LinkMethod::Patch("lmdb-master-sys"),
};
pub(super) const LMDB_ZERO: ClientCrate = ClientCrate {
    name: "lmdb-zero",
    version: "0.4.4",
    features: &[],
    link: LinkMethod::Override,
};
pub(super) const LMDB_RKV: ClientCrate = ClientCrate {
    name: "lmdb-rkv",
    version: "0.14.0",
    features: &[],
    link: LinkMethod::PackageConfiguration,
};
pub(super) const RKV: ClientCrate = ClientCrate {
    name: "rkv",
    version: "0.19.0",
    features: &["lmdb"],
    link: LinkMethod::PackageConfiguration,
};

/// The build script of a patched crate of declarations.
const BUILD_SCRIPT: &str = r#"fn main() {
    println!("cargo::rerun-if-env-changed=LMDB_LIBDIR");
    let directory = std::env::var("LMDB_LIBDIR").expect("LMDB_LIBDIR says where the library is");
    println!("cargo::rustc-link-search=native={directory}");
    println!("cargo::rustc-link-lib=dylib=lmdb");
}
"#;

/// A copy of a crate to build.
struct CrateCopy<'c> {
    bench: &'c ClientBench<'c>,
    package: &'c ClientCrate,
    directory: PathBuf,
}

/// Runs all of a crate's tests.
pub(super) fn run(bench: &ClientBench<'_>, package: &ClientCrate) -> Result<TestOutcomes> {
    let side = bench.arguments.on;
    let around = bench
        .directory
        .join(format!("{}-{}", package.name, side.name().to_lowercase()));
    fs::create_dir_all(&around)?;
    let found = fetch(&around, package)?;
    let copied = CrateCopy {
        bench,
        package,
        directory: around.join("package"),
    };
    copy_new(
        &sources_of(&found, package.name)?,
        &copied.directory,
        "\n[workspace]\n",
    )?;
    if let (LinkMethod::Patch(declarations), Side::Teak) = (package.link, side) {
        let patched = around.join("declarations");
        copy_new(&sources_of(&found, declarations)?, &patched, "")?;
        fs::write(patched.join("build.rs"), BUILD_SCRIPT)?;
    }
    copied.test()
}

/// Lets cargo download a crate and its dependencies. Returns cargo's metadata of them.
fn fetch(around: &Path, package: &ClientCrate) -> Result<String> {
    let directory = around.join("fetched");
    fs::create_dir_all(directory.join("src"))?;
    fs::write(directory.join("src/lib.rs"), "")?;
    let ClientCrate { name, version, .. } = package;
    let manifest = format!(
        "[package]\nname = \"fetched\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n[dependencies]\n{name} = \"={version}\"\n"
    );
    fs::write(directory.join("Cargo.toml"), manifest)?;
    metadata(&directory)
}

/// Copies a package to a new directory, and adds to its manifest.
fn copy_new(from: &Path, to: &Path, added: &str) -> Result {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    commands::run(Command::new("cp").arg("-r").arg(from).arg(to))?;
    // The lock file would contain the versions from before the patch.
    let versions = to.join("Cargo.lock");
    if versions.exists() {
        fs::remove_file(versions)?;
    }
    let mut manifest = OpenOptions::new()
        .append(true)
        .open(to.join("Cargo.toml"))?;
    Ok(manifest.write_all(added.as_bytes())?)
}

/// The target platform of cargo.
fn host() -> Result<String> {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let printed = commands::output(Command::new(compiler).arg("-vV"))?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc names no host platform")?;
    Ok(host.to_owned())
}

/// The test program that cargo reports to run.
fn program_in(line: &str) -> Option<&str> {
    let (_, program) = line
        .trim_start()
        .strip_prefix("Running ")?
        .split_once('(')?;
    program.strip_suffix(')')
}

impl CrateCopy<'_> {
    fn test(&self) -> Result<TestOutcomes> {
        let mut outcomes = TestOutcomes::default();
        let (is_success, printed) = self.cargo("test", &["--no-fail-fast"], "tests")?;
        for line in printed.lines() {
            outcomes.add_line_of_cargo(line);
            if let Some(program) = program_in(line) {
                self.refuse_other_library(&self.directory.join(program))?;
            }
        }
        if !is_success && outcomes.count(TestOutcome::Failed) == 0 {
            bail!(
                "cargo test has failed, but no test: see {}",
                self.log("tests").display()
            );
        }
        for example in self.examples()? {
            let (is_success, _) = self.cargo("run", &["--example", &example], &example)?;
            let outcome = match is_success {
                true => TestOutcome::Passed,
                false => TestOutcome::Failed,
            };
            outcomes.add(&format!("example {example}"), outcome);
        }
        Ok(outcomes)
    }

    /// Refuses a test program that contains LMDB or loads it from elsewhere, because its results
    /// say nothing about the library. A program that opens no environment needs no library.
    fn refuse_other_library(&self, program: &Path) -> Result {
        if self.bench.arguments.on == Side::Lmdb {
            return Ok(());
        }
        let has = |text: &str| -> Result<bool> {
            let mut search = Command::new("grep");
            Ok(search.args(["-qF", text]).arg(program).status()?.success())
        };
        ensure!(
            has("liblmdb.so.0")? || !has("mdb_env_open")?,
            "{} is not linked to the library",
            program.display()
        );
        Ok(())
    }

    /// The names of its examples.
    fn examples(&self) -> Result<Vec<String>> {
        let directory = self.directory.join("examples");
        let mut names = Vec::new();
        if directory.is_dir() {
            for entry in fs::read_dir(directory)? {
                let path = entry?.path();
                if path.extension().is_none_or(|extension| extension != "rs") {
                    continue;
                }
                let name = path.file_stem().and_then(|name| name.to_str());
                names.extend(name.map(str::to_owned));
            }
        }
        names.sort();
        Ok(names)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.directory.with_file_name(format!("{name}.log"))
    }

    /// Runs cargo on the crate. Returns whether it succeeded, and its output.
    fn cargo(&self, task: &str, words: &[&str], log: &str) -> Result<(bool, String)> {
        let prefix = &self.bench.prefix;
        let mut command = cargo();
        command
            .current_dir(&self.directory)
            .arg(task)
            .args(words)
            .args(["--features", &self.package.features.join(",")])
            .env("CARGO_TARGET_DIR", self.directory.with_file_name("target"));
        if self.bench.arguments.on == Side::Teak {
            command.env("LD_LIBRARY_PATH", prefix.libraries());
            match self.package.link {
                LinkMethod::PackageConfiguration => {
                    command.env("PKG_CONFIG_PATH", prefix.descriptions());
                }
                LinkMethod::Override => {
                    let target = host()?;
                    let libraries = prefix.libraries().display().to_string();
                    let configurations = [
                        "rustc-link-lib = [\"lmdb\"]".to_owned(),
                        format!("rustc-link-search = [\"native={libraries}\"]"),
                    ];
                    for configuration in configurations {
                        let key = format!("target.{target}.lmdb.{configuration}");
                        command.arg("--config").arg(key);
                    }
                }
                LinkMethod::Patch(declarations) => {
                    command.env("LMDB_LIBDIR", prefix.libraries());
                    let patched = self.directory.with_file_name("declarations");
                    command.arg("--config").arg(format!(
                        "patch.crates-io.{declarations}.path = \"{}\"",
                        patched.display()
                    ));
                }
            }
        }
        let limit = self.bench.time_limit();
        let (ended, printed) = running::run(&mut command, &self.log(log), limit)?;
        Ok((ended.is_some_and(|status| status.success()), printed))
    }
}

#[cfg(test)]
mod tests {
    use super::program_in;

    #[test]
    fn programs_are_found_in_the_output_of_cargo() {
        let line = "     Running unittests src/lib.rs (target/debug/deps/heed-12)";
        assert_eq!(program_in(line), Some("target/debug/deps/heed-12"));
        assert_eq!(program_in("   Doc-tests heed"), None);
    }
}
