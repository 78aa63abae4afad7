//! Episodes of one engine: each is recorded, and images built from the record are inspected.

#[expect(
    dead_code,
    reason = "the campaign of Teak itself, whose choices these are, uses more of it"
)]
#[path = "../../../xtask/src/crash/images.rs"]
mod images;

use crate::{
    check::Inspector,
    peer::Engine,
    record::record,
    tally::Tally,
    trace::TraceRecord,
    verdict::{Verdict, Violation, verdict_of},
    workload::Workload,
};
use anyhow::{Result, anyhow};
use fastrand::Rng;
use images::CrashImages;
use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};
use teak::testing::{CrashPoints, DiskEvent};
use xxhash_rust::xxh3::xxh3_128;

/// The maximum number of different images per episode.
const IMAGES_PER_EPISODE: u64 = 250;

/// The minimum number of points of a round, for the last rounds, in which most images are
/// repetitions.
const POINTS_MIN: usize = 16;

/// Images of one point.
const IMAGES_PER_POINT: usize = 8;

/// Up to this number of combinations, all are taken.
const COMBINATIONS_MAX: usize = 16;

/// The maximum number of draws when most images are repetitions.
const ROUNDS_MAX: usize = 8;

/// The maximum number of reported violations per engine.
const REPORTED_MAX: u64 = 3;

/// Block lengths in the head of the file and in the rest. Only Teak makes promises about torn
/// sectors.
const GRANULARITIES: [(usize, usize); 3] = [(4096, 4096), (512, 4096), (512, 512)];

/// The settings of a campaign.
pub(crate) struct Campaign<'a> {
    pub(crate) engine: Engine,
    pub(crate) seed: u64,
    pub(crate) images: u64,
    /// Run only this episode.
    pub(crate) episode: Option<u64>,
    /// The directory for the engine's files, which should be on a disk.
    pub(crate) disk: &'a Path,
    /// The directory for images.
    pub(crate) memory: &'a Path,
}

/// The state shared by all threads.
#[derive(Default)]
struct SharedCampaign {
    next_episode: AtomicU64,
    reported: AtomicU64,
    seen: Mutex<HashSet<u128>>,
    sum: Mutex<Tally>,
}

impl Campaign<'_> {
    /// Plays all episodes, several at once.
    pub(crate) fn run(&self) -> Result<Tally> {
        let shared = SharedCampaign::default();
        let threads = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            let work = || self.run_all(&shared);
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let mut outcomes = threads.into_iter().map(|thread| thread.join());
            outcomes.try_for_each(|outcome| outcome.map_err(|_| anyhow!("a thread panicked"))?)
        })?;
        Ok(*lock(&shared.sum))
    }

    fn run_all(&self, shared: &SharedCampaign) -> Result<()> {
        let directory = tempfile::tempdir_in(self.memory)?;
        let mut inspector = Inspector::new(self.engine, directory.path());
        let episodes = match self.episode {
            Some(_) => 1,
            None => self.images.div_ceil(IMAGES_PER_EPISODE),
        };
        loop {
            let index = shared.next_episode.fetch_add(1, Ordering::Relaxed);
            if index >= episodes {
                return Ok(());
            }
            let budget = match self.episode {
                Some(_) => IMAGES_PER_EPISODE,
                None => IMAGES_PER_EPISODE.min(self.images - index * IMAGES_PER_EPISODE),
            };
            let mut episode = Episode::new(self, self.episode.unwrap_or(index))?;
            episode.run_episode(budget, &mut inspector, shared)?;
            lock(&shared.sum).add(episode.tally);
        }
    }
}

/// One record, and the findings in its images.
struct Episode<'c> {
    campaign: &'c Campaign<'c>,
    number: u64,
    record: TraceRecord,
    states: HashMap<u128, usize>,
    rng: Rng,
    tally: Tally,
    /// Whether a violation was reported: one per episode is enough.
    has_reported: bool,
}

