//! The records that batches have made. The batches are those of `tests/c/threads.c`.

use crate::{Context, Result};
use std::collections::BTreeMap;

const SLOT_COUNT: u64 = 64;

/// Records by their keys.
pub(crate) type FoundRecords = BTreeMap<Vec<u8>, Vec<u8>>;

/// The records after the first batches of each thread.
#[derive(Clone, Debug)]
pub(crate) struct WrittenState {
    seed: u64,
    newest: Vec<u64>,
    records: FoundRecords,
}

impl WrittenState {
    pub(crate) fn new(seed: u64, threads: usize) -> Self {
        Self {
            seed,
            newest: vec![0; threads],
            records: BTreeMap::new(),
        }
    }

    /// The newest batch of each thread among records.
    pub(crate) fn newest_in(&self, found: &FoundRecords) -> Result<Vec<u64>> {
        let newest = |thread| match found.get(&last_key(thread)) {
            None => Ok(0),
            Some(number) => {
                let number = String::from_utf8_lossy(number);
                let number: Result<u64, _> = number.parse();
                number.context("the number of a batch is none")
            }
        };
        (0..self.newest.len()).map(newest).collect()
    }

    /// Applies the batches up to these.
    ///
    /// # Errors
    ///
    /// If one of them is older than one that was applied.
    pub(crate) fn advance(&mut self, newest: &[u64]) -> Result {
        for (thread, &end) in newest.iter().enumerate() {
            let applied = self.newest[thread];
            ensure!(
                applied <= end,
                "thread {thread}: batch {applied} was there, and now only {end}"
            );
            for number in applied + 1..=end {
                self.apply(thread, number);
            }
            self.newest[thread] = end;
        }
        Ok(())
    }

    /// Fails unless exactly the records of the applied batches are there.
    pub(crate) fn expect(&self, found: &FoundRecords) -> Result {
        if self.records == *found {
            return Ok(());
        }
        let is_other = |key: &&Vec<u8>| self.records.get(*key) != found.get(*key);
        let mut keys = self.records.keys().chain(found.keys());
        let key = keys.find(is_other).context("no key differs")?;
        let shown = |value: Option<&Vec<u8>>| {
            value.map(|value| value[..value.len().min(20)].escape_ascii().to_string())
        };
        bail!(
            "{:?}, of {} bytes, has {:?} instead of {:?}: a batch is not there as a whole",
            key[..key.len().min(20)].escape_ascii().to_string(),
            key.len(),
            shown(found.get(key)),
            shown(self.records.get(key))
        );
    }

    fn apply(&mut self, thread: usize, number: u64) {
        let mut state = self
            .seed
            .wrapping_add((thread as u64).wrapping_mul(0x0100_0000_01b3))
            .wrapping_add(number.wrapping_mul(0x9e37_79b1));
        let mut draw = |end: u64| draw(&mut state) % end;
        self.records
            .insert(last_key(thread), number.to_string().into_bytes());
        // Whether it is synced.
        draw(1);
        for entry in 0..draw(8) {
            let key = slot_key(thread, draw(SLOT_COUNT));
            if draw(4) == 0 {
                self.records.remove(&key);
                continue;
            }
            let mut value = format!("{number}:{entry}:").into_bytes();
            let letters = draw(300) as usize;
            let letter = b'a' + draw(26) as u8;
            value.resize(value.len() + letters, letter);
            self.records.insert(key, value);
        }
    }
}

fn last_key(thread: usize) -> Vec<u8> {
    format!("t{thread:02}/last").into_bytes()
}

fn slot_key(thread: usize, slot: u64) -> Vec<u8> {
    let letters = match slot % 16 {
        0 => 3800 + slot as usize * 60,
        _ => 0,
    };
    format!("t{thread:02}/{}{slot:04}", "k".repeat(letters)).into_bytes()
}

fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The records that a program printed, which must be all and in order.
pub(crate) fn found_records(output: &str) -> Result<FoundRecords> {
    let mut found = FoundRecords::new();
    let mut lines = output.lines();
    for line in lines.by_ref() {
        let Some((key, value)) = line.split_once(' ') else {
            ensure!(line == "end", "unexpected from the program: {line}");
            ensure!(lines.next().is_none(), "records after the end");
            return Ok(found);
        };
        let (key, value) = (bytes(key)?, bytes(value)?);
        let is_ascending = found.last_key_value().is_none_or(|(last, _)| *last < key);
        ensure!(is_ascending, "the keys are not in order");
        found.insert(key, value);
    }
    bail!("the program did not print all records");
}

fn bytes(hex: &str) -> Result<Vec<u8>> {
    let digits = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = hex.as_bytes().chunks(2).map(digits).collect::<Option<_>>();
    bytes.context("the program prints no hexadecimal digits")
}
