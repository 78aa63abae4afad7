//! Logs and manifests with other records and correct checksums.

use super::bytes::{change, put_varint, stored_checksum};
use fastrand::Rng;

const BLOCK_LEN: usize = 32 << 10;
const HEADER_LEN: usize = 7;
const FULL: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;

/// Changes records of a log: their bytes, their order or their number.
pub(super) fn forge(log: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    let mut records = records(log);
    if records.is_empty() {
        return None;
    }
    for _ in 0..rng.usize(1..=3) {
        let at = rng.usize(0..records.len());
        match rng.u8(0..8) {
            0 => records.swap(at, 0),
            1 => records.push(records[at].clone()),
            2 if records.len() > 1 => {
                records.remove(at);
            }
            _ => change(&mut records[at], rng),
        }
    }
    Some(write(&records))
}

/// Replaces a number wherever a record has it, such as the length of a table in a manifest.
pub(super) fn replace_number(log: &[u8], old: u64, new: u64) -> Vec<u8> {
    let [old, new] = [old, new].map(|number| {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, number);
        bytes
    });
    let mut records = records(log);
    for record in &mut records {
        let found = record.windows(old.len()).position(|part| part == old);
        if let Some(at) = found {
            record.splice(at..at + old.len(), new.iter().copied());
        }
    }
    write(&records)
}

/// The records of an undamaged log.
fn records(log: &[u8]) -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = Vec::new();
    for mut block in log.chunks(BLOCK_LEN) {
        while let Some((header, rest)) = block.split_at_checked(HEADER_LEN) {
            let len = usize::from(u16::from_le_bytes([header[4], header[5]]));
            let Some((piece, rest)) = rest.split_at_checked(len) else {
                break;
            };
            match (header[6], records.last_mut()) {
                (FULL | FIRST, _) => records.push(piece.to_vec()),
                (MIDDLE | LAST, Some(record)) => record.extend_from_slice(piece),
                _ => break,
            }
            block = rest;
        }
    }
    records
}

fn write(records: &[Vec<u8>]) -> Vec<u8> {
    let mut log: Vec<u8> = Vec::new();
    for record in records {
        let (mut rest, mut is_first) = (&record[..], true);
        loop {
            let left = BLOCK_LEN - log.len() % BLOCK_LEN;
            if left < HEADER_LEN {
                log.resize(log.len() + left, 0);
                continue;
            }
            let (piece, after) = rest.split_at(rest.len().min(left - HEADER_LEN));
            let kind = match (is_first, after.is_empty()) {
                (true, true) => FULL,
                (true, false) => FIRST,
                (false, true) => LAST,
                (false, false) => MIDDLE,
            };
            log.extend(stored_checksum(&[&[kind], piece].concat()));
            log.extend((piece.len() as u16).to_le_bytes());
            log.push(kind);
            log.extend(piece);
            (rest, is_first) = (after, false);
            if rest.is_empty() {
                break;
            }
        }
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_written_as_it_was_read() {
        let long = vec![7; 3 * BLOCK_LEN];
        let written = vec![b"a".to_vec(), Vec::new(), long, b"b".to_vec()];
        assert_eq!(records(&write(&written)), written);
    }
}
