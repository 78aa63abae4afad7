//! What LMDB and libmdbx have in common as the works of `compare` see them: both are a map with transactions and cursors of the same shape.

/// Implements the traits of [`super::store`] but for [`super::store::Store`], for the environment and the transaction of an engine's module `raw`.
macro_rules! mapped_connection {
    (cursor: ($($table:expr)?), put: $put:expr, append: $append:expr) => {
        impl Connection for &Environment {
            type Read<'r>
                = Transaction<'r>
            where
                Self: 'r;
            type Write<'w>
                = Transaction<'w>
            where
                Self: 'w;

            #[inline]
            fn read(&mut self) -> Result<Transaction<'_>> {
                self.begin(Access::Read)
            }

            #[inline]
            fn write(&mut self) -> Result<Transaction<'_>> {
                self.begin(Access::Write)
            }
        }

        impl Lookup for Transaction<'_> {
            #[inline]
            fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
                Ok(Transaction::get(self, key)?.map(&mut see).is_some())
            }
        }

        impl Read for Transaction<'_> {
            fn scan(
                &mut self,
                way: Way<'_>,
                most: u64,
                mut see: impl FnMut(&[u8], &[u8]),
            ) -> Result<()> {
                let mut cursor = self.cursor($($table)?)?;
                let (mut found, step) = match way {
                    Way::Forwards => (cursor.go(Move::Next)?, Move::Next),
                    Way::Backwards => (cursor.go(Move::Previous)?, Move::Previous),
                    Way::From(key) => (cursor.seek(key)?, Move::Next),
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

        impl Write for Transaction<'_> {
            #[inline]
            fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
                Transaction::put(self, key, value, $put)
            }

            fn append(&mut self, records: &[Pair<'_>]) -> Result<()> {
                records
                    .iter()
                    .try_for_each(|(key, value)| Transaction::put(self, key, value, $append))
            }

            #[inline]
            fn remove(&mut self, key: &[u8]) -> Result<()> {
                Transaction::remove(self, key)
            }

            #[inline]
            fn commit(self) -> Result<()> {
                Transaction::commit(self)
            }
        }
    };
}

pub(super) use mapped_connection;
