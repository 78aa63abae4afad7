//! Makes the sample in `examples/data` from a block of the Bitcoin chain.
//!
//! A node keeps the *coins* that are not spent yet: one record for each transaction output.
//! Applying a block removes the coins that its inputs spend and inserts the ones that its outputs
//! create. [`coins_dump`] holds the second, [`spends_dump`] the first. All integers are big-endian,
//! all fields have a fixed size but the script, which is what remains of the value.
//!
//! Table `coins`, one record for each output that somebody could spend:
//!
//! | | offset | size | field |
//! |---|---|---|---|
//! | key | 0 | 32 | transaction id, in the order of bytes that transactions are hashed in |
//! | key | 32 | 4 | number of the output within the transaction |
//! | value | 0 | 4 | height of the block |
//! | value | 4 | 1 | 1 if the transaction is the block's coinbase, else 0 |
//! | value | 5 | 8 | amount in satoshi |
//! | value | 13 | the rest | script that says who may spend it |
//!
//! Table `spends`, one record for each input but the coinbase's:
//!
//! | | offset | size | field |
//! |---|---|---|---|
//! | key | 0 | 36 | key of the coin that the input spends |
//! | value | 0 | 4 | number of the transaction within the block |
//! | value | 4 | 4 | number of the input within the transaction |

mod dump;
mod records;

pub use records::Records;

use bitcoin::{Block, OutPoint, Transaction, TxOut, consensus};
use std::error::Error;

/// The block that the sample is made from.
///
/// # Errors
///
/// If the bytes that the data crate carries are not a block.
pub fn sample_block() -> Result<Block, Box<dyn Error>> {
    Ok(consensus::deserialize(
        bitcoin_test_data::blocks::mainnet_702861(),
    )?)
}

/// The records that `block` adds to a node's coin set, coins spent within the block included.
///
/// # Errors
///
/// If the block does not name its height, as blocks of version 1 do not.
pub fn coins(block: &Block) -> Result<Records, Box<dyn Error>> {
    let height = u32::try_from(block.bip34_block_height()?)?;
    let mut records = Records::new();
    for transaction in &block.txdata {
        let txid = transaction.compute_txid();
        for (vout, output) in (0..).zip(&transaction.output) {
            if !output.script_pubkey.is_op_return() {
                let key = coin_key(OutPoint { txid, vout });
                records.insert(key, coin_value(height, transaction, output));
            }
        }
    }
    Ok(records)
}

/// The coins that `block` spends, and the inputs that spend them.
#[must_use]
pub fn spends(block: &Block) -> Records {
    let mut records = Records::new();
    for (transaction_index, transaction) in (0_u32..).zip(&block.txdata) {
        if transaction.is_coinbase() {
            continue;
        }
        for (input_index, input) in (0_u32..).zip(&transaction.input) {
            let value = [transaction_index.to_be_bytes(), input_index.to_be_bytes()].concat();
            records.insert(coin_key(input.previous_output), value);
        }
    }
    records
}

/// `examples/data/coins-702861.dump`: the coins that the sample block creates.
///
/// # Errors
///
/// As [`sample_block`] and [`coins`].
pub fn coins_dump() -> Result<String, Box<dyn Error>> {
    Ok(dump::text("coins", &coins(&sample_block()?)?))
}

/// `examples/data/spends-702861.dump`: the coins that the sample block spends.
///
/// # Errors
///
/// As [`sample_block`].
pub fn spends_dump() -> Result<String, Box<dyn Error>> {
    Ok(dump::text("spends", &spends(&sample_block()?)))
}

fn coin_key(output: OutPoint) -> Vec<u8> {
    let txid: &[u8; 32] = output.txid.as_ref();
    [txid.as_slice(), &output.vout.to_be_bytes()].concat()
}

fn coin_value(height: u32, transaction: &Transaction, output: &TxOut) -> Vec<u8> {
    let mut value = height.to_be_bytes().to_vec();
    value.push(u8::from(transaction.is_coinbase()));
    value.extend(output.value.to_sat().to_be_bytes());
    value.extend(output.script_pubkey.as_bytes());
    value
}
