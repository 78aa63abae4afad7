//! The service answers requests, shares flushes, and sends changes.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

struct Service {
    process: Child,
    address: String,
    _directory: tempfile::TempDir,
}

impl Service {
    fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut process = Command::new(env!("CARGO_BIN_EXE_http-service"))
            .arg(directory.path().join("notes.teak"))
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut line = String::new();
        let output = process.stdout.as_mut().expect("is captured");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let address = line.trim().rsplit(' ').next().expect("an address");
        Self {
            address: address.to_owned(),
            process,
            _directory: directory,
        }
    }

    fn send(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("connects");
        let limit = Some(Duration::from_secs(20));
        stream.set_read_timeout(limit).expect("a limit");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("writes");
        stream
    }

    /// The status and the body of the response.
    fn request(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut response = String::new();
        let mut stream = self.send(method, path, body);
        stream.read_to_string(&mut response).expect("a response");
        let (head, body) = response.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).expect("a status");
        (status.parse().expect("a number"), body.to_owned())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn notes_are_written_read_listed_and_removed() {
    let service = Service::start();
    assert_eq!(service.request("GET", "/notes/milk", "").0, 404);
    assert_eq!(service.request("PUT", "/notes/milk", "Buy milk").0, 204);
    assert_eq!(service.request("PUT", "/notes/bread", "Buy bread").0, 204);
    let read = service.request("GET", "/notes/milk", "");
    assert_eq!(read, (200, "Buy milk".to_owned()));
    let listed = service.request("GET", "/notes?from=c", "");
    assert_eq!(listed, (200, "milk\n".to_owned()));
    assert_eq!(service.request("DELETE", "/notes/milk", "").0, 204);
    assert_eq!(service.request("DELETE", "/notes/milk", "").0, 404);
    assert_eq!(
        service
            .request("PUT", &format!("/notes/{}", "x".repeat(5_000)), "")
            .0,
        400
    );
}

#[test]
fn subscribers_get_changes() {
    let service = Service::start();
    let mut events = BufReader::new(service.send("GET", "/changes", "")).lines();
    // The head of the response says that the subscription has begun.
    let head = events
        .by_ref()
        .find(|line| line.as_ref().is_ok_and(String::is_empty));
    assert!(head.is_some());
    assert_eq!(service.request("PUT", "/notes/milk", "Buy milk").0, 204);
    let event = events
        .map_while(Result::ok)
        .find(|line| line.starts_with("data:"));
    assert_eq!(event.as_deref(), Some("data: inserted milk"));
}

#[test]
fn concurrent_requests_share_flushes() {
    let service = Service::start();
    thread::scope(|scope| {
        for thread in 0..8 {
            let service = &service;
            scope.spawn(move || {
                for note in 0..25 {
                    let path = format!("/notes/{thread}-{note}");
                    assert_eq!(service.request("PUT", &path, "x").0, 204);
                }
            });
        }
    });
    let (_, text) = service.request("GET", "/metrics", "");
    let value = |name: &str| -> u64 {
        let name = format!("{name}{{database=\"notes\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name));
        line.expect("a counter").trim().parse().expect("a number")
    };
    assert!(value("teak_commits_total") >= 200, "{text}");
    assert!(value("teak_flushes_total") > 0, "{text}");
}
