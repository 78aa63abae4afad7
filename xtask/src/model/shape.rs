//! Shapes of the keys and values of a table.
//!
//! A key is made only from a number below the episode's `domain`, so drawing a number twice finds
//! the same record again. A value is a piece of one fixed pattern. The model keeps its start and
//! end, and not its bytes.

use fastrand::Rng;
use std::{
    fmt,
    ops::Deref,
    sync::{Arc, LazyLock},
};
use teak::{
    Comparison, KeyOrder,
    codec::{EncodeAs, Raw},
};

/// The longest value at random sizes. A value around two pages of 64 KiB is longer.
const VALUE_LEN_USUAL_MAX: usize = 100 << 10;
const VALUE_LEN_MAX: usize = (128 << 10) + 40;
const PATTERN_LEN: usize = VALUE_LEN_MAX + (64 << 10);

/// A custom key order with a sort form: for each byte, the lower half decides first.
pub(crate) static SWAPPED: Comparison = Comparison::new("swapped halves", &|left, right| {
    swapped(left).cmp(swapped(right))
});

fn swapped(key: &[u8]) -> impl Iterator<Item = u8> {
    key.iter().map(|byte| byte.rotate_left(4))
}

static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut pattern = vec![0; PATTERN_LEN];
    Rng::with_seed(1).fill(&mut pattern);
    pattern
});

/// A key. It is cheap to clone, because snapshots of the model are made of keys, and short when
/// printed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ModelKey(Arc<[u8]>);

/// Number of bytes printed at the start and at the end of a long key.
const SHOWN_LEN: usize = 20;

impl EncodeAs<Raw> for ModelKey {
    fn encode_as(&self) -> teak::Result<impl AsRef<[u8]>> {
        Ok(&self.0)
    }
}

impl fmt::Debug for ModelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(key) = self;
        if key.len() <= 2 * SHOWN_LEN {
            return write!(f, "\"{}\"", key.escape_ascii());
        }
        let (start, end) = (&key[..SHOWN_LEN], &key[key.len() - SHOWN_LEN..]);
        write!(
            f,
            "\"{}\" ... \"{}\" ({} bytes)",
            start.escape_ascii(),
            end.escape_ascii(),
            key.len()
        )
    }
}

impl From<Vec<u8>> for ModelKey {
    fn from(key: Vec<u8>) -> Self {
        Self(key.into())
    }
}

impl Deref for ModelKey {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// A key and its value.
pub(crate) type ModelRecord = (ModelKey, ModelValue);

/// How the keys of a table are made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeyShape {
    /// 0 to 4 bytes out of four: many neighbours, many prefixes of each other.
    Tiny,
    /// 0 to 40 random bytes.
    Random,
    /// A long prefix that all keys share, followed by a few bytes.
    Prefixed(Vec<u8>),
    /// Text with a number in it.
    Text,
    /// Consecutive numbers, 8 bytes, big-endian.
    Counter,
    /// From 0 bytes to the maximum length.
    Long { len_max: usize },
    /// Random bytes of a fixed length.
    Fixed { len: usize },
    /// Native integers of 4 or 8 bytes.
    Integer { width: usize },
}

impl KeyShape {
    /// A random shape for a table of that order.
    pub(crate) fn draw(rng: &mut Rng, order: KeyOrder, key_len_max: usize) -> Self {
        if order == KeyOrder::Integer {
            return Self::Integer {
                width: if rng.bool() { 4 } else { 8 },
            };
        }
        match rng.u8(0..8) {
            0 => Self::Tiny,
            1 | 2 => Self::Random,
            3 => {
                let len = rng.usize(1..key_len_max - 8);
                Self::Prefixed(std::iter::repeat_with(|| rng.u8(..)).take(len).collect())
            }
            4 | 5 => Self::Text,
            6 => Self::Counter,
            _ => Self::Long {
                len_max: key_len_max,
            },
        }
    }

