//! Loading in bulk: each table is one transaction, built bottom-up from sorted records.

use super::input::LoadInput;
use super::state::{ExpectedTable, LoadState};
use crate::checksum::Checksum;
use crate::engine;
use crate::failure::Failure;
use crate::text::{Event, Header, printable};

const PROGRESS_INTERVAL: u64 = 10_000;

/// Loads all of `input`, whose first header has been read.
pub(super) fn load(
    state: &mut LoadState<'_>,
    input: &mut LoadInput,
    first_header: Header,
) -> Result<(), Failure> {
    let mut next_header = Some(first_header);
    while let Some(header) = next_header {
        next_header = load_table(state, input, &header)?;
    }
    Ok(())
}

/// Loads one table and returns the header of the next.
fn load_table(
    state: &mut LoadState<'_>,
    input: &mut LoadInput,
    header: &Header,
) -> Result<Option<Header>, Failure> {
    let name = state.begin_table(header)?;
    let mut txn = state.begin_write()?;
    let table = engine::open_or_create_table(&mut txn, &name, header)?;
    if table.len(&txn)? > 0 {
        return Err(Failure::Usage(format!(
            "table \"{}\" is not empty, and --bulk loads only into empty tables; load without --bulk, or clear it first",
            printable(&name)
        )));
    }
    let mut records = BulkRecords {
        state,
        input,
        checksum: Checksum::default(),
        end: Ok(None),
    };
    let loaded = if records.state.arguments.sorted {
        table.load_sorted(&mut txn, &mut records)
    } else {
        table.load_unsorted(&mut txn, &mut records)
    };
    let BulkRecords {
        mut checksum, end, ..
    } = records;
    // A failure of the input takes precedence: the engine only saw its records end.
    let next_header = end?;
    let loaded = loaded?;
    state.commit(txn)?;
    state.tally.replaced += checksum.records - loaded.min(checksum.records);
    let is_count = loaded != checksum.records;
    checksum.records = loaded;
    let expectation = ExpectedTable { checksum, is_count };
    state.expectations.insert(name, expectation);
    Ok(next_header)
}

/// The records of one table of the input, as an iterator for the engine. It ends at the end of the
/// table or at an error of the input; `end` says which.
struct BulkRecords<'a, 'b> {
    state: &'a mut LoadState<'b>,
    input: &'a mut LoadInput,
    checksum: Checksum,
    end: Result<Option<Header>, Failure>,
}

impl Iterator for BulkRecords<'_, '_> {
    type Item = (Vec<u8>, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.checksum.records.is_multiple_of(PROGRESS_INTERVAL) {
            self.input.show_progress(self.state.tally.records);
        }
        match self.input.next() {
            Ok(Event::Record { key, value, .. }) => {
                self.state.count_record(key, value);
                self.checksum.add(key, value);
                Some((key.to_vec(), value.to_vec()))
            }
            Ok(Event::Table(header)) => {
                self.end = Ok(Some(header));
                None
            }
            Ok(Event::End) => None,
            Err(failure) => {
                self.end = Err(failure);
                None
            }
        }
    }
}
