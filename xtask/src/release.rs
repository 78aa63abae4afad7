//! Builds the program `teak` for each platform for which this machine can link it.

use crate::{
    Result, built,
    commands::{self, output},
    install::VERSION,
    ports::targets,
};
use std::{fs, path::Path, process::Command};

/// Builds release programs for each platform into `target/dist`, with sizes and SHA-256
#[derive(clap::Args)]
pub(crate) struct ReleaseArguments {
    /// Only this target of the compiler; may be given several times
    #[arg(long = "target")]
    targets: Vec<String>,
}

/// A platform for which programs are linked here.
struct Platform {
    target: &'static str,
    /// A linker that must be installed, unless it comes with Rust.
    linker: Option<&'static str>,
}

const PLATFORMS: &[Platform] = &[
    of("x86_64-unknown-linux-gnu", Some("cc")),
    of("x86_64-unknown-linux-musl", None),
    of("aarch64-unknown-linux-gnu", Some("aarch64-linux-gnu-gcc")),
    of("aarch64-unknown-linux-musl", None),
];

/// Platforms whose programs are linked with files that only they have.
const LINKED_ELSEWHERE: &[(&str, &str)] = &[
    ("aarch64-apple-darwin", "needs Apple's SDK"),
    ("x86_64-apple-darwin", "needs Apple's SDK"),
    ("x86_64-unknown-freebsd", "needs FreeBSD's libraries"),
    ("aarch64-linux-android", "needs Android's NDK"),
    (
        "x86_64-pc-windows-gnu",
        "needs the linker of MinGW, and Teak was never run there",
    ),
];

const fn of(target: &'static str, linker: Option<&'static str>) -> Platform {
    Platform { target, linker }
}

pub(crate) fn run(arguments: &ReleaseArguments) -> Result {
    let directory = built::target_directory()?.join("dist");
    fs::create_dir_all(&directory)?;
    let wanted = &arguments.targets;
    let is_wanted = |target: &str| wanted.is_empty() || wanted.iter().any(|name| name == target);
    let known = PLATFORMS.iter().map(|platform| platform.target);
    let known: Vec<_> = known
        .chain(LINKED_ELSEWHERE.iter().map(|(target, _)| *target))
        .collect();
    for name in wanted {
        ensure!(
            known.contains(&name.as_str()),
            "{name} is none of {}",
            known.join(", ")
        );
    }
    let mut sums = String::new();
    for platform in PLATFORMS
        .iter()
        .filter(|platform| is_wanted(platform.target))
    {
        if let Some(reason) = platform.obstacle() {
            println!("{:<28} NOT BUILT: {reason}", platform.target);
            continue;
        }
        let name = platform.build(&directory)?;
        let sum = output(Command::new("sha256sum").arg(&name).current_dir(&directory))?;
        let len = fs::metadata(directory.join(&name))?.len();
        println!("{:<28} {len:>10} bytes  {sum}", platform.target);
        sums.push_str(&format!("{sum}\n"));
    }
    for (target, reason) in LINKED_ELSEWHERE {
        if is_wanted(target) {
            println!("{target:<28} NOT BUILT: linking {reason}");
        }
    }
    ensure!(!sums.is_empty(), "no program was built");
    fs::write(directory.join("SHA256SUMS"), sums)?;
    println!("release: programs are in {}", directory.display());
    Ok(())
}

impl Platform {
    /// Why the program cannot be linked here, if it cannot.
    fn obstacle(&self) -> Option<String> {
        let linker = self.linker.and_then(targets::missing_program);
        linker.or_else(|| targets::missing(self.target))
    }

    /// Builds the program, and copies it to `directory`. Returns its name there.
    fn build(&self, directory: &Path) -> Result<String> {
        let mut build = targets::cargo("build", self.target);
        build
            .args(["--release", "--package", "teak-cli", "--bin", "teak"])
            .env("CARGO_PROFILE_RELEASE_DEBUG", "none")
            .env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
        if let Some(linker) = self.linker {
            build.env(targets::variable(self.target, "LINKER"), linker);
        }
        commands::run(&mut build)?;
        let suffix = match self.target.contains("windows") {
            true => ".exe",
            false => "",
        };
        let name = format!("teak-{VERSION}-{}{suffix}", self.target);
        let built = built::target_directory()?
            .join(self.target)
            .join("release")
            .join(format!("teak{suffix}"));
        fs::copy(built, directory.join(&name))?;
        Ok(name)
    }
}
