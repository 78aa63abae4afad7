//! Builds the program `teak` for each platform for which this machine can link it, and packs it.

use crate::{
    Failure, Result, built,
    commands::{self, output},
    install::VERSION,
    ports::{targets, zig::Zig},
};
use std::{env, fs, path::Path, process::Command};

/// Builds release programs for each platform into `target/dist`: archives, sizes and SHA-256
#[derive(clap::Args)]
pub(crate) struct ReleaseArguments {
    /// Only this target of the compiler; may be given several times
    #[arg(long = "target")]
    targets: Vec<String>,
}

/// A platform for which programs are made.
struct Platform {
    target: &'static str,
    linker: Linker,
}

/// The linker of a platform, unless cargo's variable for the target names another one.
#[derive(Clone, Copy)]
enum Linker {
    /// It comes with Rust.
    Rust,
    /// Zig has the C library.
    Zig,
    /// A program, which few machines have, and where it comes from.
    Own(&'static str, &'static str),
}

const PLATFORMS: &[Platform] = &[
    of("x86_64-unknown-linux-gnu", Linker::Zig),
    of("x86_64-unknown-linux-musl", Linker::Rust),
    of("aarch64-unknown-linux-gnu", Linker::Zig),
    of("aarch64-unknown-linux-musl", Linker::Rust),
    of("x86_64-pc-windows-gnu", Linker::Zig),
    of("aarch64-apple-darwin", Linker::Zig),
    of("x86_64-apple-darwin", Linker::Zig),
    of("x86_64-unknown-freebsd", Linker::Zig),
    of(
        "aarch64-linux-android",
        Linker::Own("aarch64-linux-android30-clang", "Android's NDK"),
    ),
];

/// Files that are packed with the program, in the directory of its package.
const DOCUMENTS: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

const fn of(target: &'static str, linker: Linker) -> Platform {
    Platform { target, linker }
}

pub(crate) fn run(arguments: &ReleaseArguments) -> Result {
    let directory = built::target_directory()?.join("dist");
    fs::create_dir_all(&directory)?;
    let wanted = &arguments.targets;
    for name in wanted {
        let known: Vec<_> = PLATFORMS.iter().map(|platform| platform.target).collect();
        ensure!(
            known.contains(&name.as_str()),
            "{name} is none of {}",
            known.join(", ")
        );
    }
    let (mut table, mut failed, mut packed_count) = (Vec::new(), Vec::new(), 0);
    for platform in PLATFORMS {
        let target = platform.target;
        if !wanted.is_empty() && !wanted.iter().any(|name| name == target) {
            continue;
        }
        println!("release: {target}");
        let build = match platform.build() {
            Ok(build) => build,
            Err(Failure(reason)) => {
                table.push(format!("{target:<28} NOT RUN: {reason}"));
                continue;
            }
        };
        let (archive, program_len) = match platform.pack(build, &directory) {
            Ok(packed) => packed,
            Err(Failure(why)) => {
                table.push(format!("{target:<28} FAILED: {why}"));
                failed.push(target);
                continue;
            }
        };
        let len = fs::metadata(directory.join(&archive))?.len();
        let sum = sum_of(&directory, &archive)?;
        packed_count += 1;
        table.push(format!("{target:<28} {program_len:>10} {len:>10}  {sum}"));
    }
    println!(
        "\n{:<28} {:>10} {:>10}  SHA-256 of the archive",
        "target", "program", "archive"
    );
    table.iter().for_each(|line| println!("{line}"));
    write_sums(&directory)?;
    ensure!(failed.is_empty(), "not built: {}", failed.join(", "));
    ensure!(packed_count > 0, "no program was built");
    println!("release: archives are in {}", directory.display());
    Ok(())
}

/// Writes the sums of all archives of this version, those of earlier runs too.
fn write_sums(directory: &Path) -> Result {
    let mut archives = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with(&format!("teak-{VERSION}-")) && name.ends_with(".tar.gz") {
            archives.push(name);
        }
    }
    archives.sort();
    let mut sums = String::new();
    for archive in &archives {
        sums += &(sum_of(directory, archive)? + "\n");
    }
    fs::write(directory.join("SHA256SUMS"), sums)?;
    Ok(())
}

/// The SHA-256 of an archive and its name, as `sha256sum --check` reads them.
fn sum_of(directory: &Path, archive: &str) -> Result<String> {
    output(
        Command::new("sha256sum")
            .arg(archive)
            .current_dir(directory),
    )
}

impl Platform {
    /// The command that builds for it. The error says why that is not possible here.
    fn build(&self) -> Result<Command> {
        let target = self.target;
        if let Some(reason) = targets::missing(target) {
            bail!("{reason}");
        }
        let variable = targets::variable(target, "LINKER");
        if env::var_os(&variable).is_some() {
            return Ok(targets::cargo("build", target));
        }
        match self.linker {
            Linker::Rust => Ok(targets::cargo("build", target)),
            Linker::Zig => Ok(Zig::get()?.build(target)),
            Linker::Own(linker, origin) => {
                if let Some(reason) = targets::missing_program(linker) {
                    bail!("{reason}, which comes with {origin}");
                }
                let mut build = targets::cargo("build", target);
                build.env(variable, linker);
                Ok(build)
            }
        }
    }

    /// Builds the program, and packs it into an archive in `directory`. Returns the name of the
    /// archive, and the length of the program.
    fn pack(&self, mut build: Command, directory: &Path) -> Result<(String, u64)> {
        targets::release(&mut build).args(["--package", "teak-cli", "--bin", "teak"]);
        commands::run(&mut build)?;
        let program = match self.target.contains("windows") {
            true => "teak.exe",
            false => "teak",
        };
        let built = built::target_directory()?
            .join(self.target)
            .join("release")
            .join(program);
        let name = format!("teak-{VERSION}-{}", self.target);
        let packed = directory.join(&name);
        if packed.exists() {
            fs::remove_dir_all(&packed)?;
        }
        fs::create_dir(&packed)?;
        fs::copy(&built, packed.join(program))?;
        for document in DOCUMENTS {
            let from = built::workspace().join("crates/teak-cli").join(document);
            fs::copy(from, packed.join(document))?;
        }
        let archive = format!("{name}.tar.gz");
        // Equal files give equal archives.
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0"])
            .args(["--numeric-owner", "--mode=u=rwX,go=rX", "--gzip"])
            .args(["--create", "--file", &archive, &name])
            .env("GZIP", "-9n");
        output(tar.current_dir(directory))?;
        fs::remove_dir_all(&packed)?;
        Ok((archive, fs::metadata(built)?.len()))
    }
}
