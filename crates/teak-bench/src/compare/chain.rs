//! A synthetic chain of blocks with the measured shape of Bitcoin's, and the coins that it makes
//! and spends.
//!
//! The sources of its shape:
//!
//! - Inputs and outputs of transactions, transactions of a block, kinds of scripts, and the share
//!   of inputs that spend a coin of the same block: counted in block 702,861, which `examples/data`
//!   has (2,500 transactions, 5,992 outputs, 6,517 inputs, 327 of them of the same block; scripts
//!   that pay to a witness key hash 39.8 %, to a script hash 30.3 %, to a key hash 27.7 %, to 32
//!   bytes of a witness 2.2 %).
//! - Ages of spent coins: 80 % are spent within a day, 15 % more within a month ("Deciphering
//!   Bitcoin Blockchain Data by Cohort Analysis", Scientific Data 9, 2022, figure 3: until February
//!   2021). Within a day, within a month and beyond, ages are distributed evenly over their
//!   logarithm, since the probability of being spent falls with a power of the age.
//! - Keys and values: those of Bitcoin Core's `chainstate`: `C`, the transaction's id and the
//!   output's number as a varint; height and coinbase, amount and script, all compressed, with the
//!   resulting lengths.
//!
//! The coins before the first block have the ages that such spending leaves, and the rest are
//! older.
//!
//! Invariant: a chain depends only on its seed and the number of coins.

use fastrand::Rng;

const SEED: u64 = 0x6368_6169_6e00;
const TRANSACTIONS: u64 = 2500;
/// Blocks of a day, and of a month of 30 days.
const DAY: f64 = 144.0;
const MONTH: f64 = 4320.0;
/// Blocks of ten years, beyond which all ages are equal.
const AGES: usize = 525_600;
const WITHIN_DAY: f64 = 0.80;
const WITHIN_MONTH: f64 = 0.95;
/// The number of transactions in ten thousand with a number of outputs; the rest have 10 or more.
const OUTPUTS: [(u64, u64); 4] = [(1, 1652), (2, 7916), (3, 152), (6, 136)];
const MANY_OUTPUTS: (f64, f64) = (10.0, 100.0);
/// The number of transactions in ten thousand with a number of inputs; the rest have more.
const INPUTS: [(u64, u64); 5] = [(1, 7575), (2, 1417), (3, 400), (4, 180), (6, 276)];
const MANY_INPUTS: (f64, f64) = (10.0, 300.0);
/// Of ten thousand inputs this many spend a coin of the same block.
const SAME_BLOCK: u64 = 502;
/// The number of outputs in a thousand of each kind, and the bytes of the compressed script.
const SCRIPTS: [(u64, usize); 3] = [(398, 23), (580, 21), (22, 35)];
const HEIGHT: u64 = 700_000;

/// A coin: its transaction, and in the last 16 bits which output of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Coin(u64);

/// The coins that a block creates and spends.
#[derive(Default)]
pub(super) struct ChainBlock {
    pub(super) spent: Vec<Coin>,
    /// The new coins that are unspent after the block.
    pub(super) created: Vec<Coin>,
}

/// The unspent coins, by the block that created them.
pub(super) struct Chain {
    rng: Rng,
    /// The oldest blocks come first.
    blocks: Vec<Vec<Coin>>,
    transactions: u64,
}

impl Chain {
    /// A chain with `count` coins, so far.
    pub(super) fn new(count: u64) -> Self {
        let mut chain = Self {
            rng: Rng::with_seed(SEED),
            blocks: Vec::new(),
            transactions: 0,
        };
        let outputs = TRANSACTIONS as f64 * 2.4;
        let (mut left, mut lens) = (count, Vec::new());
        for age in 1..AGES {
            let survivors = (outputs * (1.0 - spent_within(age as f64))) as u64;
            if left <= survivors || survivors == 0 {
                break;
            }
            lens.push(survivors);
            left -= survivors;
        }
        lens.push(left);
        for len in lens.into_iter().rev() {
            let coins = (0..len).map(|_| chain.coin_of_new_transaction()).collect();
            chain.blocks.push(coins);
        }
        chain
    }

    /// All unspent coins.
    pub(super) fn coins(&self) -> impl Iterator<Item = Coin> {
        self.blocks.iter().flatten().copied()
    }

    /// The number of unspent coins.
    pub(super) fn count_coins(&self) -> u64 {
        self.blocks.iter().map(|coins| coins.len() as u64).sum()
    }

