//! Each test names the exact set of logs that a crash may leave. Blocks have 512 bytes, and a log
//! is shown as one character for each block.

use super::tests::images;
use crate::io::{
    LockMode, Storage,
    log_storage::{BLOCK_LEN, LogLocation, LogPart, LogStorage},
    sim::{Fault, SimDisk},
};
use std::{io::IoSlice, sync::Arc};

/// A disk whose file has one block, with a log of two blocks that is on the disk.
fn created() -> (SimDisk, Arc<dyn LogStorage>) {
    let disk = SimDisk::from_image(vec![b'a'; BLOCK_LEN], 1 << 16).with_log(Vec::new());
    let log = disk.create(LockMode::Masked(0o600)).unwrap();
    log.fill(0..2 * BLOCK_LEN).unwrap();
    log.flush_name().unwrap();
    (disk, log)
}

fn write(log: &dyn LogStorage, block: usize, blocks: &str) {
    let offset = (block * BLOCK_LEN) as u64;
    log.write(&bytes_of(blocks), offset).unwrap();
}

fn part(block: usize, blocks: &str) -> LogPart {
    LogPart {
        start: block * BLOCK_LEN,
        bytes: bytes_of(blocks),
    }
}

fn write_file(disk: &SimDisk, block: &str) {
    disk.write(0, &[IoSlice::new(&bytes_of(block))]).unwrap();
}

fn bytes_of(blocks: &str) -> Vec<u8> {
    blocks.bytes().flat_map(|byte| [byte; BLOCK_LEN]).collect()
}

/// All files and all logs that a power cut may leave now.
fn images_now(disk: &SimDisk) -> [Vec<String>; 2] {
    let mut points = disk.crash_points(BLOCK_LEN);
    while points.advance().is_some() {}
    // They are shown in blocks of 8 bytes.
    let shortened = |image: String| image.chars().step_by(BLOCK_LEN / 8).collect();
    [&points, points.log().unwrap()]
        .map(|points| images(points).into_iter().map(shortened).collect())
}

fn logs_now(disk: &SimDisk) -> Vec<String> {
    let [_, logs] = images_now(disk);
    logs
}

#[test]
fn a_flush_of_one_file_says_nothing_about_the_other() {
    let (disk, log) = created();
    write_file(&disk, "1");
    write(&*log, 0, "x");
    disk.flush().unwrap();
    assert_eq!(images_now(&disk), [vec!["1"], vec!["..", "x."]]);
    write_file(&disk, "2");
    log.flush().unwrap();
    assert_eq!(images_now(&disk), [vec!["1", "2"], vec!["x."]]);
}

#[test]
fn a_direct_write_settles_its_blocks_only() {
    let (disk, log) = created();
    disk.fail_on(disk.calls(), Fault::DISK_ERROR.cut_short(128));
    assert!(log.write_durably(&part(0, "xx")).is_err());
    assert!(log.write_durably(&part(1, "y")).unwrap());
    assert_eq!(logs_now(&disk), [".y", "xy"]);
}

#[test]
#[should_panic(expected = "through the cache and past it")]
fn a_page_in_the_cache_is_flushed_before_a_direct_write() {
    let (_disk, log) = created();
    write(&*log, 0, "x");
    let _ = log.write_durably(&part(1, "y"));
}

#[test]
fn an_entry_is_torn_between_blocks() {
    let (disk, log) = created();
    let before = disk.event_count();
    write(&*log, 0, "xx");
    assert_eq!(logs_now(&disk), ["..", ".x", "x.", "xx"]);
    let mut points = disk.crash_points(BLOCK_LEN);
    while points.event_index() <= before {
        points.advance();
    }
    let killed = disk.after_kill_at(&points, 1 << 16);
    assert_eq!(killed.log(), [bytes_of("x"), vec![0; BLOCK_LEN]].concat());
}

#[test]
fn a_direct_write_that_has_not_ended_may_be_torn() {
    let (disk, log) = created();
    disk.fail_on(disk.calls(), Fault::DISK_ERROR.cut_short(128));
    assert!(log.write_durably(&part(0, "xx")).is_err());
    assert_eq!(logs_now(&disk), ["..", "x."]);
}

#[test]
fn a_failed_flush_forgets_written_bytes() {
    let (disk, log) = created();
    write(&*log, 0, "x");
    disk.fail_on(disk.calls(), Fault::DISK_ERROR);
    assert!(log.flush().is_err());
    log.flush().unwrap();
    assert_eq!(logs_now(&disk), [".."]);
    assert_eq!(disk.log(), [bytes_of("x"), vec![0; BLOCK_LEN]].concat());
}

#[test]
fn a_log_is_there_for_certain_when_its_name_is_on_the_disk() {
    let disk = SimDisk::new(1 << 16).with_log(Vec::new());
    let log = disk.create(LockMode::Masked(0o600)).unwrap();
    disk.fail_on(disk.calls(), Fault::DISK_FULL);
    assert!(log.fill(0..2 * BLOCK_LEN).is_err());
    assert_eq!(disk.log(), []);
    log.fill(0..2 * BLOCK_LEN).unwrap();
    assert_eq!(logs_now(&disk), ["", ".."]);
    log.flush_name().unwrap();
    assert_eq!(logs_now(&disk), [".."]);
    assert!(disk.create(LockMode::Masked(0o600)).is_err());
    LogStorage::remove(&*log);
    assert_eq!(disk.log(), []);
    assert_eq!(logs_now(&disk), ["", ".."]);
    LogLocation::remove(&disk).unwrap();
    assert_eq!(logs_now(&disk), [""]);
}
