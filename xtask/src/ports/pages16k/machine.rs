//! The emulated machine: its start, and what it prints.

use crate::{Context, Result};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// A processor with pages of 16 KiB.
const MACHINE: &[&str] = &[
    "-machine",
    "virt",
    "-cpu",
    "neoverse-n1",
    "-smp",
    "2",
    "-m",
    "4096",
    "-nographic",
    "-no-reboot",
    "-nic",
    "none",
];
/// The longest time that a run may take.
const PATIENCE: Duration = Duration::from_secs(5400);

/// The results of a run of the machine.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct MachineReport {
    /// Steps that passed.
    pub(super) passed: usize,
    /// Counts of the steps with their units, the first one first.
    pub(super) counts: Vec<(String, u64)>,
    pub(super) failures: Vec<String>,
    is_done: bool,
}

/// Starts the machine with this root, and reads what it prints until it is off.
pub(super) fn run(packages: &Path, root: &Path, is_short: bool) -> Result<MachineReport> {
    let archive = root.with_extension("cpio");
    pack(root, &archive)?;
    let short = if is_short { " teak.short" } else { "" };
    let arguments = format!("console=ttyAMA0 quiet panic=-1 rdinit=/init{short}");
    let mut machine = Command::new("qemu-system-aarch64")
        .args(MACHINE)
        .arg("-kernel")
        .arg(kernel(packages)?)
        .arg("-initrd")
        .arg(&archive)
        .args(["-append", &arguments])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let read = read(&mut machine);
    // It is off already, unless it took too long.
    machine.kill()?;
    machine.wait()?;
    let report = read?;
    ensure!(
        report.is_done,
        "the machine went off before all steps ended"
    );
    Ok(report)
}

/// Prints the machine's output, until it ends or takes too long.
fn read(machine: &mut Child) -> Result<MachineReport> {
    let output = machine.stdout.take().context("no output")?;
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(output).split(b'\n');
        for line in lines.map_while(Result::ok) {
            let _ = sender.send(String::from_utf8_lossy(&line).trim_end().to_owned());
        }
    });
    let begin = Instant::now();
    let mut report = MachineReport::default();
    loop {
        let left = PATIENCE.saturating_sub(begin.elapsed());
        match lines.recv_timeout(left) {
            Ok(line) => {
                println!("    {:>6.1} s  {line}", begin.elapsed().as_secs_f64());
                report.add(&line);
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(report),
            Err(mpsc::RecvTimeoutError::Timeout) => bail!("the machine hangs"),
        }
    }
}

impl MachineReport {
    /// Counts a line.
    fn add(&mut self, line: &str) {
        let Some(text) = line.strip_prefix("PORT ") else {
            return;
        };
        match text.split_once(' ').unwrap_or((text, "")) {
            ("pass", _) => self.passed += 1,
            ("fail", step) => self.failures.push(step.to_owned()),
            ("count", counted) => self.add_count(counted),
            ("done", _) => self.is_done = true,
            _ => self.failures.push(text.to_owned()),
        }
    }

    /// Adds a number and its unit.
    fn add_count(&mut self, counted: &str) {
        let (number, unit) = counted.split_once(' ').unwrap_or((counted, ""));
        let Ok(number) = number.parse::<u64>() else {
            return self.failures.push(format!("no count: {counted}"));
        };
        match self.counts.iter_mut().find(|(known, _)| known == unit) {
            Some((_, sum)) => *sum += number,
            None => self.counts.push((unit.to_owned(), number)),
        }
    }
}

/// The kernel among the unpacked packages.
fn kernel(packages: &Path) -> Result<PathBuf> {
    let mut files = fs::read_dir(packages.join("boot"))?.flatten();
    let kernel = files.find(|file| file.file_name().to_string_lossy().starts_with("vmlinuz"));
    Ok(kernel.context("the packages have no kernel")?.path())
}

/// Packs the files of a root as the kernel reads them.
fn pack(root: &Path, archive: &Path) -> Result {
    let script = "find . | cpio --create --format=newc --owner=0:0 --quiet";
    let status = Command::new("sh")
        .args(["-c", script])
        .current_dir(root)
        .stdout(fs::File::create(archive)?)
        .status()?;
    ensure!(status.success(), "the root cannot be packed ({status})");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::MachineReport;

    #[test]
    fn lines_of_the_machine_are_counted() {
        let mut report = MachineReport::default();
        for line in [
            "booting",
            "PORT pass ext4: main job",
            "PORT count 12 tests",
            "PORT count 9 loads on full disks",
            "PORT count 3 tests",
            "PORT fail xfs: full disk: exit 135: Bus error",
            "PORT done",
        ] {
            report.add(line);
        }
        let expected = MachineReport {
            passed: 1,
            counts: vec![
                ("tests".to_owned(), 15),
                ("loads on full disks".to_owned(), 9),
            ],
            failures: vec!["xfs: full disk: exit 135: Bus error".to_owned()],
            is_done: true,
        };
        assert_eq!(report, expected);
    }
}
