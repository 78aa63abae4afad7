//! Parses the output of `strace` into events of the simulated disk.
//!
//! Only calls on one file and the program's marks count. An unknown call that may change the file
//! is an error, so that no record is silently incomplete.

use crate::workload::ProgressMark;
use anyhow::{Context, Result, bail, ensure};
use std::{collections::HashMap, path::Path, sync::Arc};
use teak::testing::DiskEvent;

/// Options of `strace`: all calls on files, each byte as a number, nothing truncated.
pub(crate) const STRACE_ARGUMENTS: [&str; 9] = [
    "-f",
    "-qq",
    "-v",
    "-xx",
    "-s",
    "1000000",
    "-e",
    "signal=none",
    "-etrace=%desc",
];

const STANDARD_OUTPUT: &str = "1";

/// Calls that do not change a file.
const HARMLESS: [&str; 11] = [
    "close",
    "fadvise64",
    "fcntl",
    "fgetxattr",
    "flock",
    "fstat",
    "fstatfs",
    "ioctl",
    "newfstatat",
    "pread64",
    "readahead",
];

/// The changes that a program made to its file.
pub(crate) struct TraceRecord {
    pub(crate) events: Vec<Arc<DiskEvent>>,
    /// The marks, each with the number of events before it.
    pub(crate) marks: Vec<(usize, ProgressMark)>,
}

/// Parses the record of one file.
pub(crate) fn read(text: &str, path: &Path) -> Result<TraceRecord> {
    let mut reader = TraceReader {
        path: path.to_str().context("the path is not valid text")?,
        open: HashMap::new(),
        len: 0,
        events: Vec::new(),
        marks: Vec::new(),
    };
    for line in text.lines() {
        reader
            .read_line(line)
            .with_context(|| format!("strace wrote: {}", line.get(..300).unwrap_or(line)))?;
    }
    Ok(TraceRecord {
        events: reader.events.into_iter().map(Arc::new).collect(),
        marks: reader.marks,
    })
}

struct TraceReader<'t> {
    path: &'t str,
    /// The file's descriptors.
    open: HashMap<String, Descriptor>,
    len: u64,
    events: Vec<DiskEvent>,
    marks: Vec<(usize, ProgressMark)>,
}

#[derive(Clone, Copy)]
struct Descriptor {
    /// Whether its writes wait for the disk.
    is_synced: bool,
    /// The write position for calls without an offset.
    position: u64,
}

/// A call that ended.
struct SystemCall<'t> {
    name: &'t str,
    arguments: Vec<&'t str>,
    result: i64,
}

impl<'t> TraceReader<'t> {
    fn read_line(&mut self, line: &'t str) -> Result<()> {
        let Some(call) = SystemCall::of_line(line)? else {
            return Ok(());
        };
        // A failed call has changed nothing, and a call without a descriptor concerns no file.
        let Some(&first) = call.arguments.first() else {
            return Ok(());
        };
        if call.result < 0 {
            return Ok(());
        }
        match call.name {
            "openat" => self.note_open(&call),
            "write" if first == STANDARD_OUTPUT => {
                let text = String::from_utf8(bytes_of(call.argument(1)?)?)?;
                let mark = ProgressMark::of_line(&text).context("a malformed mark")?;
                self.marks.push((self.events.len(), mark));
                Ok(())
            }
            "mmap" => self.note_mapping(&call),
            "dup" | "dup2" | "dup3" | "copy_file_range" | "sendfile" | "splice" => {
                let is_ours = |argument: &&str| self.open.contains_key(*argument);
                ensure!(!call.arguments.iter().any(is_ours), "an unsupported call");
                Ok(())
            }
            _ => match self.open.get(first) {
                Some(&descriptor) => self.note_call(&call, descriptor),
                None => Ok(()),
            },
        }
    }

    fn note_open(&mut self, call: &SystemCall<'t>) -> Result<()> {
        let path = bytes_of(call.argument(1)?)?;
        let flags: Vec<&str> = call.argument(2)?.split('|').collect();
        if path != self.path.as_bytes() {
            return Ok(());
        }
        ensure!(
            !flags.contains(&"O_TRUNC") || self.len == 0,
            "opening truncates it"
        );
        let is_synced = flags.contains(&"O_DSYNC") || flags.contains(&"O_SYNC");
        let descriptor = Descriptor {
            is_synced,
            position: 0,
        };
        self.open.insert(call.result.to_string(), descriptor);
        Ok(())
    }

    fn note_mapping(&self, call: &SystemCall<'_>) -> Result<()> {
        let is_ours = self.open.contains_key(call.argument(4)?);
        let (access, kind) = (call.argument(2)?, call.argument(3)?);
        ensure!(
            !(is_ours && access.contains("PROT_WRITE") && kind.contains("MAP_SHARED")),
            "writes through a mapping cannot be recorded"
        );
        Ok(())
    }

