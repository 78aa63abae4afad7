//! Replays a chain like a node: looks up the coins that a block spends, keeps the changes in
//! memory, and writes all of them in one durable transaction when they exceed a limit.

use crate::{
    compare::{
        chain::{Chain, Coin},
        message::{PartResult, TaskPart},
        meter::Meter,
        model::RecordBlock,
    },
    data::Digest,
    engines::store::{Connection, Read, Store, StorePair, Write},
};
use anyhow::{Result, ensure};
use std::{collections::HashMap, path::Path};

/// Keys per lookup call.
const GROUP: usize = 512;
/// The approximate memory of an entry in a node: key, value and overhead.
const ENTRY_BYTES: u64 = 136;
/// Coins of a transaction while the first ones are loaded.
const BATCH: usize = 10_000;

/// A chain, its coins in the database, and its unwritten changes.
pub(crate) struct Coins {
    chain: Chain,
    /// The digest of the database.
    pub(crate) flushed: Digest,
    pub(crate) flushed_bytes: u64,
    changes: HashMap<Coin, CoinChange>,
}

/// The unwritten change of a coin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CoinChange {
    Created,
    Spent,
}

impl Coins {
    /// A chain with `count` coins, none of which is in the database.
    pub(crate) fn new(count: u64) -> Self {
        Self {
            chain: Chain::new(count),
            flushed: Digest::default(),
            flushed_bytes: 0,
            changes: HashMap::new(),
        }
    }

    /// Puts the first coins into the database, in batches, in any order.
    pub(crate) fn load<S: Store>(&mut self, store: &S) -> Result<()> {
        let coins: Vec<Coin> = self.chain.coins().collect();
        let mut connection = store.connect()?;
        for coins in coins.chunks(BATCH) {
            let block = block(coins);
            let pairs = block.pairs();
            let mut transaction = connection.write()?;
            transaction.put_all(&pairs)?;
            transaction.commit()?;
            self.note_put(&pairs);
        }
        connection.wait()?;
        store.sync()?;
        store.rest()
    }

    /// The approximate memory of this value in bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        let of_chain = self.chain.count_coins() * size_of::<Coin>() as u64;
        of_chain + self.changes.len() as u64 * ENTRY_BYTES
    }

    fn note_put(&mut self, pairs: &[StorePair<'_>]) {
        for (key, value) in pairs {
            self.flushed.add_record(key, value);
            self.flushed_bytes += (key.len() + value.len()) as u64;
        }
    }

    /// The next block: the coins to look up.
    fn next_block(&mut self) -> (Vec<Coin>, u64) {
        let block = self.chain.next_block();
        let touched = (block.spent.len() + block.created.len()) as u64;
        let mut wanted = Vec::new();
        for coin in block.spent {
            // A coin that was never written need not be removed.
            if self.changes.remove(&coin) != Some(CoinChange::Created) {
                wanted.push(coin);
                self.changes.insert(coin, CoinChange::Spent);
            }
        }
        for coin in block.created {
            self.changes.insert(coin, CoinChange::Created);
        }
        (wanted, touched)
    }

    /// Takes all changes for writing: new coins and spent ones.
    fn take_changes(&mut self) -> (RecordBlock, RecordBlock) {
        let mut changes: Vec<(Coin, CoinChange)> = self.changes.drain().collect();
        // The order of the map differs between processes.
        changes.sort_unstable_by_key(|(coin, _)| *coin);
        let of = |wanted: CoinChange| -> Vec<Coin> {
            let changes = changes.iter().filter(|(_, change)| *change == wanted);
            changes.map(|(coin, _)| *coin).collect()
        };
        (
            block(&of(CoinChange::Created)),
            block(&of(CoinChange::Spent)),
        )
    }
}

/// Replays blocks. Lookups and writes are timed. An operation is a coin that is spent or created;
/// latencies are those of blocks.
pub(crate) fn replay<S: Store>(
    store: &S,
    coins: &mut Coins,
    part: TaskPart,
    flush_bytes: u64,
    directory: &Path,
) -> Result<PartResult> {
    let mut meter = Meter::new(directory)?;
    let mut connection = store.connect()?;
    let mut expected = Digest::default();
    for _ in 0..part.operations {
        let (wanted, touched) = coins.next_block();
        let wanted = block(&wanted);
        for (_, value) in wanted.pairs() {
            expected.add_value(value);
        }
        let keys = wanted.keys();
        let is_due = coins.changes.len() as u64 * ENTRY_BYTES >= flush_bytes;
        let changes = is_due.then(|| coins.take_changes());
        let changes = changes
            .as_ref()
            .map(|(new, gone)| (new.pairs(), gone.pairs(), gone.keys()));
        meter.run(touched, |latencies, digest| {
            latencies.time(|| {
                let mut transaction = connection.read()?;
                for group in keys.chunks(GROUP) {
                    transaction.get_many(group, |value| digest.add_value(value))?;
                }
                drop(transaction);
                let Some((new, _, gone)) = &changes else {
                    return Ok(());
                };
                let mut transaction = connection.write()?;
                transaction.put_all(new)?;
                transaction.remove_all(gone)?;
                transaction.commit()
            })
        })?;
        if let Some((new, gone, _)) = &changes {
            coins.note_put(new);
            for (key, value) in gone {
                coins.flushed.remove(key, value);
                coins.flushed_bytes -= (key.len() + value.len()) as u64;
            }
        }
    }
    let found = meter.digest;
    ensure!(
        found == expected,
        "lookups found {found:?} instead of {expected:?}"
    );
    meter.finish_durable(store)
}

/// Coins as records.
fn block(coins: &[Coin]) -> RecordBlock {
    let (mut block, mut key, mut value) = (RecordBlock::default(), Vec::new(), Vec::new());
    for coin in coins {
        key.clear();
        value.clear();
        coin.add_key(&mut key);
        coin.add_value(&mut value);
        block.add_pair(&key, &value);
    }
    block
}
