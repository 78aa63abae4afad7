//! A directory with a database, and runs of the program in it.

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use tempfile::TempDir;

/// A directory for one test.
pub(crate) struct TestDir {
    directory: TempDir,
}

/// The result of a run of the program.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TestDir {
    pub(crate) fn new() -> Self {
        Self {
            directory: TempDir::new().expect("a directory for the test"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).expect("writes a file of the test");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("reads a file of the test")
    }

    /// The program, to be run in this directory.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_teak"));
        command.current_dir(self.directory.path()).args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> ProgramOutput {
        ProgramOutput::new(
            self.command(arguments)
                .stdin(Stdio::null())
                .output()
                .expect("the program runs"),
        )
    }

    /// Runs the program with a file as its standard output.
    pub(crate) fn run_into(&self, arguments: &[&str], output: File) -> ProgramOutput {
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).stdout(output);
        ProgramOutput::new(command.output().expect("the program runs"))
    }

    /// Starts the program with a pipe to its standard input.
    pub(crate) fn hold(&self, arguments: &[&str]) -> Held {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        let stdout = child.stdout.take().expect("a pipe from the program");
        Held {
            stdin: child.stdin.take(),
            stdout: BufReader::new(stdout),
            child,
        }
    }

    /// Runs the program with `input` as its standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> ProgramOutput {
        let mut command = self.command(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        let mut stdin = child.stdin.take().expect("a pipe to the program");
        // A program that ends early reports the reason, so a broken pipe is not a failure of the
        // test.
        let _ = stdin.write_all(input);
        drop(stdin);
        ProgramOutput::new(child.wait_with_output().expect("the program ends"))
    }

    /// Runs the program, which must succeed, and returns its standard output.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> String {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "teak {arguments:?}: {run:?}");
        run.stdout
    }

    /// Runs the program, which must succeed and print JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        parse(&self.succeed(arguments))
    }
}

/// The program while it runs.
pub(crate) struct Held {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Held {
    /// Writes a part of its standard input.
    pub(crate) fn say(&mut self, input: &[u8]) {
        let stdin = self.stdin.as_mut().expect("its standard input is open");
        stdin.write_all(input).expect("it reads");
        stdin.flush().expect("it reads");
    }

    /// Waits for a line of its standard output.
    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it writes");
        line
    }

    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Closes its standard input, waits for its end, and returns its exit code.
    pub(crate) fn end(mut self) -> i32 {
        self.stdin = None;
        let ended = self.child.wait().expect("it ends");
        ended.code().unwrap_or(-1)
    }
}

impl ProgramOutput {
    pub(crate) fn new(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }

    /// Checks the exit code and that the message contains `text`.
    pub(crate) fn fails(&self, code: i32, text: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.stderr.contains(text), "no {text:?} in {self:?}");
    }
}

pub(crate) fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {json:?}"))
}

/// A dump of records that are in order: `key-00000`, `value-00000` and so on.
pub(crate) fn numbered_dump(count: usize) -> String {
    let mut dump = "VERSION=3\nformat=print\ntype=btree\nHEADER=END\n".to_owned();
    for number in 0..count {
        dump.push_str(&format!(" key-{number:05}\n value-{number:05}\n"));
    }
    dump.push_str("DATA=END\n");
    dump
}
