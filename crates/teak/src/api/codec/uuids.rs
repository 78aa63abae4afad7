//! UUIDs, sorted by their bytes.

use uuid::Uuid;

fixed_codec!(
    Uuid: Uuid as [u8; 16], Bytes, "uuid",
    |uuid| Ok(uuid.as_bytes()), |bytes| Ok(Uuid::from_bytes(bytes))
);
