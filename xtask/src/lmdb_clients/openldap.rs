//! OpenLDAP as packaged by Debian: `slapadd`, `slapindex`, `slapcat`, and a server with 1,000
//! changes.
//!
//! Its backend has LMDB compiled in, but calls it by symbols that a library loaded earlier takes
//! over. Each step runs with its own LMDB and with the library, and the output of `slapcat` must be
//! equal.

use super::bench::ClientBench;
use crate::{
    Context, Result,
    clients::{ClientEnd, debian},
    commands,
};
use rustix::process::Signal;
use std::{
    fmt::Write as _,
    fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// They are unpacked and not installed, so that no service starts.
const PACKAGES: [&str; 2] = ["slapd", "ldap-utils"];
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const SUFFIX: &str = "dc=example,dc=org";
const ROOT: &str = "cn=admin,dc=example,dc=org";
const PASSWORD: &str = "secret";
const ENTRIES: usize = 2000;
const CHANGES: usize = 1000;
/// How often the indexes are made on each side.
const INDEXINGS: usize = 5;
/// Time limit for a server to begin listening.
const START: Duration = Duration::from_secs(60);
/// Attributes that differ between runs.
const CHANGING: [&str; 4] = [
    "entryUUID:",
    "entryCSN:",
    "createTimestamp:",
    "modifyTimestamp:",
];

/// OpenLDAP on one of the libraries.
struct Installed<'b> {
    bench: &'b ClientBench<'b>,
    root: &'b Path,
    directory: PathBuf,
    /// The library to load before the backend, and the version that the backend requires; `None`
    /// for its own LMDB.
    library: Option<(PathBuf, String)>,
}

/// Runs all steps on both libraries, and compares.
pub(super) fn run(bench: &ClientBench<'_>) -> Result<ClientEnd> {
    let directory = bench.area.directory.join("openldap");
    let Some(root) = debian::unpack(&bench.area, "openldap", &PACKAGES)? else {
        return Ok(ClientEnd::Skipped);
    };
    let version = wanted_version(&root)?;
    let library = bench.prefix.libraries().join("liblmdb.so.0");
    let on = |name: &str, library| {
        let directory = directory.join(name);
        Installed {
            bench,
            root: &root,
            directory,
            library,
        }
    };
    let lmdb = on("lmdb", None);
    let teak = on("teak", Some((library, version)));

    let first = directory.join("entries.ldif");
    fs::write(&first, entries())?;
    lmdb.configure()?;
    lmdb.offline("slapadd", &["-l", &first.to_string_lossy()])?;
    // Includes the attributes that the server adds, so that both load equal data.
    let whole = directory.join("whole.ldif");
    fs::write(&whole, lmdb.dump()?)?;
    for side in [&lmdb, &teak] {
        side.configure()?;
        side.offline("slapadd", &["-l", &whole.to_string_lossy()])?;
    }
    let loaded = fs::read_to_string(&whole)?;
    same("slapadd", &loaded, &lmdb.dump()?, &teak.dump()?)?;
    // The second one flushes nothing.
    for words in [&[][..], &["-q"]] {
        let [on_lmdb, on_teak] = index_in_turns([&lmdb, &teak], words)?;
        println!("slapindex {words:?}: {on_lmdb:.3} s on LMDB, {on_teak:.3} s on Teak");
    }
    same("slapindex", &loaded, &lmdb.dump()?, &teak.dump()?)?;

    let file = directory.join("changes.ldif");
    fs::write(&file, changes())?;
    let [found, found_by_teak] = [lmdb.change(&file)?, teak.change(&file)?];
    same("ldapsearch", &found, &found, &found_by_teak)?;
    let [dump, dump_of_teak] = [lmdb.dump()?, teak.dump()?].map(|dump| without_changing(&dump));
    same("ldapmodify", &dump, &dump, &dump_of_teak)?;
    ensure!(
        dump != without_changing(&loaded),
        "ldapmodify has changed nothing"
    );
    Ok(ClientEnd::Completed)
}

