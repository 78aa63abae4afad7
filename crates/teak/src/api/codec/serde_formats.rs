//! Values in the formats of `serde`.

use super::{Codec, CodecOrder, EncodeAs, undecodable};
use crate::{Error, Result};
use serde::{Serialize, de::DeserializeOwned};
use std::borrow::Cow;

macro_rules! serde_codec {
    (
        $codec:ident, $feature:literal, $format:literal, $name:literal, $encode:path, $decode:path,
        $limits:literal
    ) => {
        #[doc = concat!("A value that is stored as ", $format, ", with the feature `", $feature, "`.")]
        /// Write the value itself or a reference to it.
        ///
        /// ```
        #[doc = concat!("use teak::{Database, codec::", stringify!($codec), "};")]
        ///
        /// #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
        /// struct Job {
        ///     command: String,
        ///     attempts: u32,
        /// }
        ///
        /// # let directory = tempfile::tempdir()?;
        /// # let database = Database::open(directory.path().join("x.teak"))?;
        /// let mut txn = database.begin_write()?;
        #[doc = concat!("let jobs = txn.create_table::<u64, ", stringify!($codec), "<Job>>(\"jobs\")?;")]
        /// let job = Job { command: "ls".into(), attempts: 1 };
        #[doc = concat!("jobs.insert(&mut txn, 7, ", stringify!($codec), "(&job))?;")]
        #[doc = concat!("assert_eq!(jobs.get(&txn, 7)?, Some(", stringify!($codec), "(job)));")]
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// Encodings do not sort, so it is no type of keys. The name that is recorded with the table
        /// is that of the format, whatever `T` is.
        ///
        #[doc = $limits]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $codec<T>(pub T);

        impl<T: Serialize + DeserializeOwned + 'static> Codec for $codec<T> {
            type Item<'a> = Self;
            type Owned = Self;
            const ORDER: CodecOrder = CodecOrder::Unordered;

            fn name() -> Cow<'static, str> {
                $name.into()
            }

            fn decode(bytes: &[u8]) -> Result<Self> {
                $decode(bytes).map($codec).map_err(undecodable::<Self>)
            }

            fn to_owned(item: Self) -> Self {
                item
            }
        }

        impl<T: Serialize> EncodeAs<$codec<T>> for $codec<T> {
            fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
                $encode(&self.0).map_err(|error| unencodable($name, &error))
            }
        }

        impl<T: Serialize> EncodeAs<$codec<T>> for $codec<&T> {
            fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
                $encode(self.0).map_err(|error| unencodable($name, &error))
            }
        }
    };
}

#[cold]
fn unencodable(format: &'static str, error: &dyn std::error::Error) -> Error {
    Error::Encode {
        expected: format.into(),
        detail: error.to_string(),
    }
}

#[cfg(feature = "serde-json")]
serde_codec!(
    Json,
    "serde-json",
    "JSON",
    "json",
    serde_json::to_vec,
    serde_json::from_slice,
    "JSON has no infinite floats and no NaN: they are stored as `null`, which a float cannot be read \
     from."
);
/// Decodes a value that takes all bytes.
#[cfg(feature = "serde-postcard")]
fn whole_postcard<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, postcard::Error> {
    match postcard::take_from_bytes(bytes)? {
        (value, []) => Ok(value),
        _ => Err(postcard::Error::DeserializeBadEncoding),
    }
}

#[cfg(feature = "serde-postcard")]
serde_codec!(
    Postcard,
    "serde-postcard",
    "`postcard`, which is compact",
    "postcard",
    postcard::to_allocvec,
    whole_postcard,
    "Decoding a recursive type recurses as deeply as the bytes say: do not read one from a file that \
     somebody else may have made."
);
