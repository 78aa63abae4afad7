//! Getting space back from readers: parked readers lose their snapshot, and the application decides
//! about others.

use crate::write::pages::WritePages;
use crate::{Error, Extent, Result, TransactionId, alloc::PlacementPolicy, share::PinnedReader};
use crate::{
    instance::engine::Engine,
    observe::{
        events::Event,
        slow_reader::{ReaderInfo, SlowReader, SlowReaderChoice},
    },
    read::slow_readers::SlowReaders,
};
use std::{sync::Arc, thread, time::Duration};

/// How long a transaction waits before it looks again.
const PAUSE: Duration = Duration::from_millis(5);

impl WritePages {
    /// Looks for space that only readers keep, before the file grows: parked readers lose their
    /// snapshot, and the application decides about others. `None` if no space was freed.
    pub(crate) fn ask_readers(
        &mut self,
        want: u32,
        least: u64,
        policy: PlacementPolicy,
    ) -> Result<Option<Extent>> {
        debug_assert!(
            least > 0 && least <= u64::from(want),
            "no more pages are needed than wanted"
        );
        if self.writer.space.pending_count() < least {
            return Ok(None);
        }
        let are_parked_enough = self.would_free(least, |reader| reader.is_parked)?;
        let slow_readers = self.limits.slow_readers.as_ref();
        if are_parked_enough || slow_readers.is_some_and(SlowReaders::asks) {
            // Use fragmented free space before asking slow readers to go.
            if let Some(extent) = self.writer.space.allocate(want, policy) {
                return Ok(Some(extent));
            }
        }
        if are_parked_enough {
            self.take_parked()?;
            if let Some(extent) = self.writer.space.allocate(want, policy) {
                return Ok(Some(extent));
            }
        }
        let mut asked = 0;
        while let Some(slow) = self.limits.slow_readers.clone() {
            let Some(engine) = slow.engine.upgrade() else {
                break;
            };
            let Some(reader) = self.slowest_reader(&engine, least)? else {
                break;
            };
            let question = SlowReader {
                reader,
                wanted_pages: least,
                file_bytes: self.file.storage.len(),
                asked,
            };
            let committer = self.writer.committer();
            if asked == 0 && committer.events.is_wanted() {
                let event = question.clone();
                committer.events.note(|| Event::SlowReader(event));
                committer.wake_all_in_background();
            }
            let Some(hook) = slow.hook else {
                self.limits.slow_readers = None;
                break;
            };
            match hook.ask(&question) {
                SlowReaderChoice::Wait => thread::sleep(PAUSE),
                SlowReaderChoice::Cancel => {
                    engine.cancel_reader(&question.reader)?;
                    thread::sleep(PAUSE);
                }
                SlowReaderChoice::Grow => self.limits.slow_readers = None,
                SlowReaderChoice::GiveUp => {
                    return Err(held_by(&question.reader));
                }
            }
            asked += 1;
            self.reclaim_again()?;
            if let Some(extent) = self.writer.space.allocate(want, policy) {
                return Ok(Some(extent));
            }
        }
        Ok(None)
    }

    /// Takes the states of parked readers away, except those that have a name, and frees their
    /// pages.
    fn take_parked(&mut self) -> Result<()> {
        let (base, named) = (self.base(), Arc::clone(self.writer.named.live()));
        let is_taken = |state| state < base && named.binary_search(&state).is_err();
        self.writer.committer().published.take_parked(is_taken)?;
        self.reclaim_again()
    }

    /// The reader of an older state that keeps the most pages, if readers keep at least `least`
    /// pages.
    fn slowest_reader(&self, engine: &Engine, least: u64) -> Result<Option<ReaderInfo>> {
        let pinned = engine.committer.published.readers()?;
        let (space, named) = (&self.writer.space, &self.writer.named);
        let kept_alone = |pins: &_| Ok(space.kept_alone(pins));
        let readers = engine.describe(pinned, self.base(), named, kept_alone)?;
        // Among readers of one state, those that have not been cancelled come first.
        let slowest = readers
            .into_iter()
            .filter(|reader| reader.lag > 0)
            .max_by_key(|reader| (reader.kept_pages, !reader.is_cancelled));
        let Some(reader) = slowest else {
            return Ok(None);
        };
        // Each reader may keep few pages that no other keeps, and all of them together many.
        let is_enough = reader.kept_pages >= least || self.would_free(least, |_| true)?;
        Ok(is_enough.then_some(reader))
    }

    /// Whether so many pages would be free without these readers of older states.
    fn would_free(&self, least: u64, is_one: impl Fn(&PinnedReader) -> bool) -> Result<bool> {
        let readers = self.writer.committer().published.readers()?;
        let is_taken = |reader: &PinnedReader| reader.state < self.base().0 && is_one(reader);
        if !readers.iter().any(is_taken) {
            return Ok(false);
        }
        let left = readers.iter().filter(|reader| !is_taken(reader));
        Ok(self.unseen_by(left.map(|reader| TransactionId(reader.state))) >= least)
    }

    /// How many dead pages are seen neither by a reader of these states, nor by a state that stays
    /// by itself.
    pub(crate) fn unseen_by(&self, read: impl Iterator<Item = TransactionId>) -> u64 {
        let mut pins = self.writer.committer().own_pins();
        let oldest = pins.iter().min().copied();
        pins.extend(self.writer.named.counting(oldest).chain(read));
        pins.sort_unstable();
        self.writer.space.unseen_count(&pins)
    }

    /// Frees what readers have let go of since the transaction began, dead ones too.
    fn reclaim_again(&mut self) -> Result<()> {
        let committer = Arc::clone(self.writer.committer());
        committer
            .shared
            .iter()
            .for_each(|shared| shared.reclaim_dead_processes());
        committer.published.forget_held();
        let pins = committer.pins(&self.writer.named)?;
        self.writer.space.reclaim(&pins);
        Ok(())
    }
}

/// The error of a transaction that gives up because of `reader`.
fn held_by(reader: &ReaderInfo) -> Error {
    Error::HeldByReader {
        process: reader.process,
        thread: reader.thread,
        transaction: reader.transaction,
        lag: reader.lag,
        kept_bytes: reader.kept_bytes,
    }
}