/// Has each side make its indexes some times, in turns. Returns the shortest times in seconds.
fn index_in_turns(sides: [&Installed<'_>; 2], words: &[&str]) -> Result<[f64; 2]> {
    let mut shortest = [f64::INFINITY; 2];
    for _ in 0..INDEXINGS {
        for (side, shortest) in sides.iter().zip(&mut shortest) {
            let began = Instant::now();
            side.offline("slapindex", words)?;
            *shortest = began.elapsed().as_secs_f64().min(*shortest);
        }
    }
    Ok(shortest)
}

/// The version of LMDB that the backend was compiled with. The backend accepts no other version.
fn wanted_version(root: &Path) -> Result<String> {
    let backend = fs::read(root.join("usr/lib/ldap/back_mdb.so"))?;
    version_in(&backend).context("back_mdb.so names no version of LMDB")
}

/// The version in `LMDB 0.9.29: (March 16, 2021)`.
fn version_in(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    text.split("LMDB ").skip(1).find_map(|rest| {
        let version = rest.split_once(':')?.0;
        let numbers: Vec<_> = version.split('.').collect();
        let is_one =
            numbers.len() == 3 && numbers.iter().all(|number| number.parse::<u8>().is_ok());
        is_one.then(|| version.to_owned())
    })
}

impl Installed<'_> {
    /// An empty database.
    fn configure(&self) -> Result {
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory)?;
        }
        let database = self.directory.join("db");
        fs::create_dir_all(&database)?;
        let root = self.root.display();
        let mut text = String::new();
        for schema in ["core", "cosine", "inetorgperson"] {
            writeln!(text, "include {root}/etc/ldap/schema/{schema}.schema")?;
        }
        write!(
            text,
            "pidfile {own}/pid\nargsfile {own}/args\nmodulepath {root}/usr/lib/ldap\nmoduleload back_mdb\n\
             database mdb\nsuffix {SUFFIX}\nrootdn {ROOT}\nrootpw {PASSWORD}\ndirectory {database}\n\
             maxsize 1073741824\nindex objectClass,uid,cn,sn eq\nindex mail sub\n",
            own = self.directory.display(),
            database = database.display(),
        )?;
        Ok(fs::write(self.directory.join("slapd.conf"), text)?)
    }

    /// A program of the package.
    fn program(&self, path: &str) -> Command {
        let mut command = Command::new(self.root.join(path));
        command.env("LD_LIBRARY_PATH", self.root.join(LIBRARIES));
        command
    }

    /// A program that opens the database.
    fn server(&self, name: &str) -> Command {
        let mut command = self.program(&format!("usr/sbin/{name}"));
        command.arg("-f").arg(self.directory.join("slapd.conf"));
        if let Some((library, version)) = &self.library {
            command.env("LD_PRELOAD", library);
            command.env("TEAK_LMDB_VERSION", version);
        }
        command
    }

    fn log(&self, name: &str) -> PathBuf {
        self.directory.join(name).with_extension("log")
    }

    fn offline(&self, name: &str, words: &[&str]) -> Result {
        let log = self.log(name);
        self.bench.area.succeed(self.server(name).args(words), &log)
    }

    /// The output of `slapcat`.
    fn dump(&self) -> Result<String> {
        let file = self.directory.join("dump.ldif");
        self.offline("slapcat", &["-l", &file.to_string_lossy()])?;
        Ok(fs::read_to_string(file)?)
    }

    /// Lets a server make changes, and returns the resulting dump.
    fn change(&self, changes: &Path) -> Result<String> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let address = format!("ldap://127.0.0.1:{port}");
        let log = fs::File::create(self.log("slapd"))?;
        let mut command = self.server("slapd");
        // With a log level, the server stays in the foreground.
        command.args(["-d", "0", "-h", &address]);
        let command = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let server = Server(command.spawn()?);
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if begin.elapsed() > START {
                let log = self.log("slapd");
                bail!("slapd does not listen: see {}", log.display());
            }
            thread::sleep(Duration::from_millis(20));
        }
        let area = &self.bench.area;
        let mut modify = self.program("usr/bin/ldapmodify");
        modify
            .args(["-x", "-D", ROOT, "-w", PASSWORD, "-H", &address, "-f"])
            .arg(changes);
        area.succeed(&mut modify, &self.log("ldapmodify"))?;
        let mut search = self.program("usr/bin/ldapsearch");
        search.args([
            "-x",
            "-LLL",
            "-H",
            &address,
            "-b",
            SUFFIX,
            "(|(sn=Name7)(mail=*9*9@example.org))",
        ]);
        let log = self.log("ldapsearch");
        self.bench.area.succeed(&mut search, &log)?;
        server.stop()?;
        Ok(fs::read_to_string(log)?)
    }
}

