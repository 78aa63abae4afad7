//! Clients in Rust: the tests, documentation tests and examples of a published crate.

use super::{
    Prefix, Side, WorkArea,
    outcomes::{TestOutcome, TestOutcomes},
};
use crate::{
    Context, Result,
    built::{cargo, metadata, quoted},
    commands,
};
use std::{
    env,
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

/// A library that crates link.
#[derive(Debug)]
pub(crate) struct LinkedLibrary {
    /// The name that programs are linked with, and that a crate of declarations has as `links`.
    pub(crate) name: &'static str,
    /// The beginning of its file's name.
    pub(crate) file: &'static str,
    /// A function that every program calls that uses it.
    pub(crate) function: &'static str,
}

/// A published crate, and how it is linked with another library than its bundled one.
#[derive(Debug)]
pub(crate) struct ClientCrate {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) features: &'static [&'static str],
    pub(crate) library: &'static LinkedLibrary,
    pub(crate) link: LinkMethod,
}

/// How a crate finds a library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinkMethod {
    /// By `pkg-config`.
    PackageConfiguration,
    /// Its crate of declarations links the library; cargo can override which one that is.
    Override,
    /// This crate of declarations always compiles the engine. It is patched with another build
    /// script.
    Patch(&'static str),
}

/// The build script of a patched crate of declarations.
const BUILD_SCRIPT: &str = r#"fn main() {
    println!("cargo::rerun-if-env-changed=CLIENT_LIBRARIES");
    let directory = std::env::var("CLIENT_LIBRARIES").expect("CLIENT_LIBRARIES says where the library is");
    println!("cargo::rustc-link-search=native={directory}");
    println!("cargo::rustc-link-lib=dylib=LIBRARY");
}
"#;

/// A copy of a crate to build.
struct CrateCopy<'c> {
    area: &'c WorkArea,
    prefix: Option<&'c Prefix>,
    package: &'c ClientCrate,
    directory: PathBuf,
}

/// Runs all of a crate's tests with the library in `prefix`, or with the one that it bundles.
pub(crate) fn run(
    area: &WorkArea,
    package: &ClientCrate,
    side: Side,
    prefix: Option<&Prefix>,
) -> Result<TestOutcomes> {
    let around = area
        .directory
        .join(format!("{}-{}", package.name, side.name()));
    fs::create_dir_all(&around)?;
    let found = fetch(&around, package)?;
    let copied = CrateCopy {
        area,
        prefix,
        package,
        directory: around.join("package"),
    };
    copy_new(
        &sources_of(&found, package.name)?,
        &copied.directory,
        "\n[workspace]\n",
    )?;
    if let (LinkMethod::Patch(declarations), Some(_)) = (package.link, prefix) {
        let patched = around.join("declarations");
        copy_new(&sources_of(&found, declarations)?, &patched, "")?;
        let script = BUILD_SCRIPT.replace("LIBRARY", package.library.name);
        fs::write(patched.join("build.rs"), script)?;
    }
    copied.test()
}

/// The source directory of a package that cargo knows.
pub(crate) fn sources_of(metadata: &str, package: &str) -> Result<PathBuf> {
    let beginning = format!("{package}-");
    let manifest = quoted(metadata, "\"manifest_path\":\"", |path| {
        let directory = Path::new(path).parent().and_then(Path::file_name);
        let name = directory.and_then(|name| name.to_str());
        let version = name.and_then(|name| name.strip_prefix(&beginning));
        version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
    });
    match manifest {
        Some(manifest) => Ok(Path::new(manifest).with_file_name("")),
        None => Err(failure!("cargo does not know the crate {package}")),
    }
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

    /// Refuses a test program that contains the engine or loads it from elsewhere, because its
    /// results say nothing about the library. A program that opens no database needs no library.
    fn refuse_other_library(&self, program: &Path) -> Result {
        if self.prefix.is_none() {
            return Ok(());
        }
        let LinkedLibrary { file, function, .. } = self.package.library;
        let has = |text: &str| -> Result<bool> {
            let mut search = Command::new("grep");
            Ok(search.args(["-qF", text]).arg(program).status()?.success())
        };
        ensure!(
            has(file)? || !has(function)?,
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
        let library = self.package.library.name;
        let mut command = cargo();
        command
            .current_dir(&self.directory)
            .arg(task)
            .args(words)
            .args(["--features", &self.package.features.join(",")])
            .env("CARGO_TARGET_DIR", self.directory.with_file_name("target"));
        if let Some(prefix) = self.prefix {
            command.env("LD_LIBRARY_PATH", prefix.libraries());
            match self.package.link {
                LinkMethod::PackageConfiguration => {
                    command.env("PKG_CONFIG_PATH", prefix.descriptions());
                }
                LinkMethod::Override => {
                    let target = host()?;
                    let libraries = prefix.libraries().display().to_string();
                    let configurations = [
                        format!("rustc-link-lib = [\"{library}\"]"),
                        format!("rustc-link-search = [\"native={libraries}\"]"),
                    ];
                    for configuration in configurations {
                        let key = format!("target.{target}.{library}.{configuration}");
                        command.arg("--config").arg(key);
                    }
                }
                LinkMethod::Patch(declarations) => {
                    command.env("CLIENT_LIBRARIES", prefix.libraries());
                    let patched = self.directory.with_file_name("declarations");
                    command.arg("--config").arg(format!(
                        "patch.crates-io.{declarations}.path = \"{}\"",
                        patched.display()
                    ));
                }
            }
        }
        let (ended, printed) = self.area.run(&mut command, &self.log(log))?;
        Ok((ended.is_some_and(|status| status.success()), printed))
    }
}

#[cfg(test)]
mod tests {
    use super::{program_in, sources_of};
    use crate::built::quoted;

    #[test]
    fn programs_are_found_in_the_output_of_cargo() {
        let line = "     Running unittests src/lib.rs (target/debug/deps/heed-12)";
        assert_eq!(program_in(line), Some("target/debug/deps/heed-12"));
        assert_eq!(program_in("   Doc-tests heed"), None);
    }

    #[test]
    fn paths_are_found_in_the_metadata_of_cargo() {
        let metadata = r#"{"manifest_path":"/a/x","manifest_path":"/b/y","target":"/t"}"#;
        let found = quoted(metadata, "\"manifest_path\":\"", |path| path.contains('y'));
        assert_eq!(found, Some("/b/y"));
        assert_eq!(quoted(metadata, "\"other\":\"", |_| true), None);
    }

    #[test]
    fn a_package_name_does_not_match_a_longer_one() {
        let metadata = r#"{"manifest_path":"/r/heed-traits-0.2.0/Cargo.toml","manifest_path":"/r/heed-0.22.0/Cargo.toml"}"#;
        let found = sources_of(metadata, "heed").unwrap();
        assert_eq!(found.file_name().unwrap(), "heed-0.22.0");
        assert!(sources_of(metadata, "hee").is_err());
    }
}
