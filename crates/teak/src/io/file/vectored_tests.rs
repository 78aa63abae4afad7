use super::*;

/// Writes `parts` with a system that accepts at most `limit` bytes per call, and fails the calls
/// that `refuse` names.
fn written(
    parts: &[&[u8]],
    limit: usize,
    refuse: impl Fn(usize) -> Option<io::ErrorKind>,
) -> (io::Result<()>, Vec<u8>) {
    let slices: Vec<IoSlice> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let mut disk = Vec::new();
    let mut calls = 0;
    let result = write_all(100, &slices, |offset, parts| {
        assert!(parts.len() <= PARTS_MAX);
        assert_eq!(offset, 100 + disk.len() as u64);
        calls += 1;
        if let Some(kind) = refuse(calls - 1) {
            return Err(kind.into());
        }
        let bytes: Vec<u8> = parts
            .iter()
            .flat_map(|part| part.iter().copied())
            .take(limit)
            .collect();
        disk.extend(&bytes);
        Ok(bytes.len())
    });
    (result, disk)
}

#[test]
fn short_writes_are_continued() {
    for limit in 1..12 {
        let (result, disk) = written(&[b"abc", b"", b"d", b"", b"efghi", b""], limit, |_| None);
        result.unwrap();
        assert_eq!(disk, b"abcdefghi", "limit {limit}");
    }
}

#[test]
fn more_parts_than_one_call_takes() {
    let parts: Vec<[u8; 1]> = (0..3000).map(|i| [i as u8]).collect();
    let slices: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
    for limit in [7, 1024, usize::MAX] {
        let (result, disk) = written(&slices, limit, |_| None);
        result.unwrap();
        assert_eq!(disk, parts.concat());
    }
}

#[test]
fn interruptions_are_repeated() {
    let odd = |call: usize| (call % 2 == 1).then_some(io::ErrorKind::Interrupted);
    let (result, disk) = written(&[b"abc", b"def"], 2, odd);
    result.unwrap();
    assert_eq!(disk, b"abcdef");
}

#[test]
fn other_errors_end_the_write() {
    let second = |call: usize| (call == 1).then_some(io::ErrorKind::StorageFull);
    let (result, disk) = written(&[b"abc", b"def"], 2, second);
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(disk, b"ab");
}

#[test]
fn a_write_that_takes_nothing_is_an_error() {
    let (result, _) = written(&[b"abc"], 0, |_| None);
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::WriteZero);
}

#[test]
fn nothing_needs_no_call() {
    let never = |_| Some(io::ErrorKind::Other);
    written(&[], 1, never).0.unwrap();
    written(&[b"", b""], 1, never).0.unwrap();
}
