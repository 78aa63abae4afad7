//! A full-text index: documents by id, and for each word the sorted set of documents that have it.
//!
//! ```text
//! cargo run --example full_text_search -- [DATABASE [WORD...]]
//! ```
//!
//! The index is a multi-value table whose values are integers of one size. They are stored without
//! any overhead, next to the word if there are few, else in a tree of their own.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    error::Error,
};
use teak::{
    Database, KeyOrder, MultiTable, MultiTableDef, Result, Table, TableOptions, Transaction,
    ValueSize, WriteTxn, codec::NativeU32,
};

const TEXTS: &[&str] = &[
    "Readers see a snapshot and never block writers.",
    "One write transaction at a time changes all tables together, or none.",
    "A commit is durable when it returns, after one flush of the disk.",
    "Writers never block readers, and readers never block each other.",
    "The file shrinks when much of it is free. A slow reader keeps few pages.",
    "A snapshot with a name survives the process that made it.",
];

/// Documents and their index.
struct Library {
    texts: Table<u32, String>,
    documents: MultiTable<String, NativeU32>,
}

impl Library {
    fn create(txn: &mut WriteTxn) -> Result<Self> {
        let options = TableOptions::new()
            .value_order(KeyOrder::Integer)
            .value_size(ValueSize::Bytes(4));
        Ok(Self {
            texts: txn.create_table("texts")?,
            documents: MultiTableDef::new("documents by word")
                .options(options)
                .create(txn)?,
        })
    }

    /// Adds documents. Words are collected first, because records that are inserted in order are
    /// written faster.
    fn add(&self, txn: &mut WriteTxn, texts: &[&str]) -> Result<()> {
        let mut index = BTreeMap::<String, Vec<u32>>::new();
        let first = self.texts.draw_sequence(txn, texts.len() as u64)?;
        for (id, text) in (first as u32..).zip(texts) {
            self.texts.insert(txn, id, *text)?;
            for word in words(text) {
                index.entry(word).or_default().push(id);
            }
        }
        for (word, ids) in &index {
            for id in ids {
                self.documents.insert(txn, word, id)?;
            }
        }
        Ok(())
    }

    /// The documents that have all words. The rarest word limits the work.
    fn search<T: Transaction>(&self, txn: &T, words: &[String]) -> Result<Vec<u32>> {
        let mut counted = Vec::new();
        for word in words {
            counted.push((self.documents.count(txn, word)?, word));
        }
        counted.sort();
        let mut words = counted.into_iter().map(|(_, word)| word);
        let Some(rarest) = words.next() else {
            return Ok(Vec::new());
        };
        let found = self.documents.values(txn, rarest)?;
        let mut found: Vec<u32> = found.collect::<Result<_>>()?;
        for word in words {
            let mut both = Vec::new();
            for id in found {
                if self.documents.contains(txn, word, id)? {
                    both.push(id);
                }
            }
            found = both;
        }
        Ok(found)
    }

    /// The words that begin with a text, with the number of documents of each.
    fn complete<T: Transaction>(&self, txn: &T, begin: &str) -> Result<Vec<(String, u64)>> {
        let mut completions = BTreeMap::new();
        for pair in self.documents.prefix(begin.as_bytes()).iter(txn)? {
            let (word, _) = pair?;
            *completions.entry(word.to_owned()).or_default() += 1;
        }
        Ok(completions.into_iter().collect())
    }
}

/// The words of a text in lower case, each once.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|character: char| !character.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next();
    let path = path.unwrap_or_else(|| "full-text-search.teak".into());
    let wanted: BTreeSet<String> = arguments.flat_map(|text| words(&text)).collect();
    let wanted = match wanted.is_empty() {
        true => vec!["never".to_owned(), "readers".to_owned()],
        false => wanted.into_iter().collect(),
    };

    let database = Database::open(&path)?;
    let mut txn = database.begin_write()?;
    let library = Library::create(&mut txn)?;
    if library.texts.len(&txn)? == 0 {
        library.add(&mut txn, TEXTS)?;
    }
    txn.commit()?;

    let txn = database.begin_read()?;
    println!("documents with {wanted:?}:");
    for id in library.search(&txn, &wanted)? {
        let text = library.texts.get(&txn, id)?.unwrap_or_default();
        println!("  {id}: {text}");
    }
    println!(
        "words that begin with \"wr\": {:?}",
        library.complete(&txn, "wr")?
    );
    let both = ["never".to_owned(), "readers".to_owned()];
    assert_eq!(library.search(&txn, &both)?.len(), 2);
    Ok(())
}
