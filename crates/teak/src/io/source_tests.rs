use super::SourceStorage;
use crate::io::{Content, ReadAt, Storage};
use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

#[derive(Clone, Default)]
struct Counted {
    bytes: Arc<Vec<u8>>,
    reads: Arc<Mutex<Vec<(u64, usize)>>>,
    fails: Arc<AtomicBool>,
}

impl ReadAt for Counted {
    fn len_bytes(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        if self.fails.load(Relaxed) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.reads.lock().unwrap().push((offset, out.len()));
        let start = offset as usize;
        out.copy_from_slice(&self.bytes[start..start + out.len()]);
        Ok(())
    }
}

fn counted(len: usize) -> (Counted, SourceStorage) {
    let source = Counted {
        bytes: Arc::new((0..len).map(|index| index as u8).collect()),
        ..Counted::default()
    };
    let storage = SourceStorage::of_source(Box::new(source.clone())).unwrap();
    (source, storage)
}

#[test]
fn each_range_is_read_once_when_it_is_needed() {
    let (source, storage) = counted(1000);
    let mapping = storage.mapping().unwrap();
    assert_eq!(storage.len(), 1000);
    assert!(source.reads.lock().unwrap().is_empty());

    let [first, again] = [0, 0].map(|_| mapping.bytes_at_rest(256, 100).unwrap());
    assert_eq!(
        (first, again.as_ptr()),
        (&source.bytes[256..356], first.as_ptr())
    );
    assert_eq!(
        mapping.bytes_at_rest(256, 50).unwrap(),
        &source.bytes[256..306]
    );
    assert_eq!(
        mapping.bytes_at_rest(256, 200).unwrap(),
        &source.bytes[256..456]
    );
    // A longer part does not move the shorter one.
    assert_eq!(first, &source.bytes[256..356]);
    let mut copy = [0; 3];
    assert!(mapping.copy(997, &mut copy));
    assert_eq!(copy, source.bytes[997..]);
    assert_eq!(
        *source.reads.lock().unwrap(),
        [(256, 100), (256, 200), (997, 3)]
    );
}

/// A page of a large value was read again after the value.
#[test]
fn bytes_inside_of_a_part_are_not_read_again() {
    let (source, storage) = counted(1000);
    let mapping = storage.mapping().unwrap();
    let inner = mapping.bytes_at_rest(300, 10).unwrap();
    for (offset, len) in [
        (200, 400),
        (200, 400),
        (300, 10),
        (599, 1),
        (200, 1),
        (600, 0),
    ] {
        let (start, end) = (offset as usize, offset as usize + len);
        let bytes = mapping.bytes_at_rest(offset, len).unwrap();
        assert_eq!(bytes, &source.bytes[start..end]);
    }
    assert_eq!(inner, &source.bytes[300..310]);
    // It overlaps the part, and is in none.
    assert_eq!(
        mapping.bytes_at_rest(590, 20).unwrap(),
        &source.bytes[590..610]
    );
    assert_eq!(
        mapping.bytes_at_rest(605, 5).unwrap(),
        &source.bytes[605..610]
    );
    assert_eq!(
        *source.reads.lock().unwrap(),
        [(300, 10), (200, 400), (590, 20)]
    );
}

#[test]
fn nothing_is_read_outside_of_the_source() {
    let (source, storage) = counted(1000);
    let mapping = storage.mapping().unwrap();
    assert!(mapping.contains(0, 1000) && !mapping.contains(1, 1000));
    assert!(!mapping.contains(u64::MAX, 1));
    assert_eq!(mapping.bytes_at_rest(1000, 1), None);
    assert!(!mapping.copy(u64::MAX, &mut [0]));
    let error = mapping.prefault(999, 2, Content::Raw).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert!(mapping.take_failure().is_none());
    assert_eq!(mapping.failed_reads(), 0);
    assert!(source.reads.lock().unwrap().is_empty());
}

#[test]
fn a_failed_read_is_reported_and_repeated() {
    let (source, storage) = counted(1000);
    let mapping = storage.mapping().unwrap();
    source.fails.store(true, Relaxed);
    assert_eq!(mapping.bytes_at_rest(0, 10), None);
    assert_eq!(
        mapping.take_failure().unwrap().kind(),
        io::ErrorKind::TimedOut
    );
    assert_eq!(
        mapping.prefault(0, 10, Content::Raw).unwrap_err().kind(),
        io::ErrorKind::TimedOut
    );
    source.fails.store(false, Relaxed);
    assert_eq!(mapping.bytes_at_rest(0, 10), Some(&source.bytes[..10]));
}

#[test]
fn a_source_is_not_written_to() {
    let storage = SourceStorage::of_bytes(&[7; 100]).unwrap();
    assert_eq!(
        storage.mapping().unwrap().bytes_at_rest(98, 2),
        Some(&[7, 7][..])
    );
    assert!(storage.write(0, &[]).is_err() && storage.set_len(200).is_err());
    assert!(!storage.punch(0, 100).unwrap() && storage.writable().unwrap().is_none());
    // An empty source has a mapping too.
    let mapping = SourceStorage::of_bytes(&[]).unwrap().mapping().unwrap();
    assert!(mapping.contains(0, 0) && !mapping.contains(0, 1));
}

#[test]
fn a_length_beyond_the_memory_is_an_error() {
    struct Vast;
    impl ReadAt for Vast {
        fn len_bytes(&self) -> io::Result<u64> {
            Ok(u64::MAX / 2)
        }

        fn read_exact_at(&self, _out: &mut [u8], _offset: u64) -> io::Result<()> {
            Ok(())
        }
    }
    let storage = SourceStorage::of_source(Box::new(Vast)).unwrap();
    let mapping = storage.mapping().unwrap();
    for len in [isize::MAX as usize, isize::MAX as usize - 4096, 1 << 60] {
        let error = mapping.prefault(0, len, Content::Raw).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory, "{len}");
    }
}

#[test]
fn each_thread_gets_its_own_failure() {
    let (source, storage) = counted(1000);
    let mapping = storage.mapping().unwrap();
    source.fails.store(true, Relaxed);
    assert_eq!(mapping.bytes_at_rest(0, 10), None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(mapping.bytes_at_rest(2000, 10), None);
            assert!(mapping.take_failure().is_none());
        });
    });
    assert!(mapping.take_failure().is_some() && mapping.take_failure().is_none());
    assert_eq!(mapping.failed_reads(), 1);
}
