//! The codec of the stored values of an expiring table: a stamp and the value.

use crate::{
    Error, Result,
    api::codec::{Codec, CodecOrder, EncodeAs},
    page::stamp::Stamp,
};
use std::{borrow::Cow, marker::PhantomData};

/// Values of codec `V` after a stamp.
#[derive(Debug)]
pub(in crate::api) struct Stamped<V>(PhantomData<fn() -> V>);

/// A value and its stamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::api) struct StampedValue<T> {
    pub(in crate::api) stamp: Stamp,
    pub(in crate::api) value: T,
}

impl<V: Codec> Codec for Stamped<V> {
    type Item<'a> = StampedValue<V::Item<'a>>;
    type Owned = StampedValue<V::Owned>;
    const ORDER: CodecOrder = CodecOrder::Unordered;

    /// The stamp belongs to the kind of the table, and not to the type of its values.
    fn name() -> Cow<'static, str> {
        V::name()
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<Self::Item<'_>> {
        let (stamp, value) = Stamp::split(bytes).map_err(|damage| Error::Decode {
            expected: V::name(),
            detail: damage.0.to_owned(),
        })?;
        let value = V::decode(value)?;
        Ok(StampedValue { stamp, value })
    }

    fn to_owned(item: Self::Item<'_>) -> Self::Owned {
        StampedValue {
            stamp: item.stamp,
            value: V::to_owned(item.value),
        }
    }
}

impl<V: Codec, T: EncodeAs<V>> EncodeAs<Stamped<V>> for StampedValue<T> {
    fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
        Ok(self.stamp.join(self.value.encode_as()?.as_ref()))
    }
}
