//! Choices of the writes that reached the disk. If there are few combinations, all are taken.
//! Otherwise a choice is the newest content except for one block, the oldest content except for one
//! block, the contents at one time, the new content in one part of the file, or random. The choice
//! for the write-ahead log is independent of that for the file.

use fastrand::Rng;
use teak::testing::{CrashPoints, OpenBlock};

/// A sector, which most disks write atomically.
const SECTOR_LEN: u64 = 512;

/// The number of kinds of random choices.
const KIND_COUNT: usize = 8;

/// Up to this number of combinations, all are taken.
pub(super) const COMBINATIONS_MAX: usize = 4096;

/// The block lengths in the head of the file and in the rest.
pub(super) const GRANULARITIES: [(usize, usize); 10] = [
    (4096, 4096),
    (512, 4096),
    (512, 512),
    (64, 4096),
    (64, 512),
    (64, 64),
    (8, 4096),
    (8, 512),
    (8, 64),
    (8, 8),
];

/// The file after a crash, and the write-ahead log if the disk has one.
pub(super) struct DiskImage {
    pub(super) file: Vec<u8>,
    pub(super) log: Option<Vec<u8>>,
}

/// The images of one crash point.
pub(super) struct CrashImages<'p> {
    file: FileImages<'p>,
    log: Option<FileImages<'p>>,
}

/// The images of one file.
struct FileImages<'p> {
    points: &'p CrashPoints,
    /// For each block length, the blocks that may have several contents.
    blocks: Vec<Vec<OpenBlock>>,
    head_len: u64,
    length_index: usize,
    chosen: Vec<usize>,
}

impl<'p> CrashImages<'p> {
    pub(super) fn new(points: &'p CrashPoints, head_len: u64) -> Self {
        Self {
            file: FileImages::new(points, head_len),
            log: points.log().map(|log| FileImages::new(log, 0)),
        }
    }

    /// Calls `visit` after each choice: all choices if there are at most `combinations_max`,
    /// otherwise `budget` of them.
    pub(super) fn visit_each(
        &mut self,
        rng: &mut Rng,
        combinations_max: usize,
        budget: usize,
        visit: &mut dyn FnMut(&Self),
    ) {
        let of_log = self.log.as_ref().map_or(1, FileImages::combinations);
        if self.file.combinations().saturating_mul(of_log) <= combinations_max {
            self.file.choose_oldest();
            loop {
                self.visit_each_log(visit);
                if !self.file.next_combination() {
                    return;
                }
            }
        }
        for index in 0..budget {
            self.draw(rng, index);
            visit(self);
        }
    }

    fn visit_each_log(&mut self, visit: &mut dyn FnMut(&Self)) {
        self.log.iter_mut().for_each(FileImages::choose_oldest);
        loop {
            visit(self);
            if !self.log.as_mut().is_some_and(FileImages::next_combination) {
                return;
            }
        }
    }

    /// Makes one random choice.
    pub(super) fn choose(&mut self, rng: &mut Rng) {
        let kind = rng.usize(0..KIND_COUNT);
        self.draw(rng, kind);
    }

    fn draw(&mut self, rng: &mut Rng, index: usize) {
        self.file.draw(rng, index);
        if let Some(log) = &mut self.log {
            let kind = rng.usize(0..KIND_COUNT);
            log.draw(rng, kind);
        }
    }

    pub(super) fn build(&self) -> DiskImage {
        DiskImage {
            file: self.file.build(),
            log: self.log.as_ref().map(FileImages::build),
        }
    }

    /// Whether a sector has old and new parts.
    pub(super) fn is_torn_in_sector(&self) -> bool {
        let log = self.log.as_ref();
        self.file.is_torn_in_sector() || log.is_some_and(FileImages::is_torn_in_sector)
    }
}

impl<'p> FileImages<'p> {
    fn new(points: &'p CrashPoints, head_len: u64) -> Self {
        let lengths = 0..points.length_count();
        let blocks: Vec<_> = lengths.map(|index| points.open_blocks(index)).collect();
        Self {
            points,
            blocks,
            head_len,
            length_index: 0,
            chosen: Vec::new(),
        }
    }

    fn combinations(&self) -> usize {
        let of_length = |blocks: &Vec<OpenBlock>| {
            let counts = blocks.iter().map(|block| block.state_count);
            counts.fold(1usize, |product, count| product.saturating_mul(count))
        };
        self.blocks
            .iter()
            .map(of_length)
            .fold(0, usize::saturating_add)
    }

    fn choose_oldest(&mut self) {
        self.length_index = 0;
        self.chosen = vec![0; self.blocks[0].len()];
    }

