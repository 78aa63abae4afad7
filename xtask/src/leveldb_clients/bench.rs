//! The clients, both libraries, and the command line.

use crate::{
    Result, built,
    clients::{Prefix, Side, WorkArea, comparison, debian, loaded::LoadReports, running},
    commands, install, install_leveldb,
    names::Named,
};
use clap::ValueEnum;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// Runs clients of LevelDB on Debian's LevelDB and on the library with its interfaces, and compares
/// what they do
#[derive(clap::Args)]
pub(crate) struct LeveldbClientsArguments {
    /// The clients to run; may be given several times
    #[arg(long, value_enum, default_value = "own")]
    pub(super) client: Vec<LeveldbClient>,
    /// The linked library, or the part in Rust to link; built if it is not given
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The program `teak`; built if it is needed and not given
    #[arg(long, value_name = "FILE")]
    pub(super) teak: Option<PathBuf>,
    /// Long runs: litecoind is killed 50 times instead of 3 times
    #[arg(long = "full")]
    pub(super) is_full: bool,
    /// The seed of random moments
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// The Python interpreter for building and running plyvel
    #[arg(long, default_value = "python3")]
    pub(super) python: String,
    /// Time limit of a program, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    time_limit: u64,
}

/// A client, or all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum LeveldbClient {
    /// Programs of the repository in C and C++
    Own,
    /// The binding for Python
    Plyvel,
    /// The binding for Go
    Levigo,
    /// The binding for Rust
    Crate,
    /// A node of a block chain
    Litecoin,
    /// The binding for Node.js
    ClassicLevel,
    /// The user dictionaries of an input method
    Librime,
    /// Ceph's tool for key-value stores
    Ceph,
    /// Worlds of a game
    Minetest,
    All,
}

/// Debian's packages of LevelDB.
const PACKAGES: [&str; 3] = ["libleveldb1d", "libleveldb-dev", "libsnappy1v5"];

/// The parameters of running a client.
pub(super) struct LeveldbBench<'b> {
    pub(super) arguments: &'b LeveldbClientsArguments,
    pub(super) area: WorkArea,
    original: Prefix,
    teak: Prefix,
}

impl<'b> LeveldbBench<'b> {
    /// Installs both libraries. `None`, with a message, if Debian's is not to be had here.
    pub(super) fn new(arguments: &'b LeveldbClientsArguments) -> Result<Option<Self>> {
        let directory = built::target_directory()?.join("leveldb-clients");
        fs::create_dir_all(&directory)?;
        let area = WorkArea {
            directory,
            time_limit: Duration::from_secs(arguments.time_limit),
        };
        if let Some(tool) = running::missing_tool(&["c++", "cc", "strip"]) {
            println!("SKIPPED, since there is no {tool} here");
            return Ok(None);
        }
        let Some(original) = install_original(&area)? else {
            return Ok(None);
        };
        let library = install_leveldb::library(
            arguments.library.as_deref(),
            built::CAMPAIGN,
            &area.directory.join("linked"),
        )?;
        let teak = Prefix(area.directory.join("teak"));
        install_leveldb::install(&library, &teak.0, &teak.0)?;
        Ok(Some(Self {
            arguments,
            area,
            original,
            teak,
        }))
    }

    pub(super) fn prefix(&self, side: Side) -> &Prefix {
        match side {
            Side::Original => &self.original,
            Side::Teak => &self.teak,
        }
    }

    /// A directory for a client's files, which is made.
    pub(super) fn directory(&self, name: &str) -> Result<PathBuf> {
        let directory = self.area.directory.join(name);
        fs::create_dir_all(&directory)?;
        Ok(directory)
    }

    /// Runs a program on both libraries, and compares its output.
    pub(super) fn compare(
        &self,
        name: &str,
        command: impl Fn(Side, &Path) -> Result<Command>,
    ) -> Result {
        comparison::compare(&self.area, name, command)
    }

    /// Refuses programs that have run on another library than that of the side.
    pub(super) fn expect_library(&self, reports: &LoadReports, side: Side) -> Result {
        reports.expect("libleveldb.so", &self.prefix(side).libraries())
    }

    /// Reports a missing tool.
    pub(super) fn is_skipped(&self, client: LeveldbClient, tools: &[&str]) -> bool {
        let missing = running::missing_tool(tools);
        if let Some(tool) = missing {
            println!("{}: SKIPPED, since there is no {tool} here", client.name());
        }
        missing.is_some()
    }
}

/// Unpacks Debian's LevelDB to a directory of the same form as the library's.
fn install_original(area: &WorkArea) -> Result<Option<Prefix>> {
    let Some(root) = debian::unpack(area, "original", &PACKAGES)? else {
        return Ok(None);
    };
    let prefix = Prefix(area.directory.join("original/prefix"));
    fs::create_dir_all(prefix.descriptions())?;
    let include = prefix.include();
    if !include.is_symlink() {
        symlink(root.join("usr/include"), &include)?;
    }
    let triplet = commands::output(Command::new("cc").arg("-print-multiarch"))?;
    let libraries = root.join("usr/lib").join(triplet);
    for entry in fs::read_dir(&libraries)? {
        let name = entry?.file_name();
        let link = prefix.libraries().join(&name);
        if name.to_string_lossy().starts_with("lib") && !link.is_symlink() {
            symlink(libraries.join(&name), link)?;
        }
    }
    let package = built::workspace().join("crates/teak-leveldb");
    install::describe(
        &package.join("leveldb.pc.in"),
        &prefix.descriptions(),
        &prefix.0,
    )?;
    Ok(Some(prefix))
}
