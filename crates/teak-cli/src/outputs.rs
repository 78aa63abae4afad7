//! Files that a command writes. They never replace a file that it reads, a database, or a
//! database's lock file, and are complete or absent.

use crate::failure::Failure;
use crate::locking;
use crate::system;
use crate::text::shown_path;
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

const BUFFER_LEN: usize = 64 << 10;
/// The maximum number of links in a row. The system does not follow more either.
const LINKS_MAX: usize = 40;
/// The first bytes of a lock file.
const LOCK_MAGIC: &[u8; 8] = b"TeakLock";
const LOCK_SUFFIX: &str = "-lock";

/// A text file, which gets its name when it is complete.
pub(crate) struct TextFile {
    sink: Sink,
    path: PathBuf,
}

enum Sink {
    /// A temporary file that does not have the name yet.
    Unnamed(BufWriter<NamedTempFile>),
    /// A pipe, a device or an open descriptor, which is not replaced.
    Special(BufWriter<File>),
}

impl TextFile {
    /// Begins a file at `path` made from `source`. Only users who may read the source may read it.
    pub(crate) fn create(path: &Path, source: Option<&Path>) -> Result<Self, Failure> {
        let there = match fs::metadata(path) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Failure::file("creating", path)(error)),
        };
        let is_file = there.as_ref().is_none_or(Metadata::is_file);
        if is_file {
            refuse_database(path)?;
        }
        if !is_file || is_descriptor(path) {
            let file = File::options().append(true).open(path);
            let file = file.map_err(Failure::file("opening", path))?;
            let sink = Sink::Special(BufWriter::with_capacity(BUFFER_LEN, file));
            return Ok(Self {
                sink,
                path: path.to_owned(),
            });
        }
        let path = match &there {
            Some(_) => writable(path),
            None => refuse_dangling(path),
        }?;
        let file = unnamed_file(&path, source, there.as_ref())?;
        let sink = Sink::Unnamed(BufWriter::with_capacity(BUFFER_LEN, file));
        Ok(Self { sink, path })
    }

    /// Flushes the file to the disk and gives it its name.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let failed = || Failure::file("writing", &self.path);
        let unnamed = match self.sink {
            Sink::Special(mut output) => return output.flush().map_err(failed()),
            Sink::Unnamed(output) => output
                .into_inner()
                .map_err(|error| failed()(error.into_error()))?,
        };
        unnamed.as_file().sync_all().map_err(failed())?;
        unnamed
            .persist(&self.path)
            .map_err(|error| failed()(error.error))?;
        let flushed = system::flush_directory(parent(&self.path));
        flushed.map_err(Failure::file("flushing the directory of", &self.path))
    }
}

impl Write for TextFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Unnamed(output) => output.write(bytes),
            Sink::Special(output) => output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Unnamed(output) => output.flush(),
            Sink::Special(output) => output.flush(),
        }
    }
}

/// The target of a path, which must be writable.
fn writable(path: &Path) -> Result<PathBuf, Failure> {
    let opened = File::options().write(true).open(path);
    opened.map_err(Failure::file("opening", path))?;
    fs::canonicalize(path).map_err(Failure::file("opening", path))
}

/// Whether a path belongs to an open descriptor, like `/dev/stdout`. Other processes continue to
/// write to that file, so it must not be replaced.
fn is_descriptor(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        if fs::canonicalize(parent(&path)).is_ok_and(|parent| parent.starts_with("/proc")) {
            return true;
        }
        match fs::read_link(&path) {
            Ok(target) => path = parent(&path).join(target),
            Err(_) => return false,
        }
    }
    false
}

fn refuse_dangling(path: &Path) -> Result<PathBuf, Failure> {
    match path.symlink_metadata() {
        Ok(_) => Err(Failure::Usage(format!(
            "{} is a symbolic link to a file that does not exist; name that file",
            shown_path(path)
        ))),
        Err(_) => Ok(path.to_owned()),
    }
}

/// A file that does not have its name yet, with its final permissions.
fn unnamed_file(
    path: &Path,
    source: Option<&Path>,
    there: Option<&Metadata>,
) -> Result<NamedTempFile, Failure> {
    let failed = || Failure::file("creating a temporary file next to", path);
    // Nothing is written from a source that does not exist.
    let source = source.and_then(|source| fs::metadata(source).ok());
    let allowed = [source.as_ref(), there].into_iter().flatten();
    let mode = allowed.fold(0o666, |mode, metadata| mode & system::mode_bits(metadata));
    let mut builder = tempfile::Builder::new();
    system::create_with(builder.prefix(".teak-output-"), mode);
    let file = builder.tempfile_in(parent(path)).map_err(failed())?;
    if let Some(source) = source {
        let made = file.as_file().metadata().map_err(failed())?;
        if system::group_of(&made) != system::group_of(&source) {
            // For the source, members of this group are others.
            let narrowed = narrow_group(system::mode_bits(&made));
            system::set_mode(file.as_file(), narrowed).map_err(failed())?;
        }
    }
    Ok(file)
}

/// Limits the permissions of the group to those of others.
fn narrow_group(mode: u32) -> u32 {
    mode & 0o777 & (0o707 | (mode & 0o007) << 3)
}

