use super::*;
use crate::data::{DataSet, Key};
use anyhow::ensure;
use std::{collections::BTreeSet, sync::Mutex};

/// Notes the committed keys. Can be set to fail at one of them.
#[derive(Default)]
struct Notebook {
    keys: Mutex<Vec<Key>>,
    fails_at: Option<Key>,
}

impl Committer for Notebook {
    fn commit_each(
        &self,
        records: &mut dyn Iterator<Item = &Record>,
        latencies: &mut Latencies,
    ) -> Result<()> {
        for record in records {
            ensure!(Some(record.key) != self.fails_at, "failed on purpose");
            latencies.time(|| self.keys.lock().expect("no thread panics").push(record.key));
        }
        Ok(())
    }

    fn commit_in_turn(
        &self,
        _records: &mut dyn Iterator<Item = Record>,
        _waits: &mut Latencies,
    ) -> Result<()> {
        Ok(())
    }
}

fn records(count: usize) -> Vec<Record> {
    let keys = DataSet::new(count).keys;
    keys.into_iter().map(|key| Record::new(key, 0)).collect()
}

#[test]
fn each_record_is_committed_once() {
    let (notebook, records) = (Notebook::default(), records(1000));
    for threads in [1, 2, 7] {
        let outcome = run(&notebook, &records, threads).expect("it does not fail");
        let keys = std::mem::take(&mut *notebook.keys.lock().expect("no thread panics"));
        assert_eq!(keys.len(), 1000);
        assert_eq!(BTreeSet::from_iter(keys).len(), 1000);
        assert_eq!(outcome.latencies.count(), 1000);
        assert!(outcome.elapsed > Duration::ZERO);
    }
}

#[test]
fn more_threads_than_records_is_no_harm() {
    let outcome = run(&Notebook::default(), &records(2), 8).expect("it does not fail");
    assert_eq!(outcome.latencies.count(), 2);
}

#[test]
fn an_error_on_one_thread_is_reported() {
    let records = records(100);
    let notebook = Notebook {
        fails_at: Some(records[40].key),
        ..Notebook::default()
    };
    let outcome = run(&notebook, &records, 4).map(|_| ());
    assert!(outcome.is_err_and(|error| error.to_string() == "failed on purpose"));
}