    /// The key of that number.
    pub(crate) fn key(&self, number: u64) -> ModelKey {
        let mut rng = Rng::with_seed(number);
        let key: Vec<u8> = match self {
            Self::Tiny => {
                let len = rng.usize(0..=4);
                std::iter::repeat_with(|| [0, 1, b'a', 0xff][rng.usize(0..4)])
                    .take(len)
                    .collect()
            }
            Self::Random => random_bytes(&mut rng, 40),
            Self::Prefixed(prefix) => [prefix.as_slice(), &random_bytes(&mut rng, 8)].concat(),
            Self::Text => format!(
                "user:{:06}:{}",
                number / 4,
                ["born", "mail", "name", "names"][number as usize % 4]
            )
            .into(),
            Self::Counter => number.to_be_bytes().into(),
            Self::Long { len_max } => long_key(&mut rng, *len_max),
            Self::Fixed { len } => std::iter::repeat_with(|| rng.u8(..)).take(*len).collect(),
            Self::Integer { width: 4 } => ((number * 0x1_0001) as u32).to_ne_bytes().into(),
            Self::Integer { .. } => (number * 0x1_0000_0101).to_ne_bytes().into(),
        };
        key.into()
    }

    /// A key to look up: that of a number, or a neighbour that may never have been inserted.
    pub(crate) fn probe(&self, rng: &mut Rng, domain: u64) -> ModelKey {
        let mut key = self.key(rng.u64(0..domain)).to_vec();
        if matches!(self, Self::Integer { .. }) {
            return key.into();
        }
        match rng.u8(0..8) {
            0 => drop(key.pop()),
            1 if !matches!(self, Self::Long { .. }) => key.push(rng.u8(..)),
            2 => {
                if let Some(last) = key.last_mut() {
                    *last = last.wrapping_add(1);
                }
            }
            3 => key.truncate(rng.usize(0..=key.len())),
            _ => (),
        }
        key.into()
    }
}

fn random_bytes(rng: &mut Rng, len_max: usize) -> Vec<u8> {
    let len = rng.usize(0..=len_max);
    std::iter::repeat_with(|| rng.u8(..)).take(len).collect()
}

fn long_key(rng: &mut Rng, len_max: usize) -> Vec<u8> {
    let len = if rng.u8(0..4) == 0 {
        len_max
    } else {
        rng.usize(0..=len_max)
    };
    let start = rng.usize(0..64);
    let mut key = PATTERN[start..start + len].to_vec();
    if let Some(last) = key.last_mut() {
        *last = rng.u8(..);
    }
    key
}

/// Turns a key into bytes that sort like the key in its table. Applied twice, it returns the key.
pub(crate) fn sort_form(order: KeyOrder, key: &[u8]) -> ModelKey {
    let is_little_endian = order == KeyOrder::Integer && cfg!(target_endian = "little");
    if order == KeyOrder::ReverseBytes || is_little_endian {
        return key.iter().rev().copied().collect::<Vec<u8>>().into();
    }
    if let KeyOrder::Custom(_) = order {
        return swapped(key).collect::<Vec<u8>>().into();
    }
    ModelKey(key.into())
}

/// A value: a piece of the pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelValue {
    start: u32,
    len: u32,
}

impl fmt::Debug for ModelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} bytes of pattern {}>", self.len, self.start)
    }
}

impl ModelValue {
    pub(crate) fn bytes(self) -> &'static [u8] {
        &PATTERN[self.start as usize..][..self.len as usize]
    }

    pub(crate) fn len(self) -> usize {
        self.len as usize
    }
}

/// Which sizes the values of an episode have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueSizes {
    /// 0 to 8 bytes.
    Tiny,
    /// Up to 200 bytes.
    Small,
    /// Mostly small, sometimes around the size of a page or a fraction of it.
    AroundPage(usize),
    /// Mostly small, sometimes up to 100 KiB.
    Large,
}

impl ValueSizes {
    pub(crate) fn draw(rng: &mut Rng, page_size: usize) -> Self {
        match rng.u8(0..8) {
            0 | 1 => Self::Tiny,
            2..=4 => Self::Small,
            5 | 6 => Self::AroundPage(page_size),
            _ => Self::Large,
        }
    }

    /// A random value of these sizes.
    pub(crate) fn value(self, rng: &mut Rng) -> ModelValue {
        let len = match self {
            Self::Tiny => rng.usize(0..=8),
            Self::AroundPage(page_size) if rng.u8(0..12) == 0 => {
                let around = [page_size / 4, page_size / 2, page_size, 2 * page_size];
                around[rng.usize(0..4)] + rng.usize(0..80) - 40
            }
            Self::Large if rng.u8(0..40) == 0 => rng.usize(0..VALUE_LEN_USUAL_MAX),
            _ => [0, 1, rng.usize(0..40), rng.usize(0..200)][rng.usize(0..4)],
        };
        ModelValue {
            start: rng.u32(0..(PATTERN_LEN - VALUE_LEN_MAX) as u32),
            len: len as u32,
        }
    }
}