/// A server, which is stopped on drop.
struct Server(Child);

impl Server {
    /// Lets the server close the database.
    fn stop(mut self) -> Result {
        commands::signal(&self.0, Signal::TERM)?;
        let status = self.0.wait()?;
        ensure!(status.success(), "slapd has failed ({status})");
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn same(step: &str, wanted: &str, lmdb: &str, teak: &str) -> Result {
    for (name, found) in [("LMDB", lmdb), ("Teak", teak)] {
        if found != wanted {
            let line = wanted.lines().zip(found.lines()).position(|(a, b)| a != b);
            bail!("{step}: {name} differs from line {line:?} on");
        }
    }
    println!("{step}: the same");
    Ok(())
}

/// A dump without the lines that differ between runs.
fn without_changing(dump: &str) -> String {
    let is_kept = |line: &&str| !CHANGING.iter().any(|name| line.starts_with(name));
    dump.split_inclusive('\n').filter(is_kept).collect()
}

/// The entries to load.
fn entries() -> String {
    let mut text = format!(
        "dn: {SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\no: Example\ndc: example\n\n\
         dn: ou=people,{SUFFIX}\nobjectClass: organizationalUnit\nou: people\n\n"
    );
    for number in 0..ENTRIES {
        text += &person(number);
        text.push('\n');
    }
    text
}

fn name_of(number: usize) -> String {
    format!("uid=u{number:05},ou=people,{SUFFIX}")
}

fn person(number: usize) -> String {
    format!(
        "dn: {}\nobjectClass: inetOrgPerson\nuid: u{number:05}\ncn: User Number {number}\nsn: Name{}\n\
         mail: user{number}@example.org\ndescription: {} end\n",
        name_of(number),
        number % 97,
        "x".repeat(number % 300)
    )
}

/// Changes of all kinds.
fn changes() -> String {
    let mut text = String::new();
    for number in 0..CHANGES {
        let name = name_of(number);
        let change = match number % 5 {
            0 => format!(
                "dn: {name}\nchangetype: modify\nreplace: description\ndescription: {}\n",
                "y".repeat(number * 3 + 1)
            ),
            1 => person(ENTRIES + number).replacen('\n', "\nchangetype: add\n", 1),
            2 => format!("dn: {name}\nchangetype: delete\n"),
            3 => format!(
                "dn: {name}\nchangetype: modrdn\nnewrdn: uid=r{number:05}\ndeleteoldrdn: 1\n"
            ),
            _ => format!(
                "dn: {name}\nchangetype: modify\nadd: mail\nmail: second{number}@example.org\n-\nreplace: sn\nsn: Name7\n"
            ),
        };
        text += &change;
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{CHANGES, changes, version_in, without_changing};

    #[test]
    fn the_version_is_found_among_other_words() {
        let bytes = b"\x00expected LMDB of\x00LMDB 0.9.29: (March 16, 2021)\x00";
        assert_eq!(version_in(bytes), Some("0.9.29".to_owned()));
        assert_eq!(version_in(b"LMDB file: no"), None);
    }

    #[test]
    fn changing_attributes_are_not_compared() {
        let dump = "dn: a\nentryCSN: 1\nsn: b\n";
        assert_eq!(without_changing(dump), "dn: a\nsn: b\n");
        assert_eq!(changes().matches("changetype: ").count(), CHANGES);
    }
}
