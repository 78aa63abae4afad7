//! One episode: a workload on a simulated disk, then images of possible crashes.

use super::{
    context::EpisodeContext,
    history::{CrashHistory, CrashKind},
    images::{COMBINATIONS_MAX, CrashImages, DiskImage, GRANULARITIES},
    process_pool::ProcessPool,
    settings::{BOOT, CrashSettings},
    step::CrashStep,
    tally::{CrashTally, SeenImages},
    verify::{CrashedDisk, ExpectedStates, RecoveredDatabase, verify},
    workload::{Workload, sequence_count},
};
use crate::{
    Context, Failure, Result,
    campaign::{Encoding, draw, panics},
};
use fastrand::Rng;
use std::collections::HashSet;
use teak::{
    Durability,
    testing::{CrashPoints, DiskEvent, SimDisk},
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The boot ids of the machine after a power cut, and after a second one.
const OTHER_BOOT: [u8; 16] = [2; 16];
const THIRD_BOOT: [u8; 16] = [3; 16];

/// One image in this many is crashed again during its recovery.
const DOUBLE_SHARE: u64 = 12;
/// Images of each second crash.
const DOUBLE_IMAGES: usize = 4;

/// One episode in this many is random. The others are the sequences in order.
const DRAWN_SHARE: u64 = 4;

/// One episode in this many takes all combinations of a crash point, if there are not too many, up
/// to [`THOROUGH_IMAGES`] images.
const THOROUGH_SHARE: u64 = 48;
const THOROUGH_IMAGES: u64 = 1500;

/// The parameters of an episode.
#[derive(Clone, Debug)]
pub(super) struct CrashPlan {
    pub(super) seed: u64,
    pub(super) episode: u64,
    pub(super) workload: Option<Workload>,
    /// If present, only this image is inspected.
    pub(super) image: Option<u64>,
    pub(super) encoding: Encoding,
}

/// A violation.
#[derive(Debug)]
pub(super) struct CrashViolation {
    pub(super) workload: Workload,
    /// The image; `None` if the workload itself failed.
    pub(super) image: Option<u64>,
    /// The position of the crash, and the finding.
    pub(super) text: Failure,
    pub(super) script: Vec<CrashStep>,
    pub(super) settings: CrashSettings,
}

/// How many images of each crash point are inspected.
#[derive(Clone, Copy, Debug)]
struct CrashPointBudget {
    combinations_max: usize,
    budget: usize,
}

struct CrashEpisode<'a> {
    plan: &'a CrashPlan,
    workload: Workload,
    settings: CrashSettings,
    seen: &'a SeenImages,
    tally: CrashTally,
    /// Images of the current crash point.
    at_point: HashSet<u64>,
    image_number: u64,
    failure: Option<(u64, Failure)>,
}

/// Plays an episode and counts its images.
pub(super) fn run_episode(
    plan: &CrashPlan,
    seen: &SeenImages,
    tally: &mut CrashTally,
) -> Result<(), Box<CrashViolation>> {
    let mut rng = draw::episode(plan.seed, plan.episode);
    let drawn = Workload::drawn();
    let (workload, sequence) = match plan.workload {
        Some(workload) => (workload, plan.episode),
        None if !plan.episode.is_multiple_of(DRAWN_SHARE) => {
            let sequence = plan.episode - plan.episode / DRAWN_SHARE - 1;
            (Workload::Sequence, sequence)
        }
        None => (drawn[rng.usize(0..drawn.len())], 0),
    };
    let page_size = match workload {
        Workload::Sequence => [4096, 8192, 16384][(sequence / sequence_count()) as usize % 3],
        _ => [4096, 4096, 4096, 4096, 8192, 16384][rng.usize(0..6)],
    };
    let page_size = plan.encoding.page_size(page_size);
    let mut settings = CrashSettings::draw(&mut rng, page_size);
    settings.encoding = plan.encoding;
    workload.adapt(&mut settings, &mut rng);
    let script = workload.script(&mut rng, sequence);
    let mut episode = CrashEpisode {
        plan,
        workload,
        settings,
        seen,
        tally: CrashTally::default(),
        at_point: HashSet::new(),
        image_number: 0,
        failure: None,
    };
    episode.tally.episodes = 1;
    episode.tally.sequences = u64::from(workload == Workload::Sequence);
    let outcome = panics::catch(|| episode.perform(&script, &mut rng));
    let outcome = outcome.and_then(|(disk, history, from)| {
        panics::catch(|| {
            episode.walk(&disk, &history, from, &mut rng);
            Ok(())
        })
    });
    let failure = match (outcome, episode.failure.take()) {
        (Err(text), _) => Some((None, text)),
        (Ok(()), Some((image, text))) => Some((Some(image), text)),
        (Ok(()), None) => None,
    };
    let result = failure.map_or(Ok(()), |(image, text)| {
        episode.tally.violations = 1;
        Err(Box::new(CrashViolation {
            workload,
            image,
            text,
            script,
            settings: episode.settings,
        }))
    });
    tally.add(&episode.tally);
    result
}

