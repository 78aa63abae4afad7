//! Random keys.

use super::{comparator::Comparator, step::ShownBytes};
use fastrand::Rng;

/// Lengths of keys near which the library stores keys in other ways: the greatest length of the
/// engine's keys, and multiples of it without the bytes of a bucket's number.
const LONG: &[usize] = &[
    1000, 3830, 3832, 3839, 3840, 3841, 3848, 7671, 7672, 7673, 7680, 11_504, 30_000, 99_990,
];
/// The greatest length of a key under a comparator of the application.
const CUSTOM_MAX: usize = 3840;

/// The source of keys of an episode. It draws from few keys, so that they are repeated.
pub(crate) struct KeyDraw {
    comparator: Comparator,
    number_count: u32,
    /// The percentage of long keys, of tiny ones, and of random bytes. The others are numbers.
    shares: (u32, u32, u32),
}

impl KeyDraw {
    pub(crate) fn draw(rng: &mut Rng, comparator: Comparator) -> Self {
        let shares = [(0, 10, 5), (0, 90, 5), (10, 20, 10), (60, 10, 0), (0, 0, 0)];
        Self {
            comparator,
            number_count: [3, 30, 300, 5000][rng.usize(..4)],
            shares: shares[rng.usize(..shares.len())],
        }
    }

    pub(crate) fn key(&self, rng: &mut Rng) -> ShownBytes {
        let (long, tiny, random) = self.shares;
        let mut choice = rng.u32(..100);
        let mut is_below = |share: u32| {
            let is_below = choice < share;
            choice = choice.saturating_sub(share);
            is_below
        };
        let mut key = if is_below(long) {
            long_key(rng)
        } else if is_below(tiny) {
            tiny_key(rng)
        } else if is_below(random) {
            let len = rng.usize(0..40);
            std::iter::repeat_with(|| rng.u8(..)).take(len).collect()
        } else {
            format!("key{:05}", rng.u32(..self.number_count)).into_bytes()
        };
        if self.comparator != Comparator::Bytewise {
            key.truncate(CUSTOM_MAX);
            key.iter_mut()
                .filter(|_| rng.u8(..4) == 0)
                .for_each(|byte| *byte = byte.to_ascii_uppercase());
        }
        ShownBytes(key)
    }

    /// A target of seeking: a key, or bytes close to one.
    pub(crate) fn target(&self, rng: &mut Rng) -> ShownBytes {
        let ShownBytes(mut key) = self.key(rng);
        match rng.u8(..8) {
            0 => key.push(0),
            1 => {
                key.pop();
            }
            2 => {
                if let Some(last) = key.last_mut() {
                    *last = last.wrapping_add(1);
                }
            }
            3 => key.truncate(rng.usize(0..=key.len())),
            _ => {}
        }
        if self.comparator != Comparator::Bytewise {
            key.truncate(CUSTOM_MAX);
        }
        ShownBytes(key)
    }
}

fn tiny_key(rng: &mut Rng) -> Vec<u8> {
    let len = rng.usize(0..5);
    let letters = [0, b'a', b'b', b'A', 0xff];
    std::iter::repeat_with(|| letters[rng.usize(..letters.len())])
        .take(len)
        .collect()
}

fn long_key(rng: &mut Rng) -> Vec<u8> {
    let letter = [b'p', 0, 0xff][rng.usize(..3)];
    let mut key = vec![letter; LONG[rng.usize(..LONG.len())]];
    key.extend(tiny_key(rng));
    key
}
