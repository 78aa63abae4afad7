//! A node that listens on the loopback interface only, and has no peers.

use crate::{
    Context, Result,
    clients::{Prefix, debian::Unpacked},
    commands,
};
use rustix::process::Signal;
use std::{
    fs::{self, File},
    io::Write,
    net::TcpListener,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long a node may take to answer or to end.
const LIMIT: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(20);
const WALLET: &str = "wallet";

/// A node on one of the libraries.
pub(super) struct Node<'b> {
    unpacked: &'b Unpacked,
    prefix: &'b Prefix,
    directory: PathBuf,
    port: u16,
    is_importing: bool,
    process: Option<Child>,
}

impl<'b> Node<'b> {
    pub(super) fn new(
        unpacked: &'b Unpacked,
        prefix: &'b Prefix,
        directory: PathBuf,
    ) -> Result<Self> {
        fs::create_dir_all(&directory)?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        Ok(Self {
            unpacked,
            prefix,
            directory,
            port,
            is_importing: false,
            process: None,
        })
    }

    /// The directory of a database.
    pub(super) fn database(&self, name: &str) -> PathBuf {
        self.directory.join("regtest").join(name)
    }

    /// Has the library convert databases of LevelDB when the node opens them.
    pub(super) fn import(&mut self) {
        self.is_importing = true;
    }

    fn command(&self, program: &str) -> Result<Command> {
        // The package's `usr/bin/litecoind` is a script that starts this one of the system's root,
        // and writes to the home directory.
        let directories = ["usr/lib/litecoin", "usr/bin"].into_iter();
        let mut paths = directories.map(|name| self.unpacked.root.join(name).join(program));
        let path = paths.find(|path| path.exists());
        let mut command = Command::new(path.context("a program of the package is missing")?);
        self.unpacked.prepare(&mut command, Some(self.prefix))?;
        command
            .arg("-regtest")
            .arg(format!("-datadir={}", self.directory.display()))
            .arg(format!("-rpcport={}", self.port));
        Ok(command)
    }

    /// Starts the node, and waits until it answers.
    pub(super) fn start(&mut self) -> Result {
        self.spawn()?;
        let begin = Instant::now();
        while self.call(&["getblockcount"]).is_err() {
            let process = self.process.as_mut().context("the node is not running")?;
            if let Some(status) = process.try_wait()? {
                bail!(
                    "the node has ended ({status}): see {}.log and regtest/debug.log in it",
                    self.directory.display()
                );
            }
            ensure!(begin.elapsed() < LIMIT, "the node does not answer");
            thread::sleep(STEP);
        }
        Ok(())
    }

    /// Starts the node, and does not wait.
    pub(super) fn spawn(&mut self) -> Result {
        let log = File::create(self.directory.with_extension("log"))?;
        let mut command = self.command("litecoind")?;
        command
            .args(["-server=1", "-listen=0", "-connect=0", "-dnsseed=0"])
            .args(["-rpcbind=127.0.0.1", "-rpcallowip=127.0.0.1"])
            .args(["-txindex=1", "-fallbackfee=0.001", "-printtoconsole=0"])
            // Little memory for coins, so that they are often written.
            .arg("-dbcache=4");
        if self.is_importing {
            command.env("TEAK_LEVELDB_IMPORT", "1");
        }
        let process = command
            .stdin(Stdio::null())
            .stderr(log.try_clone()?)
            .stdout(log)
            .spawn()?;
        self.process = Some(process);
        Ok(())
    }

    /// Calls a method. Returns what it has printed.
    pub(super) fn call(&self, words: &[&str]) -> Result<String> {
        commands::output(self.command("litecoin-cli")?.args(words))
    }

    /// Like [`Self::call`], but tries again as long as the index of transactions is incomplete.
    pub(super) fn call_when_indexed(&self, words: &[&str]) -> Result<String> {
        let begin = Instant::now();
        loop {
            let answer = self.call(words);
            if answer.is_ok() || begin.elapsed() > LIMIT {
                return answer;
            }
            thread::sleep(STEP);
        }
    }

    /// Submits a block, which is too long for a command line. Returns why it was refused.
    pub(super) fn submit(&self, block: &str) -> Result<String> {
        let mut process = self
            .command("litecoin-cli")?
            .args(["-stdin", "submitblock"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut input = process.stdin.take().context("there is no input")?;
        input.write_all(block.as_bytes())?;
        drop(input);
        let output = process.wait_with_output()?;
        ensure!(output.status.success(), "a block cannot be submitted");
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    pub(super) fn height(&self) -> Result<u64> {
        Ok(self.call(&["getblockcount"])?.parse()?)
    }

    /// Makes a wallet that is opened with the node. Returns an address in it.
    pub(super) fn create_wallet(&self) -> Result<String> {
        let name = format!("wallet_name={WALLET}");
        self.call(&["-named", "createwallet", &name, "load_on_startup=true"])?;
        self.call(&["getnewaddress"])
    }

    pub(super) fn mine(&self, count: u32, address: &str) -> Result {
        let count = count.to_string();
        self.call(&["generatetoaddress", &count, address])?;
        Ok(())
    }

    /// Kills the node. It has to be waited for, by [`Self::wait_for_kill`].
    pub(super) fn kill(&self) -> Result {
        let process = self.process.as_ref().context("the node is not running")?;
        commands::signal(process, Signal::KILL)
    }

    /// Stops the node as its users do.
    pub(super) fn stop(&mut self) -> Result {
        self.call(&["stop"])?;
        let status = self.wait_for_end()?;
        ensure!(status.success(), "the node has not ended well ({status})");
        Ok(())
    }

    /// Waits for the end of a killed node. Refuses one that had ended before.
    pub(super) fn wait_for_kill(&mut self) -> Result {
        let status = self.wait_for_end()?;
        let is_killed = status.signal() == Some(Signal::KILL.as_raw());
        ensure!(is_killed, "the node ended before it was killed ({status})");
        Ok(())
    }

    fn wait_for_end(&mut self) -> Result<ExitStatus> {
        let mut process = self.process.take().context("the node is not running")?;
        let begin = Instant::now();
        loop {
            if let Some(status) = process.try_wait()? {
                return Ok(status);
            }
            if begin.elapsed() > LIMIT {
                process.kill()?;
                process.wait()?;
                bail!("the node has not ended after {} s", LIMIT.as_secs());
            }
            thread::sleep(STEP);
        }
    }
}

impl Drop for Node<'_> {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
