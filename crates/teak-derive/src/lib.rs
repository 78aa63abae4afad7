//! Derive macros that make structs and enums of an application the keys and values of
//! [Teak](https://docs.rs/teak) tables. Use them through the feature `derive` of the crate `teak`.
//!
//! Both implement `Codec` and `EncodeAs` for the type itself, which owns its data: fields have
//! types such as `u64`, `String`, `Vec<u8>`, `[u8; 32]`, `Option<u64>`, tuples of these, and types
//! with the same derive. Types with generic parameters are not supported.
//!
//! # Names
//!
//! The name of the codec is that of the package, a dot, and that of the type, such as `shop.Order`.
//! The module of the type does not count. `#[teak(name = "shop.order")]` sets another name. Set it
//! if two types of the package have one name, or if the type may be renamed or move.
//!
//! # Changes
//!
//! The encoding depends on the order and the types of fields and variants, and their name does not
//! tell them apart. Only new variants at the end keep the records that are stored. After another
//! change give the type a new name, such as `shop.order.2`: a table of the old type is then
//! refused, and can be read as the old type and written as the new one.

mod codec;
mod fields;

use fields::Purpose;
use proc_macro::TokenStream;

/// Derives a codec whose encodings sort as the fields do, from the first to the last, and the
/// variants of an enum in the order of their declaration, as derived `Ord` has it. Variants with
/// explicit discriminants are refused, because `Ord` sorts by those.
///
/// ```
/// use teak::{Database, TeakKey};
///
/// #[derive(TeakKey, Clone, PartialEq, Debug)]
/// #[teak(name = "shop.item")]
/// enum Item {
///     Book { author: String, year: u16 },
///     Voucher(u64),
///     Bag,
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let prices = txn.create_table::<Item, u32>("prices")?;
/// let book = Item::Book { author: "Knuth".into(), year: 1968 };
/// prices.insert(&mut txn, Item::Bag, 1)?;
/// prices.insert(&mut txn, &book, 80)?;
/// prices.insert(&mut txn, Item::Voucher(7), 20)?;
/// let items: Vec<_> = prices.range(..).keys(&txn)?.collect::<teak::Result<_>>()?;
/// assert_eq!(items, [book, Item::Voucher(7), Item::Bag]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A struct is encoded as the tuple of its fields, and a variant of an enum as its number, one
/// byte, and the tuple of its fields. So all fields must be parts of tuples (`KeyPart`). New
/// variants go to the end.
#[proc_macro_derive(TeakKey, attributes(teak))]
pub fn derive_key(input: TokenStream) -> TokenStream {
    codec::derive(input.into(), Purpose::Key).into()
}

/// Derives a codec for values, whose encodings do not sort. Fields may have any codec, so also
/// `Json` and `Postcard`.
///
/// ```
/// use teak::{Database, TeakValue};
///
/// #[derive(TeakValue, PartialEq, Debug)]
/// struct Job {
///     command: String,
///     priority: Option<u8>,
///     state: State,
/// }
///
/// #[derive(TeakValue, PartialEq, Debug)]
/// enum State {
///     Waiting,
///     Failed { attempts: u32, message: String },
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let jobs = txn.create_table::<u64, Job>("jobs")?;
/// let state = State::Failed { attempts: 3, message: "no such file".into() };
/// let job = Job { command: "ls x".into(), priority: None, state };
/// jobs.insert(&mut txn, 7, &job)?;
/// assert_eq!(jobs.get(&txn, 7)?, Some(job));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Each field but the last one is stored with its length. A variant of an enum is preceded by its
/// number, one byte. New variants go to the end.
#[proc_macro_derive(TeakValue, attributes(teak))]
pub fn derive_value(input: TokenStream) -> TokenStream {
    codec::derive(input.into(), Purpose::Value).into()
}
