//! Each test names the exact set of images that a crash may leave. Blocks have 8 bytes, and an
//! image is shown as one character for each block.

use super::*;
use crate::io::{
    sim::{Fault, SimDisk},
    storage::Storage,
};
use std::io::IoSlice;

const BLOCK: usize = 8;

fn disk(blocks: &str) -> SimDisk {
    SimDisk::from_image(bytes_of(blocks), 1 << 16)
}

fn bytes_of(blocks: &str) -> Vec<u8> {
    blocks.bytes().flat_map(|byte| [byte; BLOCK]).collect()
}

fn write(disk: &SimDisk, block: u64, blocks: &str) {
    disk.write(block * BLOCK as u64, &[IoSlice::new(&bytes_of(blocks))])
        .unwrap();
}

fn set_blocks(disk: &SimDisk, count: u64) {
    disk.set_len(count * BLOCK as u64).unwrap();
}

/// All possible images at this point, each once. Blocks of zeros are shown as dots.
pub(super) fn images(points: &CrashPoints) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut script: Vec<(usize, usize)> = Vec::new();
    loop {
        let mut depth = 0;
        let image = points.power_cut(&mut |count| {
            if depth == script.len() {
                script.push((0, count));
            }
            depth += 1;
            script[depth - 1].0
        });
        found.insert(show(&image));
        while script
            .last()
            .is_some_and(|(chosen, count)| chosen + 1 == *count)
        {
            script.pop();
        }
        match script.last_mut() {
            Some((chosen, _)) => *chosen += 1,
            None => return found.into_iter().collect(),
        }
    }
}

fn show(image: &[u8]) -> String {
    let character = |block: &[u8]| {
        assert!(
            block.iter().all(|byte| *byte == block[0]),
            "a torn block: {block:?}"
        );
        if block[0] == 0 { '.' } else { block[0] as char }
    };
    image.chunks(BLOCK).map(character).collect()
}

fn images_now(disk: &SimDisk) -> Vec<String> {
    let mut points = disk.crash_points(BLOCK);
    while points.advance().is_some() {}
    images(&points)
}

#[test]
fn blocks_hold_a_prefix_of_their_writes_each() {
    let disk = disk("ab");
    write(&disk, 0, "12");
    write(&disk, 0, "3");
    let expected = ["12", "1b", "32", "3b", "a2", "ab"];
    assert_eq!(images_now(&disk), expected);
    assert_eq!(show(&disk.process_crash()), "32");
}

#[test]
fn a_flush_leaves_one_state() {
    let disk = disk("ab");
    write(&disk, 0, "12");
    disk.flush().unwrap();
    assert_eq!(images_now(&disk), ["12"]);
    write(&disk, 1, "3");
    assert_eq!(images_now(&disk), ["12", "13"]);
}

#[test]
fn writing_equal_bytes_makes_no_state() {
    let disk = disk("ab");
    write(&disk, 0, "ab");
    assert_eq!(images_now(&disk), ["ab"]);
}

#[test]
fn the_file_has_one_of_the_lengths_since_the_flush() {
    let disk = disk("a");
    set_blocks(&disk, 2);
    write(&disk, 1, "1");
    set_blocks(&disk, 3);
    assert_eq!(images_now(&disk), ["a", "a.", "a..", "a1", "a1."]);
    disk.flush().unwrap();
    assert_eq!(images_now(&disk), ["a1."]);
}

#[test]
fn truncation_and_growth_restore_nothing() {
    let disk = disk("ab");
    write(&disk, 1, "1");
    set_blocks(&disk, 1);
    set_blocks(&disk, 2);
    write(&disk, 1, "2");
    // Of the old length: "b" or "1". Of the new one: zeros or "2". Between: one block.
    assert_eq!(images_now(&disk), ["a", "a.", "a1", "a2", "ab"]);
    assert_eq!(show(&disk.process_crash()), "a2");
    disk.flush().unwrap();
    assert_eq!(images_now(&disk), ["a2"]);
}

