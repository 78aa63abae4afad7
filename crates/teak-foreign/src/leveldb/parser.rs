//! Reading numbers and byte strings from bytes that may be anything.

use crate::bytes::{u32_at, u64_at};

/// The rest of some bytes. Each method takes what it returns, or gives `None` if the bytes do not
/// begin with it.
pub(super) struct Parser<'b>(pub(super) &'b [u8]);

impl<'b> Parser<'b> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take(4).and_then(|bytes| u32_at(bytes, 0))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take(8).and_then(|bytes| u64_at(bytes, 0))
    }

    /// A number in groups of seven bits, the lowest first.
    pub(super) fn varint64(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            number |= bits << shift;
            if byte & 0x80 == 0 {
                // The tenth byte has room for one bit.
                return (number >> shift == bits).then_some(number);
            }
        }
        None
    }

    pub(super) fn varint32(&mut self) -> Option<u32> {
        self.varint64()?.try_into().ok()
    }

    /// A byte string after its length.
    pub(super) fn string(&mut self) -> Option<&'b [u8]> {
        let len = self.varint32()?;
        self.take(len as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_at_most_their_width() {
        assert_eq!(Parser(&[0xac, 0x02]).varint64(), Some(300));
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Parser(&most).varint64(), Some(u64::MAX));
        let mut more = most;
        more[9] = 2;
        assert_eq!(Parser(&more).varint64(), None);
        assert_eq!(Parser(&[0x80]).varint64(), None);
        assert_eq!(Parser(&[0x80, 0x80, 0x80, 0x80, 0x10]).varint32(), None);
        assert_eq!(Parser(&[2, b'a']).string(), None);
        assert_eq!(Parser(&[1, b'a']).string(), Some(&b"a"[..]));
    }
}