    /// The next block.
    pub(super) fn next_block(&mut self) -> ChainBlock {
        let mut block = ChainBlock::default();
        for _ in 0..TRANSACTIONS {
            for _ in 0..self.count(&INPUTS, MANY_INPUTS) {
                if self.rng.u64(..10_000) < SAME_BLOCK && !block.created.is_empty() {
                    let index = self.rng.usize(..block.created.len());
                    block.created.swap_remove(index);
                } else {
                    block.spent.extend(self.take_old());
                }
            }
            self.transactions += 1;
            let transaction = self.transactions;
            let outputs = self.count(&OUTPUTS, MANY_OUTPUTS) as u16;
            let created = (0..outputs).map(|output| Coin::new(transaction, output));
            block.created.extend(created);
        }
        self.blocks.push(block.created.clone());
        block
    }

    /// A transaction of the past has one coin left.
    fn coin_of_new_transaction(&mut self) -> Coin {
        self.transactions += 1;
        Coin::new(self.transactions, self.rng.u16(..3))
    }

    /// A coin of an earlier block, which is spent.
    fn take_old(&mut self) -> Option<Coin> {
        let age = age_at(self.rng.f64()) as usize;
        let newest = self.blocks.len().saturating_sub(age.max(1));
        let index = (0..=newest).rev().find(|&index| {
            self.blocks
                .get(index)
                .is_some_and(|coins| !coins.is_empty())
        })?;
        let coins = &mut self.blocks[index];
        let coin = self.rng.usize(..coins.len());
        Some(coins.swap_remove(coin))
    }

    /// A random count with the frequencies of `table`; the rest is distributed evenly over the
    /// logarithm.
    fn count(&mut self, table: &[(u64, u64)], (low, high): (f64, f64)) -> u64 {
        let mut drawn = self.rng.u64(..10_000);
        for &(count, share) in table {
            if drawn < share {
                return count;
            }
            drawn -= share;
        }
        (low * (high / low).powf(self.rng.f64())) as u64
    }
}

impl Coin {
    fn new(transaction: u64, output: u16) -> Self {
        Self(transaction << 16 | u64::from(output))
    }

    fn transaction(self) -> u64 {
        self.0 >> 16
    }

    /// Appends the coin's key to `target`.
    pub(super) fn add_key(self, target: &mut Vec<u8>) {
        target.push(b'C');
        let begin = target.len();
        target.resize(begin + 32, 0);
        Rng::with_seed(self.transaction() ^ SEED << 8).fill(&mut target[begin..]);
        // A varint that counts from where the one with fewer bytes ends.
        match self.0 as u16 {
            output @ 0..0x80 => target.push(output as u8),
            output => {
                let rest = output - 0x80;
                target.extend([0x80 | (rest >> 7) as u8, (rest & 0x7f) as u8]);
            }
        }
    }

    /// Appends the coin's value to `target`.
    pub(super) fn add_value(self, target: &mut Vec<u8>) {
        let mut rng = Rng::with_seed(self.0);
        // Height and coinbase.
        target.extend(&(HEIGHT + self.transaction() / TRANSACTIONS).to_be_bytes()[5..]);
        // An amount: few bytes if it is round.
        let amount_len = rng.usize(2..=6);
        let script_len = {
            let mut drawn = rng.u64(..1000);
            let found = SCRIPTS.iter().find(|(share, _)| {
                let is_it = drawn < *share;
                drawn = drawn.saturating_sub(*share);
                is_it
            });
            found.map_or(SCRIPTS[0].1, |(_, len)| *len)
        };
        let begin = target.len();
        target.resize(begin + amount_len + script_len, 0);
        rng.fill(&mut target[begin..]);
    }
}

/// The share of coins that are spent before they are `age` blocks old.
fn spent_within(age: f64) -> f64 {
    match age {
        age if age <= 1.0 => 0.0,
        age if age <= DAY => WITHIN_DAY * age.ln() / DAY.ln(),
        age if age <= MONTH => {
            WITHIN_DAY + (WITHIN_MONTH - WITHIN_DAY) * (age / DAY).ln() / (MONTH / DAY).ln()
        }
        age => {
            let share = (age / MONTH).ln() / (AGES as f64 / MONTH).ln();
            WITHIN_MONTH + (1.0 - WITHIN_MONTH) * share.min(1.0)
        }
    }
}

/// The age at which that share of coins is spent.
fn age_at(share: f64) -> f64 {
    if share <= WITHIN_DAY {
        DAY.powf(share / WITHIN_DAY)
    } else if share <= WITHIN_MONTH {
        let share = (share - WITHIN_DAY) / (WITHIN_MONTH - WITHIN_DAY);
        DAY * (MONTH / DAY).powf(share)
    } else {
        let share = (share - WITHIN_MONTH) / (1.0 - WITHIN_MONTH);
        MONTH * (AGES as f64 / MONTH).powf(share)
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
