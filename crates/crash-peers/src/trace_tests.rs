use super::*;

/// A string in the format of `strace -xx`.
fn coded(text: &str) -> String {
    text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
}

fn events(lines: &[String]) -> Result<Vec<DiskEvent>> {
    let record = read(&lines.join("\n"), Path::new("/data"))?;
    Ok(record
        .events
        .iter()
        .map(|event| (**event).clone())
        .collect())
}

fn opening(flags: &str, descriptor: u32) -> String {
    let path = coded("/data");
    format!("77 openat(AT_FDCWD, \"{path}\", {flags}, 0644) = {descriptor}")
}

fn write(offset: u64, bytes: &[u8]) -> DiskEvent {
    DiskEvent::Write {
        offset,
        bytes: bytes.to_vec(),
    }
}

#[test]
fn writes_and_flushes_of_the_file_become_events() {
    let lines = [
        opening("O_RDWR|O_CREAT|O_CLOEXEC", 3),
        "77 pwrite64(3, \"\\x61\\x62\", 2, 4)    = 2".to_owned(),
        "77 pwrite64(4, \"\\x61\\x62\", 2, 4) = 2".to_owned(),
        "77 pwritev(3, [{iov_base=\"\\x63\", iov_len=1}, {iov_base=\"\\x64\", iov_len=1}], 2, 0) = 2"
            .to_owned(),
        "77 pwrite64(3, \"\\x65\", 1, 0) = -1 EIO (Input/output error)".to_owned(),
        "77 fdatasync(3) = 0".to_owned(),
        "77 close(3) = 0".to_owned(),
        "77 pwrite64(3, \"\\x66\", 1, 0) = 1".to_owned(),
    ];
    let expected = [
        DiskEvent::SetLen { bytes: 6 },
        write(4, b"ab"),
        write(0, b"cd"),
        DiskEvent::Flush,
        DiskEvent::FlushEnded { began: 3 },
    ];
    assert_eq!(events(&lines).unwrap(), expected);
}

#[test]
fn a_write_that_waits_for_the_disk_syncs_its_bytes() {
    let lines = [
        opening("O_RDWR|O_DSYNC|O_CLOEXEC", 9),
        "77 ftruncate(9, 64) = 0".to_owned(),
        "77 pwrite64(9, \"\\x61\", 1, 8) = 1".to_owned(),
    ];
    let expected = [
        DiskEvent::SetLen { bytes: 64 },
        write(8, b"a"),
        DiskEvent::Synced { offset: 8, len: 1 },
    ];
    assert_eq!(events(&lines).unwrap(), expected);
}

#[test]
fn writes_without_an_offset_follow_the_position() {
    let lines = [
        opening("O_RDWR", 3),
        "77 lseek(3, 6, SEEK_SET) = 6".to_owned(),
        "77 write(3, \"\\x61\\x62\", 2) = 2".to_owned(),
        "77 writev(3, [{iov_base=\"\\x63\", iov_len=1}], 1) = 1".to_owned(),
    ];
    let expected = [
        DiskEvent::SetLen { bytes: 8 },
        write(6, b"ab"),
        DiskEvent::SetLen { bytes: 9 },
        write(8, b"c"),
    ];
    assert_eq!(events(&lines).unwrap(), expected);
}

#[test]
fn marks_record_the_number_of_earlier_events() {
    let mark = coded("begun 7\n");
    let lines = [
        opening("O_RDWR", 3),
        "77 ftruncate(3, 64) = 0".to_owned(),
        format!("77 write(1, \"{mark}\", 8) = 8"),
    ];
    let record = read(&lines.join("\n"), Path::new("/data")).unwrap();
    assert_eq!(record.marks, [(1, ProgressMark::Begun(7))]);
}

#[test]
fn unsupported_calls_are_refused() {
    let unknown = "77 fallocate(3, FALLOC_FL_PUNCH_HOLE|FALLOC_FL_KEEP_SIZE, 0, 64) = 0";
    let mapped = "77 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0) = 0x7f0000000000";
    let cut_short = "77 pwrite64(3, \"\\x61\"..., 4096, 0) = 4096";
    for line in [unknown, mapped, cut_short] {
        let lines = [opening("O_RDWR", 3), line.to_owned()];
        assert!(events(&lines).is_err(), "{line}");
    }
}
