//! Debian's `litecoind` in regtest mode. A node on the library mines and spends, is killed at
//! random moments, also while it starts, must keep all blocks that it had flushed, and must have
//! the same chain and the same coins as a node on LevelDB that gets the same blocks. Then the
//! databases of the node on LevelDB are converted, used on the library, and converted back.

mod node;

use super::bench::LeveldbBench;
use crate::{
    Context, Result, built,
    clients::{ClientEnd, Side, comparison::has_teak_file, debian::Unpacked},
};
use node::Node;
use serde_json::Value;
use std::{
    fmt, fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

/// Coins can be spent after 100 blocks.
const FIRST_BLOCKS: u32 = 110;
/// Blocks that are mined at most before a kill. Rules change at block 432, and blocks need more
/// than this program gives them then.
const BLOCKS: u32 = 6;
const KILLS_SHORT: u32 = 3;
const KILLS_LONG: u32 = 50;
/// The longest times before a kill, in milliseconds: of use, and of a start.
const LIFE_MAX: u64 = 2500;
const START_MAX: u64 = 800;
/// Every third kill, from the second one on, is of the start after the kill before.
const KILLS_PER_START: u32 = 3;
/// The databases of a node.
const DATABASES: [&str; 3] = ["chainstate", "blocks/index", "indexes/txindex"];

/// The heights of a node's chain before a kill.
#[derive(Clone, Copy, Debug)]
struct Heights {
    /// The greatest that the node has reported.
    seen: u64,
    /// That of the coins in the database, which a kill must not take back.
    flushed: u64,
}

/// The chain that both nodes have.
#[derive(Clone, Debug)]
struct CommonChain {
    height: u64,
    outputs: String,
}

impl fmt::Display for CommonChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { height, outputs } = self;
        write!(f, "both at height {height} with {outputs} outputs")
    }
}

/// Runs both nodes, if the packages can be downloaded.
pub(super) fn run(bench: &LeveldbBench<'_>) -> Result<ClientEnd> {
    let Some(unpacked) = Unpacked::new(&bench.area, "litecoin", &["litecoind"])? else {
        return Ok(ClientEnd::Skipped);
    };
    let nodes = bench.area.directory.join("litecoin/nodes");
    if nodes.exists() {
        fs::remove_dir_all(&nodes)?;
    }
    let begin = Instant::now();
    let node = |name: &str, side| Node::new(&unpacked, bench.prefix(side), nodes.join(name));
    let mut original = node("original", Side::Original)?;
    let mut teak = node("teak", Side::Teak)?;
    original.start()?;
    teak.start()?;
    let address = teak.create_wallet()?;
    teak.mine(FIRST_BLOCKS, &address)?;
    let chain = compare(&original, &teak)?;
    let kills = kill_often(bench, &original, &mut teak, &address, chain)?;
    teak.stop()?;
    original.stop()?;
    for database in DATABASES {
        let is_teak = |node: &Node<'_>| has_teak_file(&node.database(database));
        ensure!(
            is_teak(&teak)? && !is_teak(&original)?,
            "{database} is not a database of its library"
        );
    }
    println!("litecoin: {kills}; {} s", begin.elapsed().as_secs());
    convert(bench, &unpacked, &nodes, &address)?;
    Ok(ClientEnd::Completed)
}

impl Heights {
    /// After a comparison, which flushes the coins.
    fn of(chain: &CommonChain) -> Self {
        Self {
            seen: chain.height,
            flushed: chain.height,
        }
    }
}

/// Kills the node on the library again and again, and compares it with the other one. Both have
/// `chain` before. Describes the kills.
fn kill_often(
    bench: &LeveldbBench<'_>,
    original: &Node<'_>,
    teak: &mut Node<'_>,
    address: &str,
    mut chain: CommonChain,
) -> Result<String> {
    let seed = bench.arguments.seed;
    let kills = match bench.arguments.is_full {
        true => KILLS_LONG,
        false => KILLS_SHORT,
    };
    let mut random = fastrand::Rng::with_seed(seed);
    let [mut at_start, mut taken_back] = [0, 0];
    let mut heights = Heights::of(&chain);
    for kill in 1..=kills {
        let is_at_start = |kill| kill % KILLS_PER_START == 2;
        let life_max = if is_at_start(kill) {
            START_MAX
        } else {
            LIFE_MAX
        };
        let life = Duration::from_millis(random.u64(0..life_max));
        if is_at_start(kill) {
            at_start += 1;
            kill_at_start(teak, life)?;
        } else {
            heights = use_until_killed(teak, address, life, heights)?;
        }
        if kill < kills && is_at_start(kill + 1) {
            continue;
        }
        teak.start()?;
        let height = teak.height()?;
        let Heights { seen, flushed } = heights;
        ensure!(
            height >= flushed,
            "kill {kill}, seed {seed}: at height {height}, and {flushed} was flushed"
        );
        taken_back += u32::from(height < seen);
        chain = compare(original, teak).context(format_args!("after kill {kill}"))?;
        if bench.arguments.is_full {
            println!("  kill {kill} after {life:?}: height {height}, before {heights:?}; {chain}");
        }
        heights = Heights::of(&chain);
    }
    Ok(format!(
        "{kills} kills, {at_start} of them while the node started; {chain}; {taken_back} kills \
         took blocks back that the node had not flushed"
    ))
}

