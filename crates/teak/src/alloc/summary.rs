//! A tree of summaries over the free bits, which finds an extent without reading all of them.
//!
//! The bits are divided into *groups* of 512 (a cache line). For each group, and for each 16
//! groups, and so on up to one root, the tree stores three numbers: the free pages at its
//! beginning, those at its end, and the longest extent inside. The lowest extent of at least `n`
//! pages is then found in one descent. At each level it is in the first child that holds such an
//! extent, or at the first border where the end of one child and the beginning of the next form
//! one.
//!
//! Changed groups are only recorded; [`Summaries::refresh`] updates them and their ancestors before
//! the next search. Freeing a page therefore costs a search two or three dozen loads, whatever the
//! number of free pages.

/// Words of bits in a group.
pub(super) const GROUP_WORDS: usize = 8;
/// Pages in a group.
pub(super) const GROUP_PAGES: u64 = GROUP_WORDS as u64 * 64;
const FANOUT: usize = 16;
/// In `longest`: the group has changed since it was summarized.
const STALE: u32 = u32::MAX;

/// The summary of a range: free pages at its beginning, at its end, and the longest extent.
#[derive(Clone, Copy, Default, Debug)]
struct Summary {
    prefix: u32,
    suffix: u32,
    longest: u32,
}

/// `levels[0]` has a summary for each group, each further level one for 16 below; the last has a
/// single one.
#[derive(Default, Debug)]
pub(super) struct Summaries {
    levels: Vec<Vec<Summary>>,
    stale: Vec<u32>,
}

impl Summaries {
    /// Records that bits of a group changed.
    #[inline]
    pub(super) fn touch(&mut self, group: usize) {
        let summary = &mut self.levels[0][group];
        if summary.longest != STALE {
            summary.longest = STALE;
            self.stale.push(group as u32);
        }
    }

    /// Resizes the tree to `group_count` groups. New groups must be touched if they have set bits.
    pub(super) fn resize(&mut self, group_count: usize) {
        let old_count = self.levels.first().map_or(0, Vec::len);
        if group_count == old_count {
            return;
        }
        self.stale.retain(|group| (*group as usize) < group_count);
        let mut count = group_count;
        for level in 0.. {
            if level == self.levels.len() {
                self.levels.push(Vec::new());
            }
            self.levels[level].resize(count, Summary::default());
            if count <= 1 {
                self.levels.truncate(level + 1);
                break;
            }
            count = count.div_ceil(FANOUT);
        }
        assert!(
            self.levels.last().is_some_and(|top| top.len() <= 1),
            "the tree of summaries ends with one root"
        );
        // Ancestors on the path to the first group, and at the border, have new children.
        for group in [
            0,
            old_count.saturating_sub(1),
            group_count.saturating_sub(1),
        ] {
            if group < group_count {
                self.touch(group);
            }
        }
    }

    /// The length of the longest extent. Only valid right after [`Self::refresh`].
    pub(super) fn longest(&self) -> u32 {
        debug_assert!(
            self.stale.is_empty(),
            "summaries are refreshed before they are searched"
        );
        self.levels
            .last()
            .and_then(|top| top.first())
            .map_or(0, |root| root.longest)
    }

    /// Updates the summaries of touched groups.
    pub(super) fn refresh(&mut self, words: &[u64]) {
        if self.stale.is_empty() {
            return;
        }
        let mut stale = std::mem::take(&mut self.stale);
        stale.sort_unstable();
        for &group in &stale {
            let start = group as usize * GROUP_WORDS;
            self.levels[0][group as usize] = of_words(&words[start..start + GROUP_WORDS]);
        }
        let mut child_span = GROUP_PAGES;
        for level in 1..self.levels.len() {
            stale.iter_mut().for_each(|node| *node /= FANOUT as u32);
            stale.dedup();
            let (below, above) = self.levels.split_at_mut(level);
            let children = &below[level - 1];
            for &node in &stale {
                let first = node as usize * FANOUT;
                let last = children.len().min(first + FANOUT);
                above[0][node as usize] = of_children(&children[first..last], child_span);
            }
            child_span *= FANOUT as u64;
        }
        stale.clear();
        self.stale = stale;
    }

    /// The first page of the lowest extent of at least `want` pages. Only valid right after
    /// [`Self::refresh`].
    pub(super) fn find(&self, words: &[u64], want: u32) -> Option<u64> {
        if want == 0 || self.longest() < want {
            return None;
        }
        let mut node = 0;
        for level in (0..self.levels.len() - 1).rev() {
            let span = GROUP_PAGES * (FANOUT as u64).pow(level as u32);
            match self.find_in_children(level, node, span, want) {
                SearchStep::Found(page) => return Some(page),
                SearchStep::Into(child) => node = child,
            }
        }
        let start = node * GROUP_WORDS;
        let within = find_in_words(&words[start..start + GROUP_WORDS], want);
        debug_assert!(within.is_some(), "the group has what its summary says");
        let within = within?;
        Some(node as u64 * GROUP_PAGES + within)
    }

