//! Replays the coins of a chain of blocks on both libraries, by the program `teak-bench`.

use crate::{Result, built, commands, install_leveldb};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The replays of coins.
#[derive(clap::Args)]
pub(super) struct CoinArguments {
    /// Replay a chain with this many coins at first, instead of the other works
    #[arg(long, value_name = "COUNT")]
    coins: Option<u64>,
    /// Blocks of the chain that are replayed
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    coin_blocks: u64,
    /// Memory for changed coins before they are written; several numbers are measured in turn
    #[arg(long, value_name = "MB", value_delimiter = ',', default_values_t = [16, 32])]
    coin_flush_mb: Vec<u64>,
    /// Limit memory to this part of the coins' bytes, 4 for a quarter (needs root and control
    /// groups)
    #[arg(long, value_name = "PARTS")]
    memory_parts: Option<u64>,
}

impl CoinArguments {
    /// Whether coins are replayed.
    pub(super) fn is_asked(&self) -> bool {
        self.coins.is_some()
    }

    /// Runs the program on both libraries in turns, and shows its tables.
    pub(super) fn run(
        &self,
        rounds: usize,
        profile: &str,
        leveldb: Option<&Path>,
        directory: &Path,
    ) -> Result {
        let library = built::target_directory()?.join("leveldb-bench");
        install_leveldb::library(None, profile, &library)?;
        let program = program(profile)?;
        for flush_mb in &self.coin_flush_mb {
            for (name, found) in [("LevelDB", leveldb), ("the library", Some(&*library))] {
                println!("{name}, coins written in batches of {flush_mb} MB:");
                let mut command = self.command(&program, *flush_mb, rounds);
                command.arg("--dir").arg(directory);
                if let Some(found) = found {
                    command.env("LD_LIBRARY_PATH", found);
                }
                commands::run(&mut command)?;
            }
        }
        Ok(())
    }

    fn command(&self, program: &Path, flush_mb: u64, rounds: usize) -> Command {
        let mut command = Command::new(program);
        command.args(["compare", "--only", "coins", "--engines", "leveldb"]);
        let numbers = [
            ("--coins", self.coins),
            ("--coin-blocks", Some(self.coin_blocks)),
            ("--coin-flush-mb", Some(flush_mb)),
            ("--memory-parts", self.memory_parts),
            ("--repeat", Some(rounds as u64)),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                command.arg(name).arg(number.to_string());
            }
        }
        command
    }
}

/// The program `teak-bench` on LevelDB's interface.
fn program(profile: &str) -> Result<PathBuf> {
    let mut build = built::cargo();
    build.args(["build", "--quiet", "--profile", profile]);
    build.args(["--package", "teak-bench", "--no-default-features"]);
    commands::run(build.args(["--features", "leveldb"]))?;
    Ok(built::directory(profile)?.join("teak-bench"))
}