/// Refuses a database as an output if it is an input or an input's lock file. Likewise for standard
/// output.
pub(crate) fn refuse_inputs(output: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    for input in inputs {
        refuse_standard_output(input)?;
        if system::is_same_file(output, input) {
            let message = format!(
                "the output {} is the same file as the input {}; name another file",
                shown_path(output),
                shown_path(input)
            );
            return Err(Failure::Usage(message));
        }
        let lock_names = |of: &Path| locking::lock_file_of(of);
        let (of_input, of_output) = (lock_names(input), lock_names(output));
        let is_lock = of_input.is_some_and(|lock| is_same_name(output, &lock));
        if is_lock || of_output.is_some_and(|lock| system::is_same_file(input, &lock)) {
            let message = format!(
                "the output {} or the input {} has the name of the other's lock file; name another file",
                shown_path(output),
                shown_path(input)
            );
            return Err(Failure::Usage(message));
        }
    }
    Ok(())
}

/// Refuses an output name that is needed for another file.
pub(crate) fn refuse_name(output: &Path, taken: &Path, description: &str) -> Result<(), Failure> {
    if !is_same_name(output, taken) {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "the output {} is the name of {description}; name another file",
        shown_path(output)
    )))
}

/// The permissions of a database that is not made from a file.
pub(crate) const NEW_MODE: u32 = 0o666;

/// The permissions of a file at `target` made from `source`: for others at most those of the
/// source.
pub(crate) fn mode_of(source: Option<&Metadata>, target: &Path) -> u32 {
    let Some(source) = source else {
        return NEW_MODE;
    };
    let mode = system::mode_bits(source) & 0o066 | 0o600;
    match group_of_new(target) == Some(system::group_of(source)) {
        true => mode,
        // For the source, members of this group are others.
        false => narrow_group(mode),
    }
}

/// The group that a new file has, if that is known.
fn group_of_new(path: &Path) -> Option<u32> {
    const SETGID: u32 = 0o2000;
    let directory = fs::metadata(parent(path)).ok()?;
    match system::mode_bits(&directory) & SETGID {
        0 => fs::metadata("/proc/self")
            .ok()
            .map(|own| system::group_of(&own)),
        _ => Some(system::group_of(&directory)),
    }
}

/// The attributes of an input, if it exists; of standard input for `-`.
pub(crate) fn input(path: &Path) -> Option<Metadata> {
    match path == Path::new("-") {
        true => standard_input(),
        false => path.metadata().ok(),
    }
}

/// The attributes of standard input, if that is a file.
pub(crate) fn standard_input() -> Option<Metadata> {
    let found = system::standard_input().ok()?;
    found.is_file().then_some(found)
}

/// Refuses standard output if it is a file that is read or changed, or its lock file.
pub(crate) fn refuse_standard_output(file: &Path) -> Result<(), Failure> {
    let is_output = system::is_standard_output;
    let lock_file = locking::lock_file_of(file);
    if is_output(file) || lock_file.is_some_and(|lock_file| is_output(&lock_file)) {
        let message = format!(
            "standard output is {}, which this command uses, or its lock file; send the output elsewhere",
            shown_path(file)
        );
        return Err(Failure::Usage(message));
    }
    Ok(())
}

/// Refuses to write when standard output is closed.
pub(crate) fn refuse_closed_output() -> Result<(), Failure> {
    if !system::is_output_closed() {
        return Ok(());
    }
    let message = "standard output is closed; send the output to a file, a pipe or /dev/null";
    Err(Failure::Usage(message.to_owned()))
}

/// Refuses a name for a new database if it is the name of another database's lock file, or if its
/// own lock file would replace a database.
pub(crate) fn refuse_lock_names(path: &Path) -> Result<(), Failure> {
    refuse_database(path)?;
    match locking::lock_file_of(path).filter(|lock_file| is_database(lock_file)) {
        None => Ok(()),
        Some(lock_file) => Err(Failure::Usage(format!(
            "{} is a database, and would be the lock file of the output {}; name another file",
            shown_path(&lock_file),
            shown_path(path)
        ))),
    }
}

/// Refuses to replace any database or lock file.
fn refuse_database(path: &Path) -> Result<(), Failure> {
    let description = match path.exists() {
        true if is_database(path) => "is a database",
        true if is_lock_file(path) => "is the lock file of a database",
        _ if is_lock_name(path) => "is the name of the lock file of a database",
        _ => return Ok(()),
    };
    Err(Failure::Usage(format!(
        "the output {} {description}; name another file",
        shown_path(path)
    )))
}

fn is_database(path: &Path) -> bool {
    !matches!(
        teak::inspect(path),
        Err(teak::Error::NotADatabase { .. } | teak::Error::NotFound(_) | teak::Error::Io { .. })
    )
}

fn is_lock_file(path: &Path) -> bool {
    let mut magic = [0; LOCK_MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *LOCK_MAGIC
}

/// Whether a database exists whose lock file has this name.
fn is_lock_name(path: &Path) -> bool {
    let base = system::path_before(path.as_os_str(), LOCK_SUFFIX);
    base.is_some_and(is_database)
}

fn parent(path: &Path) -> &Path {
    let parent = path.parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Whether two paths name the same file. Works for files that do not exist.
fn is_same_name(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| {
        Some((
            fs::canonicalize(parent(path)).ok()?,
            path.file_name()?.to_owned(),
        ))
    };
    system::is_same_file(a, b) || identity(a).is_some_and(|a| identity(b) == Some(a))
}