impl CrashEpisode<'_> {
    /// Performs the script. Returns the events of the disk, and the time from which crashes count.
    fn perform(
        &self,
        script: &[CrashStep],
        rng: &mut Rng,
    ) -> Result<(SimDisk, CrashHistory, usize)> {
        let is_tolerant = self.workload.is_tolerant();
        let pool = match self.workload {
            Workload::Shared => Some(ProcessPool::new()?),
            _ => None,
        };
        let mut context =
            EpisodeContext::new(self.settings.clone(), rng.fork(), is_tolerant, pool)?;
        let created = context.time();
        let base = [
            CrashStep::Put(100),
            CrashStep::Large,
            CrashStep::Put(60),
            CrashStep::Commit(Durability::Durable),
        ];
        let base = base.iter().chain(self.workload.more_of_base());
        for step in base {
            step.perform(&mut context, &self.settings)
                .context(format_args!("{step:?} of the beginning"))?;
        }
        let from = match self.workload {
            Workload::Sequence | Workload::Small => context.time(),
            _ => created,
        };
        if matches!(self.workload, Workload::Flush | Workload::Shared) {
            context.disturb_flushes();
        }
        for (index, step) in script.iter().enumerate() {
            step.perform(&mut context, &self.settings)
                .context(format_args!("step {index}, {step:?}"))?;
        }
        context.commit_open()?;
        let (disk, history) = context.finish()?;
        Ok((disk, history, from))
    }

    /// Inspects images of crashes at all points after `from`, with one or two block lengths.
    fn walk(&mut self, disk: &SimDisk, history: &CrashHistory, from: usize, rng: &mut Rng) {
        let is_thorough = rng.u64(0..THOROUGH_SHARE) == 0;
        let rounds = if self.workload == Workload::Sequence {
            1
        } else {
            2
        };
        for &coarse in GRANULARITIES.iter().take(rounds) {
            let (head, body) = match is_thorough {
                true => coarse,
                false => GRANULARITIES[rng.usize(0..GRANULARITIES.len())],
            };
            let mut points = disk.crash_points_mixed(self.settings.head_len(), head, body);
            let events = disk.events();
            while points.event_index() < events.len() {
                points.advance();
                if points.event_index() < from {
                    continue;
                }
                let next = events.get(points.event_index());
                let is_thorough = is_thorough && self.image_number < THOROUGH_IMAGES;
                let depth = depth(next.map(|event| &**event), is_thorough, rng);
                self.inspect_point(disk, &points, history, depth, rng);
                if self.failure.is_some() {
                    return;
                }
            }
        }
    }

    fn inspect_point(
        &mut self,
        disk: &SimDisk,
        points: &CrashPoints,
        history: &CrashHistory,
        depth: CrashPointBudget,
        rng: &mut Rng,
    ) {
        self.at_point.clear();
        let time = points.event_index();
        let expected = |cut, boot| ExpectedStates {
            history,
            time,
            cut,
            boot,
        };
        if rng.u8(0..4) == 0 {
            self.image_number += 1;
            if self.is_wanted() {
                let image = DiskImage::of_kill(points);
                let crashed = CrashedDisk::of_kill(disk, points, &image, &self.settings);
                if self.inspect_image(image, Some(crashed), expected(CrashKind::Kill, BOOT), false)
                {
                    self.tally.kills += 1;
                }
            }
        }
        if depth.budget == 0 {
            return;
        }
        let power_cut = expected(CrashKind::Power, OTHER_BOOT);
        let mut images = CrashImages::new(points, self.settings.head_len());
        let mut visit = |images: &CrashImages<'_>| {
            self.image_number += 1;
            if self.failure.is_none() && self.is_wanted() {
                let image = images.build();
                self.inspect_image(image, None, power_cut, images.is_torn_in_sector());
            }
        };
        images.visit_each(rng, depth.combinations_max, depth.budget, &mut visit);
    }

    fn is_wanted(&self) -> bool {
        self.plan
            .image
            .is_none_or(|wanted| wanted == self.image_number)
    }

    /// Inspects an image that was not inspected before at this point. Returns whether it is new.
    fn inspect_image(
        &mut self,
        mut image: DiskImage,
        crashed: Option<CrashedDisk>,
        expected: ExpectedStates<'_>,
        is_torn: bool,
    ) -> bool {
        let hash = image.hash(self.settings.page_size);
        let head = &image.file[..4096.min(image.file.len())];
        if !self.at_point.insert(xxh3_64_with_seed(head, hash)) {
            return false;
        }
        let mut rng = draw::episode(self.plan.seed ^ self.plan.episode, self.image_number);
        let is_new = self.count(hash, is_torn);
        let (time, cut) = (expected.time, expected.cut);
        let crashed = crashed.unwrap_or_else(|| CrashedDisk::of_power_cut(image, &self.settings));
        match self.verified(crashed, expected, &mut rng) {
            Ok(found) => {
                self.tally.note_recovery(&found.recovery);
                if rng.u64(0..DOUBLE_SHARE) == 0
                    && let Err(text) = self.crash_again(&found, DOUBLE_IMAGES, &mut rng)
                {
                    let text = failure!("{cut:?} after event {time}, then {text}");
                    self.failure = Some((self.image_number, text));
                }
            }
            Err(text) => {
                let text = failure!("{cut:?} after event {time}: {text}");
                self.failure = Some((self.image_number, text));
            }
        }
        is_new
    }

    fn verified(
        &self,
        crashed: CrashedDisk,
        expected: ExpectedStates<'_>,
        rng: &mut Rng,
    ) -> Result<RecoveredDatabase> {
        panics::catch(|| verify(crashed, &self.settings, expected, rng))
    }

    fn count(&mut self, hash: u64, is_torn: bool) -> bool {
        self.tally.images += 1;
        let is_new = self.seen.insert(hash);
        if is_new {
            self.tally.distinct += 1;
            self.tally.torn += u64::from(is_torn);
            *self.tally.workloads.entry(self.workload).or_default() += 1;
        }
        is_new
    }

    /// Crashes after a crash: during recovery, a commit or a close. If the second crash is a kill,
    /// a power cut follows it.
    fn crash_again(&mut self, found: &RecoveredDatabase, count: usize, rng: &mut Rng) -> Result {
        let events = found.disk.event_count();
        let (head, body) = GRANULARITIES[rng.usize(0..GRANULARITIES.len())];
        let head_len = self.settings.head_len();
        let mut times: Vec<usize> = (0..count)
            .map(|_| rng.usize(found.since..=events))
            .collect();
        times.sort_unstable();
        let mut points = found.disk.crash_points_mixed(head_len, head, body);
        for time in times {
            while points.event_index() < time {
                points.advance();
            }
            let cut = match rng.u8(0..4) {
                0 if found.boot == OTHER_BOOT => CrashKind::Kill,
                _ => CrashKind::Power,
            };
            self.crash_once_more(found, &points, cut, rng)
                .context(format_args!("{cut:?} again after event {time} of {events}"))?;
        }
        Ok(())
    }

    fn crash_once_more(
        &mut self,
        found: &RecoveredDatabase,
        points: &CrashPoints,
        cut: CrashKind,
        rng: &mut Rng,
    ) -> Result {
        let expected = |boot| ExpectedStates {
            history: &found.history,
            time: points.event_index(),
            cut,
            boot,
        };
        if cut == CrashKind::Kill {
            let mut image = DiskImage::of_kill(points);
            let crashed = CrashedDisk::of_kill(&found.disk, points, &image, &self.settings);
            self.count_double(&mut image, false);
            let found = self.verified(crashed, expected(found.boot), rng)?;
            return self.crash_again(
                &RecoveredDatabase {
                    boot: THIRD_BOOT,
                    ..found
                },
                DOUBLE_IMAGES / 2,
                rng,
            );
        }
        let mut images = CrashImages::new(points, self.settings.head_len());
        images.choose(rng);
        let mut image = images.build();
        self.count_double(&mut image, images.is_torn_in_sector());
        let crashed = CrashedDisk::of_power_cut(image, &self.settings);
        self.verified(crashed, expected(THIRD_BOOT), rng).map(drop)
    }

    fn count_double(&mut self, image: &mut DiskImage, is_torn: bool) {
        let hash = image.hash(self.settings.page_size);
        self.tally.double += u64::from(self.count(hash, is_torn));
    }
}

/// The disk contents that are possible before an event are possible before the next event too,
/// unless a flush ends in between. So most images are taken before flushes end.
fn depth(next: Option<&DiskEvent>, is_thorough: bool, rng: &mut Rng) -> CrashPointBudget {
    let next = next.map(|event| match event {
        DiskEvent::Log(event) => &**event,
        event => event,
    });
    let is_richest = matches!(
        next,
        None | Some(
            DiskEvent::FlushEnded { .. }
                | DiskEvent::FlushFailed { .. }
                | DiskEvent::DirectWriteEnded { .. }
        )
    );
    match (is_richest, is_thorough) {
        (true, true) => CrashPointBudget {
            combinations_max: COMBINATIONS_MAX,
            budget: 64,
        },
        (true, false) => CrashPointBudget {
            combinations_max: 12,
            budget: 12,
        },
        (false, _) => CrashPointBudget {
            combinations_max: 2,
            budget: usize::from(rng.u8(0..3) == 0),
        },
    }
}
