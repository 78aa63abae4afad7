//! Who reads what, and what of the file is there for nobody else. Who wants space may ask, and take away
//! what parked readers see.

use super::{
    engine::Engine,
    events::Event,
    named::NamedPins,
    pages::WritePages,
    reader::Reader,
    slow_reader::{ReaderInfo, SlowReader, SlowReaderChoice, SlowReaderHook},
};
use crate::{Error, Result, Run, TransactionId, share::Pinned, space::Policy, store::uptime_ms};
use std::{
    collections::HashMap,
    process,
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

/// Whom to ask and to tell, and the database that it is about.
#[derive(Clone, Debug)]
pub(super) struct SlowReaders {
    /// Absent where the file grows unasked.
    hook: Option<SlowReaderHook>,
    engine: Weak<Engine>,
}

impl SlowReaders {
    /// `None` where nobody wants to know of slow readers.
    pub(super) fn of(engine: &Arc<Engine>) -> Option<Self> {
        let hook = engine.slow_readers.clone();
        let is_wanted = hook.is_some() || engine.flusher.events.is_wanted();
        is_wanted.then(|| Self {
            hook,
            engine: Arc::downgrade(engine),
        })
    }

    fn asks(&self) -> bool {
        self.hook.is_some()
    }
}

/// How long a transaction waits before it looks again.
const PAUSE: Duration = Duration::from_millis(5);

impl Engine {
    /// All readers of all processes, the oldest state first.
    pub(crate) fn readers(self: &Arc<Self>) -> Result<Vec<ReaderInfo>> {
        let same = |reader: &Pinned| (reader.reader, reader.state);
        let mut before: Vec<_> = (self.flusher.published.readers()?.iter().map(same)).collect();
        before.sort_unstable();
        // Keeps the space map as it is while it is read. Who began before it is still there counts.
        let newest = self.begin_read()?;
        let mut pinned = self.flusher.published.readers()?;
        pinned.retain(|reader| before.binary_search(&same(reader)).is_ok());
        let named = newest.named_pins()?;
        self.describe(pinned, newest.transaction(), &named, |pins| {
            Ok(newest.space(&pins.into())?.kept_alone(pins))
        })
    }

    /// The same of one reader.
    pub(crate) fn reader_info(self: &Arc<Self>, reader: &Reader) -> Result<ReaderInfo> {
        let slot = reader.hold().slot;
        let mut readers = self.readers()?.into_iter();
        let own = readers.find(|info| info.id.1.is_at(slot));
        own.ok_or(Error::SnapshotLost)
    }

    fn describe(
        &self,
        mut pinned: Vec<Pinned>,
        newest: TransactionId,
        named: &NamedPins,
        kept_alone: impl FnOnce(&[TransactionId]) -> Result<Vec<u64>>,
    ) -> Result<Vec<ReaderInfo>> {
        let now = uptime_ms();
        pinned.sort_unstable_by_key(|reader| (reader.state, reader.began));
        let mut own = vec![newest];
        own.extend(self.flusher.progress.lock().pins());
        let oldest = own.iter().min().copied();
        own.extend(named.counting(oldest));
        let states = pinned.iter().map(|reader| TransactionId(reader.state));
        let mut pins: Vec<_> = states.chain(own.iter().copied()).collect();
        pins.sort_unstable();
        pins.dedup();
        let kept = kept_alone(&pins)?;
        let kept_by = |state: TransactionId| match own.contains(&state) {
            true => 0,
            false => pins.binary_search(&state).map_or(0, |index| kept[index]),
        };
        let mut processes = HashMap::new();
        let mut seen = |reader: &Pinned| {
            let transaction = TransactionId(reader.state);
            let kept_pages = kept_by(transaction);
            ReaderInfo {
                process: *processes
                    .entry(reader.owner)
                    .or_insert_with(|| self.process_of(reader.owner)),
                thread: reader.thread,
                age: Duration::from_millis(now.saturating_sub(reader.began)),
                transaction,
                lag: newest.0.saturating_sub(reader.state),
                is_parked: reader.is_parked,
                kept_pages,
                kept_bytes: kept_pages * self.page_size as u64,
                is_cancelled: reader.is_cancelled,
                id: (self.id(), reader.reader),
            }
        };
        Ok(pinned.iter().map(&mut seen).collect())
    }

    /// Asks a reader to end; says `false` if it has.
    pub(crate) fn cancel_reader(&self, reader: &ReaderInfo) -> Result<bool> {
        let (engine, reader) = reader.id;
        if engine != self.id() {
            let text = "this reader was listed by another database, or before this one was opened; list the readers again";
            return Err(Error::InvalidArgument(text.into()));
        }
        Ok(self.readers.table.cancel(reader))
    }

    fn process_of(&self, owner: u64) -> Option<u32> {
        match &self.flusher.shared {
            Some(shared) if owner != shared.owner() => shared.process_of(owner),
            _ => Some(process::id()),
        }
    }
}

impl WritePages {
    /// Looks for space that only readers keep, before the file becomes longer: takes away what parked ones see, and asks about
    /// others. `None` if that came to nothing.
    pub(super) fn ask_readers(
        &mut self,
        want: u32,
        least: u64,
        policy: Policy,
    ) -> Result<Option<Run>> {
        if self.writer.space.pending_count() < least {
            return Ok(None);
        }
        let are_parked_enough = self.would_free(least, |reader| reader.is_parked)?;
        if are_parked_enough || self.slow_readers.as_ref().is_some_and(SlowReaders::asks) {
            // Nobody is troubled while there are crumbs.
            if let Some(run) = self.writer.space.allocate(want, policy) {
                return Ok(Some(run));
            }
        }
        if are_parked_enough {
            // What has a name stays anyway.
            let (base, named) = (self.base(), Arc::clone(self.writer.named.live()));
            let is_taken = |state| state < base && named.binary_search(&state).is_err();
            self.writer.flusher().published.take_parked(is_taken)?;
            self.reclaim_again()?;
            if let Some(run) = self.writer.space.allocate(want, policy) {
                return Ok(Some(run));
            }
        }
        let mut asked = 0;
        while let Some(slow) = self.slow_readers.clone() {
            let Some(engine) = slow.engine.upgrade() else {
                break;
            };
            let pinned = engine.flusher.published.readers()?;
            let (space, named) = (&self.writer.space, &self.writer.named);
            let readers =
                engine.describe(
                    pinned,
                    self.base(),
                    named,
                    |pins| Ok(space.kept_alone(pins)),
                )?;
            // Of readers of the same state those come first that have not been cancelled.
            let slowest = readers
                .into_iter()
                .filter(|reader| reader.lag > 0)
                .max_by_key(|reader| (reader.kept_pages, !reader.is_cancelled));
            let Some(reader) = slowest else {
                break;
            };
            // Each of some may keep little that no other one does, and all of them together much.
            if reader.kept_pages < least && !self.would_free(least, |_| true)? {
                break;
            }
            let question = SlowReader {
                reader,
                wanted_pages: least,
                file_bytes: self.storage.len(),
                asked,
            };
            let flusher = self.writer.flusher();
            if asked == 0 && flusher.events.is_wanted() {
                let event = question.clone();
                flusher.events.note(|| Event::SlowReader(event));
                flusher.have_told_woken();
            }
            let Some(hook) = slow.hook else {
                self.slow_readers = None;
                break;
            };
            match hook.ask(&question) {
                SlowReaderChoice::Wait => thread::sleep(PAUSE),
                SlowReaderChoice::Cancel => {
                    engine.cancel_reader(&question.reader)?;
                    thread::sleep(PAUSE);
                }
                SlowReaderChoice::Grow => self.slow_readers = None,
                SlowReaderChoice::GiveUp => {
                    let reader = question.reader;
                    return Err(Error::HeldByReader {
                        process: reader.process,
                        thread: reader.thread,
                        transaction: reader.transaction,
                        lag: reader.lag,
                        kept_bytes: reader.kept_bytes,
                    });
                }
            }
            asked += 1;
            self.reclaim_again()?;
            if let Some(run) = self.writer.space.allocate(want, policy) {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }

    /// Whether so many pages would be free without these readers of older states.
    fn would_free(&self, least: u64, is_one: impl Fn(&Pinned) -> bool) -> Result<bool> {
        let readers = self.writer.flusher().published.readers()?;
        let is_taken = |reader: &Pinned| reader.state < self.base().0 && is_one(reader);
        if !readers.iter().any(is_taken) {
            return Ok(false);
        }
        let left = readers.iter().filter(|reader| !is_taken(reader));
        Ok(self.unseen_by(left.map(|reader| TransactionId(reader.state))) >= least)
    }

    /// How many dead pages are seen neither by a reader of these states, nor by a state that stays by itself.
    pub(super) fn unseen_by(&self, read: impl Iterator<Item = TransactionId>) -> u64 {
        let mut pins = self.writer.flusher().own_pins();
        let oldest = pins.iter().min().copied();
        pins.extend(self.writer.named.counting(oldest).chain(read));
        pins.sort_unstable();
        self.writer.space.unseen_count(&pins)
    }

    /// Frees what readers have let go of since the transaction began, dead ones too.
    fn reclaim_again(&mut self) -> Result<()> {
        let flusher = Arc::clone(self.writer.flusher());
        flusher
            .shared
            .iter()
            .for_each(|shared| shared.bury_the_dead());
        flusher.published.forget_held();
        let pins = flusher.pins(&self.writer.named)?;
        self.writer.space.reclaim(&pins);
        Ok(())
    }
}