/// Starts a node, and kills it after some time.
fn kill_at_start(node: &mut Node<'_>, life: Duration) -> Result {
    node.spawn()?;
    thread::sleep(life);
    node.kill()?;
    node.wait_for_kill()
}

/// Has a node spend and mine, and kills it after some time. Returns its heights, which were
/// `heights` before.
fn use_until_killed(
    node: &mut Node<'_>,
    address: &str,
    life: Duration,
    mut heights: Heights,
) -> Result<Heights> {
    let is_over = AtomicBool::new(false);
    let user = &*node;
    let heights = thread::scope(|scope| -> Result<Heights> {
        let is_over = &is_over;
        let client = scope.spawn(move || {
            let mut mined = 0;
            while !is_over.load(SeqCst) {
                for _ in 0..2 {
                    let _ = user.call(&["sendtoaddress", address, "0.5"]);
                }
                if mined < BLOCKS && user.mine(1, address).is_ok() {
                    mined += 1;
                    heights.seen = user.height().unwrap_or(heights.seen);
                }
                let flushed = state(user).ok().and_then(|state| state["height"].as_u64());
                heights.flushed = flushed.unwrap_or(heights.flushed);
            }
            heights
        });
        thread::sleep(life);
        let killed = user.kill();
        is_over.store(true, SeqCst);
        let heights = client.join();
        killed?;
        heights.map_err(|_| failure!("the client of the node has panicked"))
    })?;
    node.wait_for_kill()?;
    Ok(heights)
}

/// Gives each node the blocks that the other has, and refuses a difference between them.
fn compare(original: &Node<'_>, teak: &Node<'_>) -> Result<CommonChain> {
    for node in [original, teak] {
        let is_sound = node.call(&["verifychain", "4", "100"])?;
        ensure!(is_sound == "true", "a chain is not sound: {is_sound}");
    }
    let before = teak.height()?;
    give_blocks(teak, original)?;
    give_blocks(original, teak)?;
    let after = teak.height()?;
    let (theirs, own) = (state(original)?, state(teak)?);
    ensure!(
        theirs == own,
        "LevelDB has {theirs}, Teak {own}; Teak was at height {before} and is at {after}"
    );
    for number in [1, after / 2, after] {
        let hash = teak.call(&["getblockhash", &number.to_string()])?;
        let block: Value = serde_json::from_str(&teak.call(&["getblock", &hash])?)?;
        let last = block["tx"].as_array().and_then(|all| all.last());
        let id = last
            .and_then(Value::as_str)
            .context("a block is empty")?
            .to_owned();
        // Without the block's hash, the index of transactions is asked.
        let [theirs, own] =
            [original, teak].map(|node| node.call_when_indexed(&["getrawtransaction", &id]));
        ensure!(theirs? == own?, "the transactions {id} differ");
    }
    Ok(CommonChain {
        height: after,
        outputs: own["txouts"].to_string(),
    })
}

/// Submits the blocks of one node to another that has fewer.
fn give_blocks(from: &Node<'_>, to: &Node<'_>) -> Result {
    for height in to.height()? + 1..=from.height()? {
        let hash = from.call(&["getblockhash", &height.to_string()])?;
        let block = from.call(&["getblock", &hash, "0"])?;
        let refused = to.submit(&block)?;
        ensure!(
            refused.is_empty() || refused == "duplicate",
            "block {height} is refused: {refused}"
        );
    }
    Ok(())
}

/// The chain and the coins of a node, without the size on the disk. The node flushes its coins
/// before it counts them.
fn state(node: &Node<'_>) -> Result<Value> {
    let mut state: Value = serde_json::from_str(&node.call(&["gettxoutsetinfo"])?)?;
    if let Some(fields) = state.as_object_mut() {
        fields.remove("disk_size");
    }
    Ok(state)
}

/// Converts the databases of a node on LevelDB, uses them on the library, and converts them back.
fn convert(bench: &LeveldbBench<'_>, unpacked: &Unpacked, nodes: &Path, address: &str) -> Result {
    let [source, directory] = ["original", "converted"].map(|name| nodes.join(name));
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(&source).arg(&directory);
    let log = nodes.join("convert.log");
    bench.area.succeed(&mut copy, &log)?;
    let mut original = Node::new(unpacked, bench.prefix(Side::Original), source)?;
    original.start()?;
    let mut converted = Node::new(unpacked, bench.prefix(Side::Teak), directory.clone())?;
    converted.import();
    converted.start()?;
    let first = compare(&original, &converted)?;
    converted.mine(5, address)?;
    let second = compare(&original, &converted)?;
    converted.stop()?;
    let teak = built::program(bench.arguments.teak.as_deref(), "teak-cli", "teak")?;
    for database in DATABASES {
        let path = converted.database(database);
        ensure!(has_teak_file(&path)?, "{database} has not been converted");
        let exported = nodes.join("exported");
        let mut export = Command::new(&teak);
        export
            .arg("export")
            .arg(format!("leveldb:{}", exported.display()))
            .arg(path.join("data.teak"));
        bench.area.succeed(&mut export, &log)?;
        fs::remove_dir_all(&path)?;
        fs::rename(&exported, &path)?;
    }
    let mut back = Node::new(unpacked, bench.prefix(Side::Original), directory)?;
    back.start()?;
    let third = compare(&original, &back)?;
    back.mine(1, address)?;
    compare(&original, &back)?;
    back.stop()?;
    original.stop()?;
    println!("litecoin: converted: {first}; used: {second}; converted back: {third}");
    Ok(())
}
