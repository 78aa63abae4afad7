//! Streams: the records of a range, and the commits of a feed, for async programs.

use super::{
    ChangeFeed, Changes, Kind, Range, ReadTxn, Single,
    codec::{Codec, Raw},
    iter::OwnedIter,
};
#[cfg(doc)]
use crate::Error;
use crate::{Result, btree::position::Direction, process::commit_future::CommitFuture};
use futures_core::Stream;
use std::{
    fmt,
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
    vec,
};

/// How many records are read with one poll.
const BATCH_RECORDS: usize = 128;
/// About how many bytes of keys and values are read with one poll; at least one record.
const BATCH_BYTES: usize = 64 << 10;

/// An owned record.
type StreamedRecord<K, V> = (<K as Codec>::Owned, <V as Codec>::Owned);

impl<K: Codec, V: Codec, M: Kind> Range<'_, K, V, M> {
    /// Returns a stream of the records, which holds the transaction. Only with the feature
    /// `stream`.
    ///
    /// ```
    /// # use std::{future::poll_fn, pin::pin, task::{Context, Poll, Waker}};
    /// use futures_core::Stream;
    /// # use teak::Database;
    /// # let database = Database::in_memory()?;
    /// let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<u64, u64>("squares")?;
    /// squares.insert_many(&mut txn, &[(1, 1), (2, 4), (3, 9)])?;
    /// txn.commit()?;
    ///
    /// let mut records = pin!(squares.range(2..).stream(&database.begin_read()?)?);
    /// let sum = async move {
    ///     let mut sum = 0;
    ///     // `records.next().await` with the `StreamExt` of tokio or of futures.
    ///     while let Some(record) = poll_fn(|context| records.as_mut().poll_next(context)).await {
    ///         sum += record?.1;
    ///     }
    ///     Ok::<_, teak::Error>(sum)
    /// };
    /// # let Poll::Ready(sum) = pin!(sum).poll(&mut Context::from_waker(Waker::noop())) else {
    /// #     panic!("a batch takes one poll");
    /// # };
    /// # assert_eq!(sum?, 13);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys or the values.
    pub fn stream(&self, txn: &ReadTxn) -> Result<RangeStream<K, V, M>> {
        self.streamed(txn, Direction::Forward)
    }

    /// Returns a stream of the records from the last one to the first one. Only with the feature
    /// `stream`.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if a bound is
    /// an integer of another length than the keys or the values.
    pub fn stream_rev(&self, txn: &ReadTxn) -> Result<RangeStream<K, V, M>> {
        self.streamed(txn, Direction::Backward)
    }

    fn streamed(&self, txn: &ReadTxn, direction: Direction) -> Result<RangeStream<K, V, M>> {
        Ok(RangeStream {
            records: self.owned(txn)?,
            direction,
            batch: Vec::new().into_iter(),
            has_yielded: true,
        })
    }
}

/// The records of a range as a stream, holding the transaction; see [`Range::stream`]. Only with
/// the feature `stream`.
///
/// It needs no thread and no executor of a certain kind. A poll reads up to 128 records or about 64
/// KiB, and hands them out one by one. Before the next batch other tasks of the executor have a
/// turn. Dropping the stream ends the transaction. The first error ends the stream.
///
/// Reading pages that are not in memory blocks the thread, as everywhere. So read a file that is
/// much larger than the memory in a thread for blocking work, with [`Range::owned`].
///
/// ```
/// # use teak::{Database, Multi, RangeStream};
/// fn assert_send<S: futures_core::Stream + Send + Unpin + 'static>() {}
/// assert_send::<RangeStream<&str, u64>>();
/// assert_send::<RangeStream<u32, String, Multi>>();
/// ```
pub struct RangeStream<K: Codec, V: Codec, M: Kind = Single> {
    records: OwnedIter<K, V, M>,
    direction: Direction,
    batch: vec::IntoIter<Result<StreamedRecord<K, V>>>,
    /// Whether other tasks had a turn since the last batch was read.
    has_yielded: bool,
}

