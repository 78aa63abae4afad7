//! Wine in a root with Debian, and its servers.

use crate::{
    Failure, Result, built, commands,
    ports::debian::{RELEASE, archive},
};
use rustix::process::geteuid;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

const PACKAGE: &str = "wine64";
/// Programs of this machine.
const PROGRAMS: &[&str] = &["debootstrap", "unshare", "chroot"];
/// The file that is there when the root is complete.
const DONE: &str = "installed";
/// Runs a command in the root `$0`, which sees the directories `$1` and `$2` under their names. All
/// mounts end with the command. The working directory is `$3`.
const ENTER: &str = "mount --rbind /dev \"$0/dev\" && mount -t proc proc \"$0/proc\" && \
    mkdir -p \"$0$1\" \"$0$2\" && \
    mount --bind \"$1\" \"$0$1\" && mount --bind \"$2\" \"$0$2\" && at=$3 && shift 3 && \
    exec chroot \"$0\" /usr/bin/env --chdir=\"$at\" \"$@\"";
const LOADER: &str = "/usr/lib/wine/wine64";
const SERVER: &str = "/usr/lib/wine/wineserver64";

/// Makes the root, unless that is done. Why it is not possible here, if it is not.
pub(super) fn missing(directory: &Path) -> Result<Option<String>> {
    if !geteuid().is_root() {
        return Ok(Some("only root may make a root for wine".to_owned()));
    }
    for program in PROGRAMS {
        if !commands::is_there(program, "--version") {
            return Ok(Some(format!("there is no {program} here")));
        }
    }
    if directory.join(DONE).exists() {
        return Ok(None);
    }
    let root = Root::new(directory)?;
    if root.path.exists() {
        fs::remove_dir_all(&root.path)?;
    }
    fs::create_dir_all(directory)?;
    if let Err(Failure(why)) = install(&root) {
        let why = why.lines().last().unwrap_or_default().to_owned();
        return Ok(Some(format!("wine cannot be installed: {why}")));
    }
    fs::write(directory.join(DONE), "")?;
    Ok(None)
}

fn install(root: &Root) -> Result {
    println!("    installing {PACKAGE} of {RELEASE}");
    let mut make = apart();
    make.args(["debootstrap", "--variant=minbase", RELEASE]);
    commands::output(make.arg(&root.path).arg(archive()?))?;
    let mut install = root.entering(Path::new("/"));
    install.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "install"]);
    commands::output(install.args(["--yes", "--no-install-recommends", PACKAGE])).map(drop)
}

/// A command with mounts of its own.
fn apart() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]);
    command
}

/// The root, and directories that are shown in it.
struct Root {
    path: PathBuf,
    shown: [PathBuf; 2],
}

impl Root {
    fn new(directory: &Path) -> Result<Self> {
        Ok(Self {
            path: directory.join("root"),
            shown: [built::workspace().to_owned(), built::target_directory()?],
        })
    }

    /// A command in the root, without its words, which `env` gets.
    fn entering(&self, directory: &Path) -> Command {
        let mut command = apart();
        command.args(["sh", "-c", ENTER]).arg(&self.path);
        command.args(&self.shown).arg(directory);
        command
    }
}

/// A prefix of wine, with its server and the programs that run in it, which end with this value.
pub(super) struct Wine {
    root: Root,
    prefix: String,
    /// Waits for its input, so that the services of wine are not started for each program.
    holder: Option<Child>,
}

impl Wine {
    /// Starts a server of wine. The prefix is made first, if it is not there.
    pub(super) fn start(directory: &Path, name: &str) -> Result<Self> {
        let mut wine = Self {
            root: Root::new(directory)?,
            prefix: format!("WINEPREFIX=/{name}"),
            holder: None,
        };
        let mut boot = wine.in_prefix(Path::new("/"));
        let status = silent(boot.args([LOADER, "wineboot", "--init"])).status()?;
        ensure!(status.success(), "wine does not start ({status})");
        wine.hold()?;
        Ok(wine)
    }

    /// A command that runs a program in this directory. Both are in the workspace or in the target
    /// directory.
    pub(super) fn command(&self, program: &Path, directory: &Path) -> Command {
        self.command_with(program, directory, &[])
    }

    /// Like [`Self::command`], with variables of the environment.
    pub(super) fn command_with(
        &self,
        program: &Path,
        directory: &Path,
        variables: &[(&str, &str)],
    ) -> Command {
        let mut command = self.in_prefix(directory);
        let words = variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        command.args(words).arg(LOADER).arg(program);
        command
    }

    /// Writes a script that becomes a program: a signal to the script hits the program.
    pub(super) fn write_script(&self, program: &Path, script: &Path) -> Result {
        let command = self.command(program, Path::new("/"));
        let words = [command.get_program()]
            .into_iter()
            .chain(command.get_args());
        let words = words.map(|word| format!("'{}'", word.to_string_lossy()));
        let words = words.collect::<Vec<_>>().join(" ");
        fs::write(script, format!("#!/bin/sh\nexec {words} \"$@\"\n"))?;
        Ok(fs::set_permissions(script, Permissions::from_mode(0o755))?)
    }

    /// Ends all programs, and starts again.
    pub(super) fn restart(&mut self) -> Result {
        self.end();
        self.hold()
    }

    /// Ends all programs and the server.
    fn end(&mut self) {
        // The server ends by itself, too, when nothing is left of it.
        let _ = silent(self.in_prefix(Path::new("/")).args([SERVER, "-k"])).status();
        if let Some(mut holder) = self.holder.take() {
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }

    fn hold(&mut self) -> Result {
        let mut command = self.in_prefix(Path::new("/"));
        let command = silent(command.args([LOADER, "cmd"]));
        self.holder = Some(command.stdin(Stdio::piped()).spawn()?);
        Ok(())
    }

    /// A command in the root for programs of the prefix, without its words.
    fn in_prefix(&self, directory: &Path) -> Command {
        let mut command = self.root.entering(directory);
        command
            .args(["--ignore-environment", "WINEDEBUG=-all", "HOME=/root"])
            .arg(&self.prefix);
        command
    }
}

impl Drop for Wine {
    fn drop(&mut self) {
        self.end();
    }
}

fn silent(command: &mut Command) -> &mut Command {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null())
}