    /// Counts up, with a digit for each block, and then with the next length.
    fn next_combination(&mut self) -> bool {
        for (block, chosen) in self.blocks[self.length_index].iter().zip(&mut self.chosen) {
            *chosen += 1;
            if *chosen < block.state_count {
                return true;
            }
            *chosen = 0;
        }
        self.length_index += 1;
        let blocks = self.blocks.get(self.length_index);
        self.chosen = vec![0; blocks.map_or(0, Vec::len)];
        blocks.is_some()
    }

    fn draw(&mut self, rng: &mut Rng, index: usize) {
        self.length_index = match rng.u8(0..3) {
            0 => rng.usize(0..self.blocks.len()),
            _ => self.blocks.len() - 1,
        };
        let blocks = &self.blocks[self.length_index];
        let chosen = &mut self.chosen;
        chosen.clear();
        let newest = blocks.iter().map(|block| block.state_count - 1);
        match index % KIND_COUNT {
            0 | 1 => {
                chosen.extend(newest);
                if let Some((block, chosen)) = pick(rng, blocks, chosen) {
                    *chosen = rng.usize(0..block.state_count);
                }
            }
            2 => {
                chosen.resize(blocks.len(), 0);
                if let Some((block, chosen)) = pick(rng, blocks, chosen) {
                    *chosen = rng.usize(0..block.state_count);
                }
            }
            3 => {
                let event = rng.usize(0..=self.points.event_index());
                let state = |block| self.points.state_at(block, event);
                chosen.extend(blocks.iter().map(state));
            }
            4 => {
                chosen.extend(newest);
                let cut = rng.usize(0..=blocks.len());
                let (low, high) = chosen.split_at_mut(cut);
                if rng.bool() { low } else { high }.fill(0);
            }
            kind => {
                let p = [0.1, 0.5, 0.9][kind - 5];
                let state = |block: &OpenBlock| match rng.f64() < p {
                    true => block.state_count - 1,
                    false => rng.usize(0..block.state_count),
                };
                chosen.extend(blocks.iter().map(state));
            }
        }
        self.draw_head(rng);
    }

    /// Mostly leaves the records whole, because recovery without the newest one shows little.
    fn draw_head(&mut self, rng: &mut Rng) {
        let blocks = &self.blocks[self.length_index];
        let head = blocks.partition_point(|block| block.start < self.head_len);
        let chosen = &mut self.chosen[..head];
        let newest = |(chosen, block): (&mut usize, &OpenBlock)| *chosen = block.state_count - 1;
        match rng.u8(0..8) {
            0 | 1 => {}
            2..=4 => chosen.iter_mut().zip(blocks).for_each(newest),
            _ => {
                chosen.iter_mut().zip(blocks).for_each(newest);
                // A record that is torn anywhere, or in one place.
                if let Some((block, chosen)) = pick(rng, blocks, chosen) {
                    *chosen = rng.usize(0..block.state_count);
                }
                if head > 0 && rng.bool() {
                    let torn = rng.usize(0..head);
                    let page = blocks[torn].start / 4096;
                    for (block, chosen) in blocks[torn..head].iter().zip(&mut chosen[torn..]) {
                        if block.start / 4096 == page {
                            *chosen = 0;
                        }
                    }
                }
            }
        }
    }

    fn build(&self) -> Vec<u8> {
        let blocks = &self.blocks[self.length_index];
        let mut image = Vec::new();
        self.points
            .build(self.length_index, blocks, &self.chosen, &mut image);
        image
    }

    fn is_torn_in_sector(&self) -> bool {
        let blocks = &self.blocks[self.length_index];
        let mut states = blocks.iter().zip(&self.chosen).peekable();
        while let Some((block, chosen)) = states.next() {
            if let Some((next, next_chosen)) = states.peek()
                && next.start / SECTOR_LEN == block.start / SECTOR_LEN
                && age(block, *chosen) != age(next, **next_chosen)
            {
                return true;
            }
        }
        false
    }
}

/// The oldest, the newest, or a content in between.
fn age(block: &OpenBlock, chosen: usize) -> usize {
    if chosen + 1 == block.state_count {
        usize::MAX
    } else {
        chosen
    }
}

/// A random block.
fn pick<'c>(
    rng: &mut Rng,
    blocks: &[OpenBlock],
    chosen: &'c mut [usize],
) -> Option<(OpenBlock, &'c mut usize)> {
    if chosen.is_empty() {
        return None;
    }
    let index = rng.usize(0..chosen.len());
    Some((blocks[index], &mut chosen[index]))
}
