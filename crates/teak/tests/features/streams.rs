//! Ranges and change feeds as streams, without an executor.

use futures_core::Stream;
use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};
use teak::{
    ChangeStream, Database, Error, Multi, RangeStream, Result,
    codec::{Bytes, Raw, Str},
};

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Reads a stream to its end. Returns how often it yielded, too.
fn collect<S: Stream + Unpin>(mut stream: S) -> (Vec<S::Item>, usize) {
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let (mut items, mut turns) = (Vec::new(), 0);
    loop {
        match Pin::new(&mut stream).poll_next(&mut Context::from_waker(&waker)) {
            Poll::Ready(Some(item)) => items.push(item),
            Poll::Ready(None) => return (items, turns),
            Poll::Pending => {
                turns += 1;
                assert_eq!(wakes.0.load(SeqCst), turns, "it is polled again");
            }
        }
    }
}

/// Waits for the next item of a stream.
fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    let began = Instant::now();
    loop {
        let mut item = pin!(poll_fn(|context| Pin::new(&mut *stream).poll_next(context)));
        match item.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(item) => return item,
            Poll::Pending => thread::sleep(Duration::from_millis(1)),
        }
        assert!(began.elapsed() < Duration::from_secs(30), "nothing comes");
    }
}

#[test]
fn streams_can_be_sent_to_other_threads() {
    fn assert_task<S: Stream + Send + Unpin + 'static>() {}
    assert_task::<RangeStream<u64, u64>>();
    assert_task::<RangeStream<&str, String, Multi>>();
    assert_task::<ChangeStream>();
}

#[test]
fn a_stream_has_the_records_of_its_range_and_yields_between_batches() -> Result<()> {
    let database = Database::in_memory()?;
    let mut txn = database.begin_write()?;
    let squares = txn.create_table::<u64, String>("squares")?;
    for number in 0..1000 {
        squares.insert(&mut txn, number, (number * number).to_string())?;
    }
    txn.commit()?;
    let txn = database.begin_read()?;
    for range in [
        squares.range(..),
        squares.range(100..900),
        squares.range(7..8),
    ] {
        let expected = range.iter(&txn)?;
        let expected = expected.map(|record| record.map(|(key, value)| (key, value.to_owned())));
        let mut expected = expected.collect::<Result<Vec<_>>>()?;
        let (records, turns) = collect(range.stream(&txn)?);
        assert_eq!(records.into_iter().collect::<Result<Vec<_>>>()?, expected);
        assert_eq!(turns, (expected.len() - 1) / 128);
        expected.reverse();
        let (records, turns) = collect(range.stream_rev(&txn)?);
        assert_eq!(records.into_iter().collect::<Result<Vec<_>>>()?, expected);
        assert_eq!(turns, (expected.len() - 1) / 128);
    }
    assert_eq!(collect(squares.range(5..5).stream(&txn)?).1, 0);
    Ok(())
}

#[test]
fn a_stream_of_pairs_has_each_value_of_each_key() -> Result<()> {
    let database = Database::in_memory()?;
    let mut txn = database.begin_write()?;
    let lines = txn.create_multi_table::<&str, u32>("lines")?;
    for line in 0..3000 {
        lines.insert(&mut txn, ["ash", "elm", "oak"][line as usize % 3], line)?;
    }
    txn.commit()?;
    let txn = database.begin_read()?;
    let range = lines.range_pairs(("ash", 1000)..("oak", 30));
    let mut expected = range.iter(&txn)?.collect::<Result<Vec<_>>>()?;
    let (records, turns) = collect(range.stream(&txn)?);
    assert_eq!(records.into_iter().collect::<Result<Vec<_>>>()?, expected);
    assert!(turns > 10);
    let (records, _) = collect(lines.range("elm"..).stream_rev(&txn)?);
    expected = lines.range("elm"..).iter(&txn)?.collect::<Result<_>>()?;
    expected.reverse();
    assert_eq!(records.into_iter().collect::<Result<Vec<_>>>()?, expected);
    Ok(())
}

#[test]
fn a_batch_of_large_values_is_small() -> Result<()> {
    let database = Database::in_memory()?;
    let mut txn = database.begin_write()?;
    let blocks = txn.create_table::<u64, Bytes>("blocks")?;
    for number in 0..10 {
        blocks.insert(&mut txn, number, [0; 100_000])?;
    }
    txn.commit()?;
    let (records, turns) = collect(blocks.range(..).stream(&database.begin_read()?)?);
    // Whether there is another batch after a full one, only the next poll knows.
    assert_eq!((records.len(), turns), (10, 10));
    Ok(())
}

#[test]
fn a_dropped_stream_ends_its_transaction() -> Result<()> {
    let database = Database::in_memory()?;
    let mut txn = database.begin_write()?;
    let squares = txn.create_table::<u64, u64>("squares")?;
    squares.insert_many(&mut txn, &[(1, 1), (2, 4)])?;
    txn.commit()?;
    let mut stream = squares.range(..).stream(&database.begin_read()?)?;
    assert_eq!(next(&mut stream).transpose()?, Some((1, 1)));
    assert_eq!(database.readers()?.len(), 1);
    drop(stream);
    assert_eq!(database.readers()?.len(), 0);
    Ok(())
}

#[test]
fn an_error_ends_a_stream() -> Result<()> {
    let database = Database::in_memory()?;
    let mut txn = database.begin_write()?;
    let numbers = txn.create_table::<u64, Raw>("numbers")?;
    for number in 0..300u64 {
        numbers.insert(
            &mut txn,
            number,
            &[7; 8][..if number == 200 { 3 } else { 8 }],
        )?;
    }
    txn.commit()?;
    let numbers = numbers.cast::<u64, u64>();
    let (records, _) = collect(numbers.range(..).stream(&database.begin_read()?)?);
    assert_eq!(records.len(), 201);
    assert!(
        matches!(records[200], Err(Error::Decode { .. })),
        "{:?}",
        records[200]
    );
    Ok(())
}

#[test]
fn a_feed_is_a_stream_that_ends_when_the_database_is_closed() -> Result<()> {
    let database = Database::in_memory()?;
    let mut txn = database.begin_write()?;
    let counts = txn.create_table::<Str, u64>("counts")?;
    txn.commit()?;
    let mut stream = database.follow(database.begin_read()?)?.into_stream();
    let poll = |stream: &mut ChangeStream| {
        Pin::new(stream).poll_next(&mut Context::from_waker(Waker::noop()))
    };
    assert!(poll(&mut stream).is_pending());
    for number in 1..=3 {
        let mut txn = database.begin_write()?;
        counts.insert(&mut txn, "all", number)?;
        txn.commit()?;
        let changes = next(&mut stream).unwrap()?;
        assert_eq!(changes.of(&counts)?.count(), 1);
        assert!(poll(&mut stream).is_pending());
    }
    database.close()?;
    assert!(matches!(next(&mut stream), Some(Err(_))));
    assert!(next(&mut stream).is_none());
    Ok(())
}

#[test]
fn a_waiting_feed_is_woken_by_a_commit() -> Result<()> {
    let database = Database::in_memory()?;
    let mut stream = database.follow(database.begin_read()?)?.into_stream();
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    assert!(
        Pin::new(&mut stream)
            .poll_next(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let mut txn = database.begin_write()?;
    txn.create_table::<Str, u64>("counts")?;
    txn.commit()?;
    let began = Instant::now();
    while wakes.0.load(SeqCst) == 0 {
        assert!(began.elapsed() < Duration::from_secs(30), "nobody wakes");
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
