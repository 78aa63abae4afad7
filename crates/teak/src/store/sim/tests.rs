use super::*;

fn write(disk: &SimDisk, offset: u64, bytes: &[u8]) -> io::Result<()> {
    disk.write(offset, &[IoSlice::new(bytes)])
}

#[test]
fn what_is_written_is_seen_through_the_mapping() {
    let disk = SimDisk::new(1 << 20);
    let mapping = disk.mapping().unwrap();
    assert_eq!(mapping.bytes(0, 1), None);
    disk.set_len(8192).unwrap();
    disk.write(
        4094,
        &[IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cd")],
    )
    .unwrap();
    assert_eq!(mapping.bytes(4093, 6), Some(&b"\0abcd\0"[..]));
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
fn what_is_cut_is_zero_when_it_comes_back() {
    let disk = SimDisk::new(4096);
    disk.set_len(4).unwrap();
    write(&disk, 0, b"abcd").unwrap();
    disk.set_len(2).unwrap();
    let mapping = disk.mapping().unwrap();
    assert_eq!(mapping.bytes(0, 4), None);
    disk.set_len(4).unwrap();
    assert_eq!(mapping.bytes(0, 4), Some(&b"ab\0\0"[..]));
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
            Some(libc::EIO)
        );
    }
    assert_eq!(disk.process_crash(), [0; 100]);
}

#[test]
fn handles_are_of_the_same_disk() {
    let disk = SimDisk::new(1 << 30);
    let other = disk.clone();
    disk.set_len(1).unwrap();
    assert_eq!(other.len(), 1);
}