impl<'c> Episode<'c> {
    fn new(campaign: &'c Campaign<'c>, number: u64) -> Result<Self> {
        let (engine, seed) = (campaign.engine, campaign.seed);
        Ok(Self {
            campaign,
            number,
            record: record(engine, seed, number, campaign.disk)?,
            states: Workload::draw(seed, number).states(),
            rng: Rng::with_seed(!seed ^ (number << 32)),
            tally: Tally::default(),
            has_reported: false,
        })
    }

    fn run_episode(
        &mut self,
        budget: u64,
        inspector: &mut Inspector,
        shared: &SharedCampaign,
    ) -> Result<()> {
        for _ in 0..ROUNDS_MAX {
            let points = self.draw_points(budget - self.tally.images);
            self.walk(&points, budget, inspector, shared)?;
            if self.tally.images >= budget {
                break;
            }
        }
        Ok(())
    }

    /// Draws event numbers after which the power is cut, in order. Half of them are shortly before
    /// a flush completes, because most data can be lost then.
    fn draw_points(&mut self, images: u64) -> Vec<usize> {
        let events = &self.record.events;
        let is_barrier = |index: &usize| {
            matches!(
                &*events[*index],
                DiskEvent::FlushEnded { .. } | DiskEvent::Synced { .. }
            )
        };
        let barriers: Vec<usize> = (0..events.len()).filter(is_barrier).collect();
        let count = (images as usize / IMAGES_PER_POINT).max(POINTS_MIN);
        let rng = &mut self.rng;
        let draw = |_| match rng.bool() {
            true if !barriers.is_empty() => barriers[rng.usize(0..barriers.len())],
            _ => rng.usize(0..=events.len()),
        };
        let mut points: Vec<usize> = (0..count).map(draw).collect();
        points.sort_unstable();
        points
    }

    fn walk(
        &mut self,
        points: &[usize],
        budget: u64,
        inspector: &mut Inspector,
        shared: &SharedCampaign,
    ) -> Result<()> {
        let head_len = self.campaign.engine.head_len();
        let (head, rest) = GRANULARITIES[self.number as usize % GRANULARITIES.len()];
        let events = self.record.events.clone();
        let mut walk = CrashPoints::of_record(events, head_len, head, rest);
        for &point in points {
            while walk.event_index() < point && walk.advance().is_some() {}
            let mut outcome = Ok(());
            let mut rng = self.rng.fork();
            let mut images = CrashImages::new(&walk, head_len);
            images.visit_each(
                &mut rng,
                COMBINATIONS_MAX,
                IMAGES_PER_POINT,
                &mut |images| {
                    if outcome.is_ok() && self.tally.images < budget {
                        outcome =
                            self.inspect_image(point, &images.build().file, inspector, shared);
                    }
                },
            );
            outcome?;
        }
        Ok(())
    }

    fn inspect_image(
        &mut self,
        point: usize,
        image: &[u8],
        inspector: &mut Inspector,
        shared: &SharedCampaign,
    ) -> Result<()> {
        if !lock(&shared.seen).insert(xxh3_128(image)) {
            return Ok(());
        }
        let known = self.record.known_at(point, self.campaign.engine.promise());
        let mut verdict = verdict_of(inspector.inspect(image)?, &self.states, known);
        if let Verdict::Violation(Violation::WrongData | Violation::Lost { .. }) = verdict {
            // An earlier image may have affected the process.
            inspector.end();
            verdict = verdict_of(inspector.inspect(image)?, &self.states, known);
        }
        self.tally.note(&verdict);
        if let Verdict::Violation(violation) = verdict
            && !self.has_reported
            && shared.reported.fetch_add(1, Ordering::Relaxed) < REPORTED_MAX
        {
            self.has_reported = true;
            let (engine, seed, episode) =
                (self.campaign.engine.name(), self.campaign.seed, self.number);
            println!("{engine}: after event {point} of episode {episode}: {violation}");
            println!(
                "  repeat the episode with: cargo xtask peers --engine {engine} --seed {seed} --episode {episode}"
            );
        }
        Ok(())
    }
}

/// A panic leaves no inconsistent state here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