#[test]
fn zeros_written_before_a_cut_do_not_hide_it() {
    let disk = disk("a.");
    write(&disk, 1, "1");
    write(&disk, 1, "\0");
    set_blocks(&disk, 1);
    set_blocks(&disk, 2);
    assert_eq!(images_now(&disk), ["a", "a.", "a1"]);
    // The newest length never comes with the "1" from before the cut: nothing is left to choose.
    let mut asked = Vec::new();
    let image = disk.power_cut(
        &mut |count| {
            asked.push(count);
            count - 1
        },
        BLOCK,
    );
    assert_eq!((show(&image).as_str(), asked), ("a.", vec![3]));
}

#[test]
fn a_cut_inside_of_a_block_keeps_its_head() {
    let disk = disk("ab");
    disk.set_len(12).unwrap();
    disk.set_len(16).unwrap();
    disk.flush().unwrap();
    let mut expected = bytes_of("ab");
    expected[12..].fill(0);
    assert_eq!(disk.power_cut(&mut |_| unreachable!(), BLOCK), expected);
}

#[test]
fn a_failed_flush_strands_the_written_blocks() {
    let disk = disk("abc");
    write(&disk, 0, "1");
    disk.fail_on(disk.calls(), Fault::DISK_ERROR);
    assert!(disk.flush().is_err());
    assert_eq!(show(&disk.process_crash()), "1bc");
    assert_eq!(images_now(&disk), ["abc"]);
    disk.flush().unwrap();
    assert_eq!(images_now(&disk), ["abc"]);
}

#[test]
fn a_write_to_the_cache_page_includes_stranded_bytes() {
    let disk = disk("abc");
    write(&disk, 0, "1");
    disk.fail_on(disk.calls(), Fault::DISK_ERROR);
    assert!(disk.flush().is_err());
    write(&disk, 2, "3");
    assert_eq!(images_now(&disk), ["1b3", "1bc", "ab3", "abc"]);
    disk.flush().unwrap();
    assert_eq!(images_now(&disk), ["1b3"]);
}

#[test]
fn a_write_to_another_cache_page_excludes_stranded_bytes() {
    let disk = SimDisk::from_image(vec![b'a'; 8192], 1 << 16);
    write(&disk, 0, "1");
    disk.fail_on(disk.calls(), Fault::DISK_ERROR);
    assert!(disk.flush().is_err());
    write(&disk, 512, "2");
    disk.flush().unwrap();
    let image = disk.power_cut(&mut |_| unreachable!(), 512);
    assert_eq!((image[0], image[4096]), (b'a', b'2'));
}

#[test]
fn a_failed_flush_leaves_lengths_open() {
    let disk = disk("a");
    set_blocks(&disk, 2);
    write(&disk, 1, "1");
    disk.fail_on(disk.calls(), Fault::DISK_ERROR);
    assert!(disk.flush().is_err());
    assert_eq!(images_now(&disk), ["a", "a."]);
}

/// Runs a flush, with these actions during it.
fn flush_during(disk: &SimDisk, work: impl Fn(&SimDisk) + Send + Sync + 'static) -> bool {
    let inside = disk.clone();
    disk.on_flush(move || {
        inside.forget_on_flush();
        work(&inside);
    });
    disk.flush().is_ok()
}

#[test]
fn writes_during_a_flush_may_or_may_not_be_durable() {
    let disk = disk("abc");
    write(&disk, 0, "12");
    assert!(flush_during(&disk, |disk| {
        assert_eq!(images_now(disk), ["12c", "1bc", "a2c", "abc"]);
        write(disk, 1, "34");
        let open = [
            "12c", "124", "134", "13c", "1b4", "1bc", "a24", "a2c", "a34", "a3c", "ab4", "abc",
        ];
        assert_eq!(
            BTreeSet::from(open.map(str::to_owned)),
            images_now(disk).into_iter().collect()
        );
    }));
    assert_eq!(images_now(&disk), ["124", "12c", "134", "13c"]);
    disk.flush().unwrap();
    assert_eq!(images_now(&disk), ["134"]);
}

#[test]
fn a_length_set_during_a_flush_stays_open() {
    let disk = disk("ab");
    write(&disk, 1, "1");
    assert!(flush_during(&disk, |disk| {
        set_blocks(disk, 1);
        set_blocks(disk, 2);
        write(disk, 1, "2");
    }));
    assert_eq!(images_now(&disk), ["a", "a.", "a1", "a2"]);
    disk.flush().unwrap();
    assert_eq!(images_now(&disk), ["a2"]);
}