    fn note_call(&mut self, call: &SystemCall<'t>, descriptor: Descriptor) -> Result<()> {
        match call.name {
            "close" => {
                self.open.remove(call.argument(0)?);
                Ok(())
            }
            "lseek" => self.note_position(call, u64::try_from(call.result)?),
            "write" | "writev" => {
                let position = descriptor.position;
                self.note_write(call, position, descriptor)?;
                self.note_position(call, position + u64::try_from(call.result)?)
            }
            "pwrite64" | "pwritev" => self.note_write(call, call.number(3)?, descriptor),
            "ftruncate" => {
                self.note_len(call.number(1)?);
                Ok(())
            }
            "fallocate" => {
                let end = call.number(2)? + call.number(3)?;
                match call.argument(1)? {
                    "0" => self.note_len(end.max(self.len)),
                    "FALLOC_FL_KEEP_SIZE" => {}
                    mode => bail!("fallocate with {mode} is not supported"),
                }
                Ok(())
            }
            "fdatasync" | "fsync" => {
                self.events.push(DiskEvent::Flush);
                let began = self.events.len() - 1;
                self.events.push(DiskEvent::FlushEnded { began });
                Ok(())
            }
            name if HARMLESS.contains(&name) => Ok(()),
            _ => bail!("an unsupported call"),
        }
    }

    fn note_position(&mut self, call: &SystemCall<'_>, position: u64) -> Result<()> {
        let descriptor = self.open.get_mut(call.argument(0)?);
        descriptor.context("it is not open")?.position = position;
        Ok(())
    }

    fn note_write(
        &mut self,
        call: &SystemCall<'_>,
        offset: u64,
        Descriptor { is_synced, .. }: Descriptor,
    ) -> Result<()> {
        let argument = call.argument(1)?;
        let mut bytes = match call.name {
            "write" | "pwrite64" => bytes_of(argument)?,
            _ => bytes_of_parts(argument)?,
        };
        let written = usize::try_from(call.result)?;
        ensure!(
            written <= bytes.len() && written > 0,
            "{written} bytes were written, but {} are in the record",
            bytes.len()
        );
        bytes.truncate(written);
        let len = bytes.len() as u64;
        self.note_len(self.len.max(offset + len));
        self.events.push(DiskEvent::Write { offset, bytes });
        if is_synced {
            self.events.push(DiskEvent::Synced { offset, len });
        }
        Ok(())
    }

    fn note_len(&mut self, bytes: u64) {
        if bytes != self.len {
            self.len = bytes;
            self.events.push(DiskEvent::SetLen { bytes });
        }
    }
}

impl<'t> SystemCall<'t> {
    /// `None` if the line is something else, such as the end of a process.
    fn of_line(line: &'t str) -> Result<Option<Self>> {
        ensure!(
            !line.contains("<unfinished"),
            "there are calls of several threads"
        );
        let Some((call, result)) = line.rsplit_once(" = ") else {
            return Ok(None);
        };
        // The line begins with the number of the process.
        let call = call.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        let Some((name, arguments)) = call.split_once('(') else {
            return Ok(None);
        };
        let arguments = arguments.trim_end();
        let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
        let result = result.split(' ').next().unwrap_or_default();
        let result = match result.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16)?,
            None => result.parse().unwrap_or(-1),
        };
        Ok(Some(Self {
            name,
            arguments: split(arguments),
            result,
        }))
    }

    fn argument(&self, index: usize) -> Result<&'t str> {
        let argument = self.arguments.get(index);
        argument.copied().context("an argument is missing")
    }

    fn number(&self, index: usize) -> Result<u64> {
        Ok(self.argument(index)?.parse()?)
    }
}

/// Splits at commas outside of brackets. Strings contain only numbers, and so neither commas nor
/// brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(text[start..index].trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// The bytes of a string such as `"\x61\x62"`.
fn bytes_of(argument: &str) -> Result<Vec<u8>> {
    let text = argument
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    let text = text.context("the string is incomplete")?;
    let codes = text.split("\\x").skip(1);
    codes
        .map(|code| Ok(u8::from_str_radix(code, 16)?))
        .collect()
}

/// The joined bytes of a list such as `[{iov_base="\x61", iov_len=1}]`.
fn bytes_of_parts(argument: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for part in argument.split("iov_base=").skip(1) {
        let end = part.rfind("\", iov_len").context("a part has no length")?;
        bytes.append(&mut bytes_of(&part[..=end])?);
    }
    Ok(bytes)
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
