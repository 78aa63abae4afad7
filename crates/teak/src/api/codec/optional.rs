//! Values that may be absent.

use super::{Codec, CodecOrder, EncodeAs, KeyPart, undecodable};
use crate::Result;
use std::borrow::Cow;

/// `None` sorts before all others.
impl<C: Codec> Codec for Option<C> {
    type Item<'a> = Option<C::Item<'a>>;
    type Owned = Option<C::Owned>;
    const ORDER: CodecOrder = C::ORDER.within();

    fn name() -> Cow<'static, str> {
        format!("option<{}>", C::name()).into()
    }

    fn decode(bytes: &[u8]) -> Result<Self::Item<'_>> {
        match bytes {
            [0] => Ok(None),
            [1, bytes @ ..] => C::decode(bytes).map(Some),
            _ => Err(undecodable::<Self>("it does not begin with a byte 0 or 1")),
        }
    }

    fn to_owned(item: Self::Item<'_>) -> Self::Owned {
        item.map(C::to_owned)
    }
}

impl<C: Codec> KeyPart for Option<C> {
    type Part<'a> = Self::Owned;
    const LEN: Option<usize> = None;

    fn decode_part(bytes: Cow<'_, [u8]>) -> Result<Self::Owned> {
        Self::decode(&bytes).map(<Self as Codec>::to_owned)
    }

    fn part_to_owned(part: Self::Owned) -> Self::Owned {
        part
    }
}

impl<C, T: EncodeAs<C>> EncodeAs<Option<C>> for Option<T> {
    fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
        let Some(item) = self else {
            return Ok(vec![0]);
        };
        Ok([&[1], item.encode_as()?.as_ref()].concat())
    }
}