    /// The end of the highest extent of at least `want` pages. Only valid right after
    /// [`Self::refresh`].
    pub(super) fn find_last(&self, words: &[u64], want: u32) -> Option<u64> {
        if want == 0 || self.longest() < want {
            return None;
        }
        let mut node = 0;
        for level in (0..self.levels.len() - 1).rev() {
            let span = GROUP_PAGES * (FANOUT as u64).pow(level as u32);
            match self.find_last_in_children(level, node, span, want) {
                SearchStep::Found(end) => return Some(end),
                SearchStep::Into(child) => node = child,
            }
        }
        let start = node * GROUP_WORDS;
        let mut mirrored = [0; GROUP_WORDS];
        let group = words[start..start + GROUP_WORDS].iter().rev();
        mirrored
            .iter_mut()
            .zip(group)
            .for_each(|(mirror, word)| *mirror = word.reverse_bits());
        let from_end = find_in_words(&mirrored, want);
        debug_assert!(from_end.is_some(), "the group has what its summary says");
        let from_end = from_end?;
        Some((node as u64 + 1) * GROUP_PAGES - from_end)
    }

    fn find_in_children(&self, level: usize, node: usize, span: u64, want: u32) -> SearchStep {
        let children = &self.levels[level];
        let first = node * FANOUT;
        let mut carried = 0;
        for (index, child) in children.iter().enumerate().skip(first).take(FANOUT) {
            if carried + child.prefix >= want {
                return SearchStep::Found(index as u64 * span - u64::from(carried));
            }
            if child.longest >= want {
                return SearchStep::Into(index);
            }
            carried = if is_full(child, span) {
                carried + child.prefix
            } else {
                child.suffix
            };
        }
        debug_assert!(false, "a summary promised an extent that is not there");
        SearchStep::Into(first)
    }

    fn find_last_in_children(&self, level: usize, node: usize, span: u64, want: u32) -> SearchStep {
        let children = &self.levels[level];
        let first = node * FANOUT;
        let last = children.len().min(first + FANOUT);
        let mut carried = 0;
        for (index, child) in children[..last].iter().enumerate().skip(first).rev() {
            if carried + child.suffix >= want {
                // The last one may cover less than the others.
                let all = self.levels[0].len() as u64 * GROUP_PAGES;
                return SearchStep::Found(
                    ((index as u64 + 1) * span).min(all) + u64::from(carried),
                );
            }
            if child.longest >= want {
                return SearchStep::Into(index);
            }
            carried = if is_full(child, span) {
                carried + child.suffix
            } else {
                child.prefix
            };
        }
        debug_assert!(false, "a summary promised an extent that is not there");
        SearchStep::Into(first)
    }
}

enum SearchStep {
    Found(u64),
    Into(usize),
}

fn is_full(summary: &Summary, span: u64) -> bool {
    u64::from(summary.prefix) == span
}

fn of_words(words: &[u64]) -> Summary {
    // The most frequent groups first: no page free, and every page free.
    if words.iter().all(|word| *word == 0) {
        return Summary::default();
    }
    if words.iter().all(|word| *word == u64::MAX) {
        let all = GROUP_PAGES as u32;
        return Summary {
            prefix: all,
            suffix: all,
            longest: all,
        };
    }
    let mut sum = JoinedSummary::default();
    for &word in words {
        sum.add(of_word(word), 64);
    }
    sum.finish()
}

fn of_word(word: u64) -> Summary {
    let mut longest = 0;
    let mut rest = word;
    while rest != 0 {
        rest &= rest << 1;
        longest += 1;
    }
    Summary {
        prefix: word.trailing_ones(),
        suffix: word.leading_ones(),
        longest,
    }
}

fn of_children(children: &[Summary], span: u64) -> Summary {
    let mut sum = JoinedSummary::default();
    for child in children {
        sum.add(*child, span);
    }
    sum.finish()
}

/// Summaries joined from left to right.
#[derive(Default)]
struct JoinedSummary {
    prefix: Option<u32>,
    extent: u32,
    longest: u32,
}

impl JoinedSummary {
    #[inline]
    fn add(&mut self, next: Summary, span: u64) {
        let across = self.extent + next.prefix;
        self.longest = self.longest.max(next.longest).max(across);
        if is_full(&next, span) {
            self.extent = across;
        } else {
            self.prefix.get_or_insert(across);
            self.extent = next.suffix;
        }
    }

    fn finish(self) -> Summary {
        debug_assert!(
            self.longest >= self.extent.max(self.prefix.unwrap_or(0)),
            "no free extent is longer than the longest, also none at an end"
        );
        Summary {
            prefix: self.prefix.unwrap_or(self.extent),
            suffix: self.extent,
            longest: self.longest,
        }
    }
}

/// The first bit of the first `want` consecutive set bits.
fn find_in_words(words: &[u64], want: u32) -> Option<u64> {
    let mut extent = 0;
    for (index, &word) in words.iter().enumerate() {
        let mut at = 0;
        while at < 64 {
            let rest = word >> at;
            let ones = (!rest).trailing_zeros().min(64 - at);
            extent += ones;
            at += ones;
            if extent >= want {
                return Some(index as u64 * 64 + u64::from(at) - u64::from(extent));
            }
            if at < 64 {
                extent = 0;
                at += (word >> at).trailing_zeros().min(64 - at);
            }
        }
    }
    None
}
