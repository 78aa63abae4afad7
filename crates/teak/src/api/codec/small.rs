//! Text and bytes that own their data, without the heap if they are short.

use super::{Codec, undecodable};
use crate::{
    Result,
    io::{InlineBytes, InlineText},
};
use std::{
    borrow::Borrow,
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
};

/// A key or value of the codec [`Str`](crate::codec::Str) or
/// [`Bytes`](crate::codec::Bytes) that owns its data: `Small<str>` or
/// `Small<[u8]>`. Iterators return it. Up to 32 bytes are in the value itself, longer ones on the
/// heap.
///
/// It can be used like a `&str` or a `&[u8]`, and is converted into a [`String`] or a [`Vec`] by
/// `into`.
///
/// ```
/// # use teak::Database;
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let ages = txn.create_table::<&str, u64>("ages")?;
/// ages.insert_many(&mut txn, &[("Ada", 36), ("Grace", 85)])?;
/// for record in ages.iter(&txn)? {
///     let (name, age) = record?;
///     assert!(name == "Ada" || name.starts_with('G'));
///     assert_eq!(ages.get(&txn, &name)?, Some(age));
/// }
/// let names = ages.range(..).keys(&txn)?.map(|name| name.map(String::from));
/// assert_eq!(names.collect::<teak::Result<Vec<String>>>()?, ["Ada", "Grace"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
// Only this crate says what can be stored in place.
#[allow(private_bounds)]
pub struct Small<T: Inline + ?Sized>(SmallData<T>);

/// The data of a [`Small`].
enum SmallData<T: Inline + ?Sized> {
    Inline(T::Short),
    Heap(Box<T>),
}

/// Text or bytes.
trait Inline {
    /// A short one, stored in place.
    type Short: Copy;

    /// Copies it; `None` if it is long.
    fn to_inline(&self) -> Option<Self::Short>;

    fn of_inline(inline: &Self::Short) -> &Self;

    fn to_heap(&self) -> Box<Self>;
}

impl Inline for str {
    type Short = InlineText;

    #[inline(always)]
    fn to_inline(&self) -> Option<InlineText> {
        InlineText::new(self)
    }

    #[inline]
    fn of_inline(inline: &InlineText) -> &str {
        inline.as_str()
    }

    #[cold]
    fn to_heap(&self) -> Box<str> {
        self.into()
    }
}

impl Inline for [u8] {
    type Short = InlineBytes;

    #[inline(always)]
    fn to_inline(&self) -> Option<InlineBytes> {
        InlineBytes::new(self)
    }

    #[inline]
    fn of_inline(inline: &InlineBytes) -> &[u8] {
        inline.as_slice()
    }

    #[cold]
    fn to_heap(&self) -> Box<[u8]> {
        self.into()
    }
}

/// Decodes text.
#[inline(always)]
pub(super) fn text<C: Codec>(bytes: &[u8]) -> Result<&str> {
    str::from_utf8(bytes).map_err(undecodable::<C>)
}

impl<T: Inline + ?Sized> From<&T> for Small<T> {
    #[inline(always)]
    fn from(source: &T) -> Self {
        Self(match source.to_inline() {
            Some(inline) => SmallData::Inline(inline),
            None => SmallData::Heap(source.to_heap()),
        })
    }
}

impl<T: Inline + ?Sized> Deref for Small<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.0 {
            SmallData::Inline(inline) => T::of_inline(inline),
            SmallData::Heap(data) => data,
        }
    }
}

impl<T: Inline + ?Sized> AsRef<T> for Small<T> {
    #[inline]
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: Inline + ?Sized> Borrow<T> for Small<T> {
    #[inline]
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: Inline + ?Sized> Clone for Small<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

impl<T: Inline + fmt::Debug + ?Sized> fmt::Debug for Small<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Display for Small<str> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Inline + PartialEq + ?Sized> PartialEq for Small<T> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Inline + Eq + ?Sized> Eq for Small<T> {}

impl<T: Inline + PartialOrd + ?Sized> PartialOrd for Small<T> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: Inline + Ord + ?Sized> Ord for Small<T> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: Inline + Hash + ?Sized> Hash for Small<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

#[cfg(any(feature = "serde-json", feature = "serde-postcard"))]
impl<T: Inline + serde::Serialize + ?Sized> serde::Serialize for Small<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

/// Comparisons in both directions.
macro_rules! comparisons {
    ($($slice:ty: $($other:ty),*;)*) => {$($(
        impl PartialEq<$other> for Small<$slice> {
            #[inline]
            fn eq(&self, other: &$other) -> bool {
                let other: &$slice = other;
                **self == *other
            }
        }

        impl PartialEq<Small<$slice>> for $other {
            #[inline]
            fn eq(&self, other: &Small<$slice>) -> bool {
                other == self
            }
        }
    )*)*};
}

comparisons! {
    str: str, &str, String;
    [u8]: [u8], &[u8], Vec<u8>;
}

impl<const N: usize> PartialEq<[u8; N]> for Small<[u8]> {
    #[inline]
    fn eq(&self, other: &[u8; N]) -> bool {
        **self == *other
    }
}

impl<const N: usize> PartialEq<&[u8; N]> for Small<[u8]> {
    #[inline]
    fn eq(&self, other: &&[u8; N]) -> bool {
        **self == **other
    }
}

impl<const N: usize> From<&[u8; N]> for Small<[u8]> {
    #[inline]
    fn from(source: &[u8; N]) -> Self {
        Self::from(&source[..])
    }
}

/// Conversions to types that own their data, and from them.
macro_rules! conversions {
    ($($slice:ty: $owned:ty;)*) => {$(
        impl From<Small<$slice>> for $owned {
            fn from(small: Small<$slice>) -> Self {
                match small.0 {
                    SmallData::Inline(inline) => <$slice>::of_inline(&inline).to_owned(),
                    SmallData::Heap(data) => data.into(),
                }
            }
        }

        impl From<$owned> for Small<$slice> {
            fn from(owned: $owned) -> Self {
                Self(match owned.to_inline() {
                    Some(inline) => SmallData::Inline(inline),
                    None => SmallData::Heap(owned.into()),
                })
            }
        }
    )*};
}

conversions! {
    str: String;
    [u8]: Vec<u8>;
}

#[cfg(test)]
#[path = "small_tests.rs"]
mod tests;
