use super::*;
use crate::io::Failure;

fn write(disk: &SimDisk, offset: u64, bytes: &[u8]) -> io::Result<()> {
    disk.write(offset, &[IoSlice::new(bytes)])
}

#[test]
fn writes_are_visible_through_the_mapping() {
    let disk = SimDisk::new(1 << 20);
    let mapping = disk.mapping().unwrap();
    assert_eq!(mapping.bytes_at_rest(0, 1), None);
    disk.set_len(8192).unwrap();
    disk.write(
        4094,
        &[IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cd")],
    )
    .unwrap();
    assert_eq!(mapping.bytes_at_rest(4093, 6), Some(&b"\0abcd\0"[..]));
    assert!(Arc::ptr_eq(&mapping, &disk.mapping().unwrap()));
}

#[test]
fn a_write_does_not_extend_the_file() {
    let disk = SimDisk::new(1 << 20);
    disk.set_len(10).unwrap();
    for offset in [7, 10, 1 << 30, u64::MAX] {
        assert_eq!(
            write(&disk, offset, b"abcd").unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
    }
    assert_eq!((disk.len(), disk.event_count()), (10, 1));
}

#[test]
fn a_full_disk_is_an_error() {
    let disk = SimDisk::new(4096);
    disk.set_len(4096).unwrap();
    let error = disk.set_len(4097).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(disk.len(), 4096);
}

#[test]
fn truncated_bytes_are_zero_after_growth() {
    let disk = SimDisk::new(4096);
    disk.set_len(4).unwrap();
    write(&disk, 0, b"abcd").unwrap();
    disk.set_len(2).unwrap();
    let mapping = disk.mapping().unwrap();
    assert_eq!(mapping.bytes_at_rest(0, 4), None);
    disk.set_len(4).unwrap();
    assert_eq!(mapping.bytes_at_rest(0, 4), Some(&b"ab\0\0"[..]));
}

#[test]
fn the_nth_call_fails() {
    for failing in 0..4 {
        let disk = SimDisk::new(4096);
        disk.fail_on(failing, Fault::DISK_FULL);
        let results = [
            disk.set_len(100).is_err(),
            disk.mapping().is_err(),
            write(&disk, 0, b"").is_err(),
            disk.flush().is_err(),
            disk.flush().is_err(),
        ];
        let expected: [bool; 5] = std::array::from_fn(|call| call as u64 == failing);
        assert_eq!(results, expected);
        assert_eq!(disk.calls(), 5);
    }
}

#[test]
fn a_sticky_fault_stays() {
    let disk = SimDisk::new(4096);
    disk.fail_on(1, Fault::DISK_ERROR.for_ever());
    disk.set_len(100).unwrap();
    for _ in 0..3 {
        assert_eq!(
            write(&disk, 0, b"a").unwrap_err().raw_os_error(),
            Some(Failure::DiskFailed.code())
        );
    }
    assert_eq!(disk.process_crash(), [0; 100]);
}

#[test]
fn extents_are_written_when_marked() {
    let disk = SimDisk::new(1 << 20);
    disk.set_len(8192).unwrap();
    disk.flush().unwrap();
    let mut extent = disk
        .writable()
        .unwrap()
        .unwrap()
        .extent_at_rest(4096, 4096)
        .unwrap();
    extent[..3].copy_from_slice(b"abc");
    assert_eq!(disk.process_crash()[4096..4099], *b"abc");
    assert_eq!(disk.power_cut(&mut |_| 1, 512)[4096..4099], [0; 3]);
    disk.mark_written(4096, 4096);
    extent[3] = b'd';
    assert_eq!(disk.power_cut(&mut |_| 1, 512)[4096..4100], *b"abc\0");
    assert_eq!(disk.power_cut(&mut |_| 0, 512)[4096..4099], [0; 3]);
    assert_eq!(
        disk.mapping().unwrap().bytes_at_rest(4096, 4),
        Some(&b"abcd"[..])
    );
}

#[test]
fn marks_after_the_end_record_nothing() {
    let disk = SimDisk::new(1 << 20);
    disk.set_len(100).unwrap();
    for (offset, len) in [(100, 10), (5000, 1), (0, 0), (u64::MAX, u64::MAX)] {
        disk.mark_written(offset, len);
    }
    assert_eq!(disk.event_count(), 1);
    disk.mark_written(90, 50);
    assert_eq!(
        *disk.events()[1],
        DiskEvent::Write {
            offset: 90,
            bytes: vec![0; 10]
        }
    );
}

#[test]
fn the_file_is_not_cut_short_under_an_extent() {
    let disk = SimDisk::new(1 << 20);
    disk.set_len(8192).unwrap();
    let extent = disk
        .writable()
        .unwrap()
        .unwrap()
        .extent_at_rest(0, 8192)
        .unwrap();
    assert_eq!(
        disk.set_len(4096).unwrap_err().kind(),
        io::ErrorKind::ResourceBusy
    );
    drop(extent);
    disk.set_len(4096).unwrap();
}

#[test]
fn handles_are_of_the_same_disk() {
    let disk = SimDisk::new(1 << 30);
    let other = disk.clone();
    disk.set_len(1).unwrap();
    assert_eq!(other.len(), 1);
}

#[test]
fn a_fault_lasts_for_a_number_of_calls() {
    let disk = SimDisk::new(4096);
    disk.fail_on(1, Fault::DISK_ERROR.and_more(2));
    let results: Vec<bool> = (0..6).map(|_| disk.flush().is_err()).collect();
    assert_eq!(results, [false, true, true, true, false, false]);
    assert_eq!(disk.failed_calls(1), [Call::Flush; 2]);
}

#[test]
fn a_fault_of_one_kind_spares_the_others() {
    let disk = SimDisk::new(4096);
    disk.fail_on(1, Fault::DISK_FULL.for_ever().of_one_kind());
    disk.set_len(100).unwrap();
    assert!(disk.set_len(200).is_err());
    write(&disk, 0, b"a").unwrap();
    disk.flush().unwrap();
    assert!(disk.writable().unwrap().is_some());
    assert!(disk.set_len(200).is_err());
    disk.heal();
    disk.set_len(200).unwrap();
    let kinds = [
        Call::SetLen,
        Call::SetLen,
        Call::Write,
        Call::Flush,
        Call::Writable,
    ];
    assert_eq!(disk.call_kinds()[..5], kinds);
}

#[test]
fn a_short_write_has_written_a_part() {
    let disk = SimDisk::new(4096);
    disk.set_len(8).unwrap();
    disk.fail_on(1, Fault::DISK_ERROR.cut_short(128));
    let parts = [IoSlice::new(b"ab"), IoSlice::new(b"cdef")];
    assert!(disk.write(0, &parts).is_err());
    assert_eq!(disk.process_crash(), *b"abc\0\0\0\0\0");
    assert_eq!(disk.event_count(), 2);
}

#[test]
fn a_killed_process_does_nothing_any_more() {
    let disk = SimDisk::new(4096);
    disk.set_len(4).unwrap();
    let next = disk.kill();
    assert!(write(&disk, 0, b"ab").is_err() && disk.flush().is_err());
    assert!(disk.mapping().is_err() && disk.writable().is_err());
    assert_eq!((next.len(), next.calls(), next.event_count()), (4, 1, 1));
    write(&next, 0, b"cd").unwrap();
    assert_eq!(next.process_crash(), *b"cd\0\0");
}

#[test]
fn punched_ranges_are_zero_and_need_blocks_again() {
    let disk = SimDisk::new(1 << 16);
    disk.set_len(1 << 16).unwrap();
    write(&disk, 0, &[7; 1 << 16]).unwrap();
    assert!(disk.punch(4096, 8192).unwrap());
    assert!(disk.punch(1 << 16, 4096).is_err());
    let mapping = disk.mapping().unwrap();
    let bytes = mapping.bytes_at_rest(0, 1 << 16).unwrap();
    assert!(bytes[4096..][..8192].iter().all(|byte| *byte == 0));
    assert_eq!((bytes[4095], bytes[3 * 4096]), (7, 7));
    disk.fail_on(disk.calls(), Fault::DISK_FULL);
    assert!(disk.secure(0, 4096).unwrap(), "no blocks were needed");
    let error = disk.secure(8192, 8192).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(disk.secure(8192, 8192).unwrap());
    write(&disk, 4096, b"x").unwrap();
    assert!(!disk.call_kinds()[disk.calls() as usize - 1..].contains(&Call::Allocate));
}