impl<K: Codec, V: Codec, M: Kind> RangeStream<K, V, M> {
    fn read_batch(&mut self) -> Vec<Result<StreamedRecord<K, V>>> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let failed = self.records.step(|ends, _| {
            while batch.len() < BATCH_RECORDS && bytes < BATCH_BYTES {
                let read = |cursor: &M::Cursor<'_>| {
                    let (key, value) = M::lend::<Raw, Raw>(cursor)?;
                    bytes += key.len() + value.len();
                    let (key, value) = M::lend::<K, V>(cursor)?;
                    Ok((K::to_owned(key), V::to_owned(value)))
                };
                let record = match self.direction {
                    Direction::Forward => ends.next::<K, _>(read),
                    Direction::Backward => ends.next_back::<K, _>(read),
                };
                match record {
                    Some(record) => batch.push(record),
                    None => break,
                }
            }
            None
        });
        batch.extend(failed);
        batch
    }
}

/// No part of it is pinned.
impl<K: Codec, V: Codec, M: Kind> Unpin for RangeStream<K, V, M> {}

impl<K: Codec, V: Codec, M: Kind> Stream for RangeStream<K, V, M> {
    type Item = Result<StreamedRecord<K, V>>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let stream = self.get_mut();
        if let Some(record) = stream.batch.next() {
            return Poll::Ready(Some(record));
        }
        if stream.records.is_done() {
            return Poll::Ready(None);
        }
        if !mem::replace(&mut stream.has_yielded, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        stream.batch = stream.read_batch().into_iter();
        stream.has_yielded = false;
        Poll::Ready(stream.batch.next())
    }
}

impl<K: Codec, V: Codec, M: Kind> fmt::Debug for RangeStream<K, V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeStream")
            .field("is_done", &self.records.is_done())
            .finish_non_exhaustive()
    }
}

impl ChangeFeed {
    /// Makes a stream of the feed. Only with the feature `stream`.
    ///
    /// ```
    /// # use std::{future::poll_fn, pin::pin};
    /// use futures_core::Stream;
    /// # use teak::{ChangeFeed, Table};
    /// async fn print(feed: ChangeFeed, counts: &Table<String, u64>) -> teak::Result<()> {
    ///     let mut commits = feed.into_stream();
    ///     // `commits.next().await` with the `StreamExt` of tokio or of futures.
    ///     while let Some(changes) = poll_fn(|context| pin!(&mut commits).poll_next(context)).await {
    ///         for difference in changes?.of(counts)? {
    ///             println!("{:?}", difference?);
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    pub fn into_stream(self) -> ChangeStream {
        ChangeStream {
            feed: Some(self),
            waiting: None,
        }
    }
}

/// The commits of a feed as a stream; see [`ChangeFeed::into_stream`]. Only with the feature
/// `stream`. It ends after the first error, such as that the database has been closed. Errors are
/// those of [`ChangeFeed::next_async`].
#[derive(Debug)]
pub struct ChangeStream {
    /// `None` after an error.
    feed: Option<ChangeFeed>,
    waiting: Option<CommitFuture>,
}

impl ChangeStream {
    fn poll_changes(
        feed: &mut ChangeFeed,
        waiting: &mut Option<CommitFuture>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Changes>> {
        loop {
            if let Some(changes) = feed.next(Some(Duration::ZERO))? {
                *waiting = None;
                return Poll::Ready(Ok(changes));
            }
            let future = waiting.get_or_insert_with(|| feed.committed());
            let committed = ready!(Pin::new(future).poll(context));
            *waiting = None;
            committed?;
        }
    }
}

impl Stream for ChangeStream {
    type Item = Result<Changes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let stream = self.get_mut();
        let Some(feed) = &mut stream.feed else {
            return Poll::Ready(None);
        };
        let changes = ready!(Self::poll_changes(feed, &mut stream.waiting, context));
        if changes.is_err() {
            (stream.feed, stream.waiting) = (None, None);
        }
        Poll::Ready(Some(changes))
    }
}
