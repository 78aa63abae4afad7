//! Opens a database, writes records in one transaction, and reads them in another.
//!
//! ```text
//! cargo run --example quick_start -- [DATABASE]
//! ```

use std::{env, error::Error};
use teak::Database;

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1);
    let path = path.unwrap_or_else(|| "quick-start.teak".into());
    let database = Database::open(&path)?; // creates the file if there is none

    let mut txn = database.begin_write()?;
    let people = txn.create_table::<&str, u64>("people")?;
    people.insert(&mut txn, "Ada", 36)?;
    people.insert(&mut txn, "Alan", 41)?;
    people.insert(&mut txn, "Grace", 85)?;
    txn.commit()?; // durable when this returns

    // A snapshot: the next commit does not change it, and it blocks nobody.
    let before = database.begin_read()?;

    let mut txn = database.begin_write()?;
    people.insert(&mut txn, "Ada", 37)?;
    people.remove(&mut txn, "Alan")?;
    txn.commit()?;

    let after = database.begin_read()?;
    assert_eq!(people.get(&before, "Ada")?, Some(36));
    assert_eq!(people.get(&after, "Ada")?, Some(37));
    assert_eq!(people.get(&after, "Alan")?, None);

    println!("all people:");
    for record in people.iter(&after)? {
        let (name, age) = record?;
        println!("  {name}: {age}");
    }
    println!("names from A to B, backwards, before the second transaction:");
    for record in people.range("A".."B").rev(&before)? {
        let (name, age) = record?;
        println!("  {name}: {age}");
    }

    // A transaction that is dropped changes nothing.
    let mut txn = database.begin_write()?;
    people.remove(&mut txn, "Grace")?;
    drop(txn);
    let txn = database.begin_read()?;
    assert_eq!(people.len(&txn)?, 2);
    Ok(())
}
