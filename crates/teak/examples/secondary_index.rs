//! People with an index by town and one by age, which change in the same transaction as they do.
//!
//! ```text
//! cargo run --example secondary_index -- [DATABASE]
//! ```
//!
//! A town has many people, so the index is a multi-value table: a key has a sorted set of ids. Ages
//! are indexed by pairs of age and id instead, which allows ranges over ages and one record for
//! each person.

use std::{env, error::Error};
use teak::{Database, MultiTable, Result, Table, Transaction, WriteTxn};

/// The tables of people and their indexes.
struct People {
    /// Town, age and name by id.
    people: Table<u64, (u32, String, String)>,
    by_town: MultiTable<String, u64>,
    by_age: Table<(u32, u64), ()>,
}

impl People {
    fn create(txn: &mut WriteTxn) -> Result<Self> {
        Ok(Self {
            people: txn.create_table("people")?,
            by_town: txn.create_multi_table("people by town")?,
            by_age: txn.create_table("people by age")?,
        })
    }

    /// Inserts a person, or replaces the one with this id.
    fn put(&self, txn: &mut WriteTxn, id: u64, name: &str, town: &str, age: u32) -> Result<()> {
        self.remove(txn, id)?;
        let person = (age, town.to_owned(), name.to_owned());
        self.people.insert(txn, id, person)?;
        self.by_town.insert(txn, town, id)?;
        self.by_age.insert(txn, (age, id), ())?;
        Ok(())
    }

    fn remove(&self, txn: &mut WriteTxn, id: u64) -> Result<bool> {
        let Some((age, town, _)) = self.people.get(txn, id)? else {
            return Ok(false);
        };
        // The text is in the page that the next changes may rewrite.
        let town = town.to_string();
        self.by_town.remove(txn, &town, id)?;
        self.by_age.remove(txn, (age, id))?;
        self.people.remove(txn, id)
    }

    fn name<T: Transaction>(&self, txn: &T, id: u64) -> Result<String> {
        let person = self.people.get(txn, id)?;
        Ok(person.map_or_else(String::new, |(_, _, name)| name.to_string()))
    }

    fn in_town<T: Transaction>(&self, txn: &T, town: &str) -> Result<Vec<String>> {
        let ids = self.by_town.values(txn, town)?;
        ids.map(|id| self.name(txn, id?)).collect()
    }

    /// The names of people from one age to another, youngest first.
    fn of_age<T: Transaction>(&self, txn: &T, from: u32, to: u32) -> Result<Vec<String>> {
        let range = self.by_age.range((from, 0)..=(to, u64::MAX));
        let ids = range.keys(txn)?;
        ids.map(|key| self.name(txn, key?.1)).collect()
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1);
    let path = path.unwrap_or_else(|| "secondary-index.teak".into());
    let database = Database::open(&path)?;
    let mut txn = database.begin_write()?;
    let people = People::create(&mut txn)?;
    people.put(&mut txn, 1, "Ada", "London", 36)?;
    people.put(&mut txn, 2, "Grace", "Arlington", 85)?;
    people.put(&mut txn, 3, "Alan", "London", 41)?;
    people.put(&mut txn, 4, "Edsger", "Nuenen", 72)?;
    txn.commit()?;

    // A move changes the record and both indexes, or nothing.
    let mut txn = database.begin_write()?;
    people.put(&mut txn, 3, "Alan", "Wilmslow", 41)?;
    txn.commit()?;

    let txn = database.begin_read()?;
    println!("in London: {:?}", people.in_town(&txn, "London")?);
    println!("40 to 79: {:?}", people.of_age(&txn, 40, 79)?);
    assert_eq!(people.in_town(&txn, "London")?, ["Ada"]);
    assert_eq!(people.of_age(&txn, 40, 79)?, ["Alan", "Edsger"]);
    assert_eq!(people.by_age.len(&txn)?, 4);
    Ok(())
}