#[test]
fn a_flush_within_a_flush_settles_more_than_the_one_around_it() {
    let disk = disk("ab");
    write(&disk, 0, "1");
    assert!(flush_during(&disk, |disk| {
        write(disk, 0, "2");
        assert!(flush_during(disk, |disk| write(disk, 1, "3")));
        assert_eq!(images_now(disk), ["23", "2b"]);
        write(disk, 0, "4");
    }));
    assert_eq!(images_now(&disk), ["23", "2b", "43", "4b"]);
}

#[test]
fn flushes_of_two_threads_overlap() {
    let disk = disk("ab");
    write(&disk, 0, "1");
    let meeting = Arc::new(std::sync::Barrier::new(2));
    let inside = (Arc::clone(&meeting), disk.clone());
    disk.on_flush(move || {
        inside.0.wait();
        write(&inside.1, 1, "2");
        inside.0.wait();
    });
    std::thread::scope(|scope| {
        scope.spawn(|| disk.flush().unwrap());
        scope.spawn(|| disk.flush().unwrap());
    });
    assert_eq!(images_now(&disk), ["12", "1b"]);
    let is_kind = |event: &DiskEvent, began: usize| *event == DiskEvent::FlushEnded { began };
    let events = disk.events();
    assert!(*events[1] == DiskEvent::Flush && *events[2] == DiskEvent::Flush);
    for began in [1, 2] {
        assert!(
            events.iter().any(|event| is_kind(event, began)),
            "{events:?}"
        );
    }
}

#[test]
fn a_failed_flush_does_not_affect_writes_during_it() {
    let disk = SimDisk::from_image(vec![b'a'; 3 * 4096], 1 << 16);
    let at = |page: u64| page * 4096 / BLOCK as u64;
    for page in 0..3 {
        write(&disk, at(page), "1");
    }
    disk.fail_on(disk.calls(), Fault::DISK_ERROR);
    assert!(!flush_during(&disk, move |disk| {
        write(disk, at(0), "2");
        write(disk, at(1) + 1, "3");
    }));
    disk.flush().unwrap();
    let image = disk.power_cut(&mut |_| unreachable!(), BLOCK);
    // The second page was written to, and its whole contents are included. The third is only in
    // memory.
    let heads = [0, 1, 2].map(|page| show(&image[page * 4096..][..2 * BLOCK]));
    assert_eq!(heads, ["2a", "13", "aa"]);
}

#[test]
fn the_head_may_have_other_blocks() {
    let disk = SimDisk::from_image(vec![0; 8192], 1 << 16);
    disk.write(4088, &[IoSlice::new(&[7; 16])]).unwrap();
    let mut points = disk.crash_points_mixed(4096, 8, 4096);
    points.advance();
    for (chosen, expected) in [([1, 0], [7, 0]), ([0, 1], [0, 7])] {
        let mut asked = chosen.into_iter();
        let image = points.power_cut(&mut |_| asked.next().unwrap());
        assert_eq!([image[4088], image[4096]], expected);
    }
}

#[test]
fn a_kill_decides_nothing_about_the_disk() {
    let disk = disk("ab");
    write(&disk, 0, "1");
    let killed = disk.after_kill();
    write(&disk, 0, "2");
    assert_eq!(show(&killed.process_crash()), "1b");
    assert_eq!(images_now(&killed), ["1b", "ab"]);
    write(&killed, 1, "3");
    killed.flush().unwrap();
    assert_eq!(images_now(&killed), ["13"]);
    assert_eq!(images_now(&disk), ["1b", "2b", "ab"]);
}

#[test]
fn a_block_may_tear_a_write_but_not_itself() {
    let disk = SimDisk::from_image(vec![0; 4096], 1 << 16);
    disk.write(100, &[IoSlice::new(&[7; 1000])]).unwrap();
    // Bytes 100 to 1100 are in three blocks of 512, in 17 of 64, and in one of 4096.
    for (granularity, blocks) in [(512, 3), (64, 17), (4096, 1)] {
        let mut asked = 0;
        let image = disk.power_cut(
            &mut |count| {
                asked += 1;
                assert_eq!(count, 2);
                asked
            },
            granularity,
        );
        assert_eq!(asked, blocks, "granularity {granularity}");
        for block in image.chunks(granularity) {
            let written = block.iter().filter(|byte| **byte == 7).count();
            assert!(
                written == 0
                    || written == block.len()
                    || granularity > 64
                    || written == 28
                    || written == 12
            );
        }
    }
}

