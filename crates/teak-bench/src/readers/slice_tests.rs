use super::*;
use crate::{
    data::Fingerprint,
    engines::{Held, ReadStart},
};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the requested keys, and finds all of them or none.
#[derive(Default)]
struct Counter {
    keys: AtomicU64,
    is_empty: bool,
}

impl Reader for Counter {
    fn read(&self, step: ReadStep, batches: &mut dyn Iterator<Item = &[Key]>) -> Result<Digest> {
        let mut digest = Digest::default();
        for batch in batches {
            self.keys.fetch_add(batch.len() as u64, Ordering::Relaxed);
            if !self.is_empty && !matches!(step, ReadStep::Transaction(_)) {
                digest.add(Digest::of_lookups(batch));
            }
        }
        Ok(digest)
    }

    fn fingerprint(&self, begun: &mut dyn FnMut()) -> Result<Fingerprint> {
        begun();
        Ok(Fingerprint::default())
    }

    fn hold(&self, _count: u32) -> Result<Box<dyn Held + '_>> {
        Ok(Box::new(Vec::<()>::new()))
    }
}

fn lookups(count: usize) -> KeyBatches {
    KeyBatches::new(&DataSet::new(count))
}

#[test]
fn every_operation_of_every_thread_is_counted() {
    let (counter, lookups) = (Counter::default(), lookups(300));
    for step in [ReadStep::Lookup, ReadStep::Transaction(ReadStart::Begin)] {
        counter.keys.store(0, Ordering::Relaxed);
        let outcome = run(&counter, step, &lookups, 3, Duration::from_millis(2));
        let outcome = outcome.expect("it does not fail");
        assert_eq!(outcome.operations, counter.keys.load(Ordering::Relaxed));
        assert!(outcome.elapsed >= Duration::from_millis(6), "{outcome:?}");
        assert!(outcome.ns_per_operation() > 0.0);
    }
}

#[test]
fn a_slice_without_time_has_a_batch_for_each_thread() {
    let step = ReadStep::TransactionWithLookup(ReadStart::Renew);
    let outcome = run(&Counter::default(), step, &lookups(10), 2, Duration::ZERO);
    assert_eq!(outcome.expect("it does not fail").operations, 20);
}

#[test]
fn lookups_that_find_nothing_are_errors() {
    let counter = Counter {
        is_empty: true,
        ..Counter::default()
    };
    let outcome = run(&counter, ReadStep::Lookup, &lookups(10), 1, Duration::ZERO);
    assert!(outcome.is_err_and(|error| error.to_string().contains("instead of")));
}
