//! Applies a block of the Bitcoin chain to a database of coins, as a node does.
//!
//! ```text
//! cargo run --release --example coins -- [DATABASE]
//! ```
//!
//! The coins that the block spends and that older blocks created are not part of the sample. They
//! are made up here (their keys are the real ones, their amounts and scripts are not) and stand in
//! the database before the block is applied. Then, in one durable transaction: look up all coins
//! that the block spends, see that they exist, remove them, insert the ones that the block creates.
//! A coin that is both created and spent by the block never reaches the database.

use std::{collections::BTreeMap, env, error::Error, fs, path::Path, time::Instant};
use teak::{Database, Table, Transaction, WriteTxn, codec::Bytes};

type Coins = Table<Bytes, Bytes>;
type Records = BTreeMap<Vec<u8>, Vec<u8>>;
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A record of this name says which block was applied last.
const TIP: &[u8] = b"height";

/// The changes of a block.
struct Block {
    height: u32,
    /// Coins that exist before the block, and not after it.
    spent: Vec<Vec<u8>>,
    /// Coins that exist after the block, and not before it.
    created: Records,
    spent_within_count: usize,
}

fn main() -> Result<()> {
    let path = env::args_os()
        .nth(1)
        .unwrap_or_else(|| "coins-example.teak".into());
    let block = read_block()?;
    let database = Database::open(&path)?;
    if tip(&database)? == Some(block.height) {
        println!(
            "block {} is already applied to {}; nothing to do",
            block.height,
            Path::new(&path).display()
        );
        return Ok(());
    }
    make_up_older_coins(&database, &block)?;
    apply(&database, &block)?;
    database.close()?;
    Ok(())
}

fn read_block() -> Result<Block> {
    let mut created = read_dump("coins-702861.dump")?;
    let mut spent: Vec<_> = read_dump("spends-702861.dump")?.into_keys().collect();
    let before = spent.len();
    // Coins that the block creates and spends take no part in the rest.
    spent.retain(|key| created.remove(key).is_none());
    let height = created
        .values()
        .next()
        .and_then(|value| value.first_chunk())
        .ok_or("the block creates no coins")?;
    Ok(Block {
        height: u32::from_be_bytes(*height),
        spent_within_count: before - spent.len(),
        spent,
        created,
    })
}

/// The block that was applied last.
fn tip(database: &Database) -> Result<Option<u32>> {
    let txn = database.begin_read()?;
    let state = match txn.open_table::<Bytes, Bytes>("state") {
        Ok(state) => state,
        Err(teak::Error::TableNotFound(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let height = state.get(&txn, TIP)?.and_then(|value| value.first_chunk());
    Ok(height.map(|bytes| u32::from_be_bytes(*bytes)))
}

/// Brings the database to where it would be before the block.
fn make_up_older_coins(database: &Database, block: &Block) -> Result<()> {
    let begin = Instant::now();
    let mut txn = database.begin_write()?;
    let coins: Coins = txn.create_table("coins")?;
    for key in &block.spent {
        coins.insert(&mut txn, key, made_up_coin(key, block.height))?;
    }
    txn.commit()?;
    println!(
        "made up {} coins of older blocks in {:.1} ms",
        block.spent.len(),
        ms(begin)
    );
    Ok(())
}

/// A coin of the block before, with an amount that follows from its key, to be spent by anybody.
fn made_up_coin(key: &[u8], height: u32) -> Vec<u8> {
    const OP_TRUE: u8 = 0x51;
    let amount = 1_000 + u64::from(key[0]) * 1_000_000;
    [
        (height - 1).to_be_bytes().as_slice(),
        &[0],
        &amount.to_be_bytes(),
        &[OP_TRUE],
    ]
    .concat()
}

fn apply(database: &Database, block: &Block) -> Result<()> {
    let begin = Instant::now();
    let mut txn = database.begin_write()?;
    let coins: Coins = txn.create_table("coins")?;
    let spent_amount = amount_of_spent(&coins, &txn, block)?;
    for key in &block.spent {
        coins.remove(&mut txn, key)?;
    }
    let mut created_amount = 0;
    for (key, value) in &block.created {
        if !coins.insert_new(&mut txn, key, value)? {
            return Err("the block creates a coin that exists".into());
        }
        created_amount += amount(value)?;
    }
    let state: Coins = txn.create_table("state")?;
    state.insert(&mut txn, TIP, block.height.to_be_bytes())?;
    let count = coins.len(&txn)?;
    let id = txn.commit()?;
    let (height, took) = (block.height, ms(begin));
    println!("applied block {height} durably as transaction {id} in {took:.1} ms");
    let (removed, amount) = (block.spent.len(), btc(spent_amount));
    println!("  {removed:>6} coins removed     {amount:>17.8} BTC (made up)");
    let (inserted, amount) = (block.created.len(), btc(created_amount));
    println!("  {inserted:>6} coins inserted    {amount:>17.8} BTC");
    let within = block.spent_within_count;
    println!("  {within:>6} coins created and spent within the block");
    println!("  {count:>6} coins in the database");
    Ok(())
}

/// Looks up all coins that the block spends, together. Fails if one does not exist.
fn amount_of_spent(coins: &Coins, txn: &WriteTxn, block: &Block) -> Result<u64> {
    let keys: Vec<&[u8]> = block.spent.iter().map(Vec::as_slice).collect();
    let mut sum = 0;
    for (key, value) in keys.iter().zip(coins.get_many(txn, &keys)?) {
        let value = value
            .ok_or_else(|| format!("the block spends a coin that does not exist: {key:02x?}"))?;
        sum += amount(value)?;
    }
    Ok(sum)
}

/// The amount in a coin's value, in satoshi.
fn amount(value: &[u8]) -> Result<u64> {
    let bytes = value
        .get(5..)
        .and_then(|rest| rest.first_chunk())
        .ok_or("a coin is too short")?;
    Ok(u64::from_be_bytes(*bytes))
}

/// Reads a file of `examples/data`; its README says what it looks like.
fn read_dump(name: &str) -> Result<Records> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/data")
        .join(name);
    let text = fs::read_to_string(path)?;
    let mut lines = text
        .lines()
        .skip_while(|line| *line != "HEADER=END")
        .skip(1);
    let mut records = Records::new();
    while let (Some(key), Some(value)) = (lines.next(), lines.next()) {
        records.insert(read_hex(key)?, read_hex(value)?);
    }
    Ok(records)
}

fn read_hex(line: &str) -> Result<Vec<u8>> {
    let digits = line.trim_start().as_bytes();
    digits
        .chunks(2)
        .map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?))
        .collect()
}

fn btc(satoshi: u64) -> f64 {
    satoshi as f64 / 1e8
}

fn ms(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e3
}