#[test]
fn crashes_can_be_taken_at_each_event() {
    let disk = disk("ab");
    write(&disk, 0, "1");
    disk.flush().unwrap();
    write(&disk, 1, "2");
    let mut points = disk.crash_points(BLOCK);
    let mut found = vec![images(&points)];
    while points.advance().is_some() {
        found.push(images(&points));
    }
    // The number of images after nothing, the write, the begin of the flush, its end, the other
    // write.
    let expected: [&[&str]; 5] = [
        &["ab"],
        &["1b", "ab"],
        &["1b", "ab"],
        &["1b"],
        &["12", "1b"],
    ];
    assert_eq!(found, expected);
    assert_eq!(points.event_index(), disk.event_count());
    assert_eq!(show(&disk.power_cut_at(1, &mut |_| 1, BLOCK)), "1b");
    assert_eq!(show(&disk.power_cut_at(1, &mut |_| 0, BLOCK)), "ab");
    assert_eq!(show(&disk.power_cut_at(99, &mut |_| 1, BLOCK)), "12");
}

#[test]
fn an_image_is_a_disk_again() {
    let disk = disk("ab");
    write(&disk, 0, "1");
    let again = SimDisk::from_image(disk.power_cut(&mut |_| 1, BLOCK), 0);
    assert_eq!(images_now(&again), ["1b"]);
    assert_eq!(again.len(), 16);
}

#[test]
#[should_panic(expected = "power of two")]
fn the_granularity_is_checked() {
    let _ = disk("a").crash_points(48);
}

/// All images after the last of these events.
fn images_of_record(events: Vec<DiskEvent>) -> Vec<String> {
    let events = events.into_iter().map(Arc::new).collect();
    let mut points = CrashPoints::of_record(events, 0, BLOCK, BLOCK);
    while points.advance().is_some() {}
    images(&points)
}

fn written(block: u64, blocks: &str) -> DiskEvent {
    DiskEvent::Write {
        offset: block * BLOCK as u64,
        bytes: bytes_of(blocks),
    }
}

#[test]
fn a_synced_write_flushes_its_cache_page_and_the_length_only() {
    const PAGE: u64 = CACHE_PAGE_LEN / BLOCK as u64;
    let synced = DiskEvent::Synced {
        offset: 2 * BLOCK as u64,
        len: BLOCK as u64,
    };
    let set_len = DiskEvent::SetLen {
        bytes: CACHE_PAGE_LEN + BLOCK as u64,
    };
    let events = vec![
        set_len,
        written(0, "a"),
        written(PAGE, "b"),
        written(2, "c"),
        synced,
        written(2, "d"),
    ];
    let rest = ".".repeat(PAGE as usize - 3);
    let image = |third, last| format!("a.{third}{rest}{last}");
    let expected = [
        image('c', '.'),
        image('c', 'b'),
        image('d', '.'),
        image('d', 'b'),
    ];
    assert_eq!(images_of_record(events), expected);
}

fn punch(disk: &SimDisk, block: u64, count: u64) {
    let len = BLOCK as u64;
    assert!(disk.punch(block * len, count * len).unwrap());
}

#[test]
fn returned_blocks_are_unchanged_or_zero() {
    let disk = disk("abc");
    punch(&disk, 0, 2);
    assert_eq!(images_now(&disk), ["..c", ".bc", "a.c", "abc"]);
    write(&disk, 1, "x");
    assert_eq!(
        images_now(&disk),
        ["..c", ".bc", ".xc", "a.c", "abc", "axc"]
    );
    disk.flush().unwrap();
    assert_eq!(images_now(&disk), [".xc"]);
}

#[test]
fn a_failed_flush_does_not_restore_returned_blocks() {
    let disk = disk("ab");
    write(&disk, 1, "x");
    punch(&disk, 0, 1);
    disk.fail_on(disk.calls(), Fault::DISK_ERROR);
    assert!(disk.flush().is_err());
    assert_eq!(images_now(&disk), [".b", "ab"]);
}
