//! LMDB 1.0 as a library that a program loads. `crates/teak-bench` measures it next to 0.9, which
//! is linked and has functions of the same names.
//!
//! Its sources are part of py-lmdb, besides those of 0.9.

use super::python;
use crate::{Result, built, clients::WorkArea};
use std::{fs, process::Command, time::Duration};

/// Makes the library of LMDB 1.0 that `teak-bench` loads
#[derive(clap::Args)]
pub(crate) struct BuildLmdb1Arguments {
    /// The C compiler
    #[arg(long, default_value = "cc")]
    compiler: String,
    /// The Python interpreter that downloads the sources
    #[arg(long, default_value = "python3")]
    python: String,
}

const TIME_LIMIT: Duration = Duration::from_secs(900);

/// Builds the library.
pub(crate) fn run(arguments: &BuildLmdb1Arguments) -> Result {
    let target = built::target_directory()?;
    let directory = target.join("lmdb-1");
    fs::create_dir_all(&directory)?;
    let area = WorkArea {
        directory: directory.clone(),
        time_limit: TIME_LIMIT,
    };
    let of_python = target.join("lmdb-clients/py-lmdb");
    let (_, sources) = python::download(&area, &arguments.python, &of_python)?;
    let library = directory.join("liblmdb1.so");
    let mut command = Command::new(&arguments.compiler);
    command
        .args(["-O2", "-w", "-shared", "-fPIC", "-pthread"])
        .args(["mdb.c", "midl.c"].map(|file| sources.join("lib1").join(file)))
        .arg("-o")
        .arg(&library);
    area.succeed(&mut command, &directory.join("compiler.log"))?;
    println!("{}", library.display());
    Ok(())
}
