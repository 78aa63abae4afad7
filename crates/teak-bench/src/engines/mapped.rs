//! The common part of LMDB and libmdbx for the workloads of `compare`: transactions and cursors of
//! the same shape.

/// Implements the traits of [`super::store`], except [`super::store::Store`], for the environment
/// and the transaction of an engine's module `raw`.
macro_rules! mapped_connection {
    (types: ($environment:ident, $transaction:ident, $access:ident, $move:ident), cursor: ($($table:expr)?), put: $put:expr, append: $append:expr) => {
        impl Connection for &$environment {
            type Read<'r>
                = $transaction<'r>
            where
                Self: 'r;
            type Write<'w>
                = $transaction<'w>
            where
                Self: 'w;

            #[inline]
            fn read(&mut self) -> Result<$transaction<'_>> {
                self.begin($access::Read)
            }

            #[inline]
            fn write(&mut self) -> Result<$transaction<'_>> {
                self.begin($access::Write)
            }
        }

        impl LookupTransaction for $transaction<'_> {
            #[inline]
            fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
                Ok($transaction::get(self, key)?.map(&mut see).is_some())
            }
        }

        impl Read for $transaction<'_> {
            fn scan(
                &mut self,
                direction: ScanDirection<'_>,
                most: u64,
                mut see: impl FnMut(&[u8], &[u8]),
            ) -> Result<()> {
                let mut cursor = self.cursor($($table)?)?;
                let (mut found, step) = match direction {
                    ScanDirection::Forwards => (cursor.go($move::Next)?, $move::Next),
                    ScanDirection::Backwards => (cursor.go($move::Previous)?, $move::Previous),
                    ScanDirection::From(key) => (cursor.seek(key)?, $move::Next),
                };
                let mut left = most;
                while let Some((key, value)) = found {
                    see(key, value);
                    left -= 1;
                    if left == 0 {
                        break;
                    }
                    found = cursor.go(step)?;
                }
                Ok(())
            }
        }

        impl Write for $transaction<'_> {
            #[inline]
            fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
                $transaction::put(self, key, value, $put)
            }

            fn append(&mut self, records: &[StorePair<'_>]) -> Result<()> {
                records
                    .iter()
                    .try_for_each(|(key, value)| $transaction::put(self, key, value, $append))
            }

            #[inline]
            fn remove(&mut self, key: &[u8]) -> Result<()> {
                $transaction::remove(self, key)
            }

            #[inline]
            fn commit(self) -> Result<()> {
                $transaction::commit(self)
            }
        }
    };
}

pub(super) use mapped_connection;
