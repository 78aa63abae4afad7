package teak.infinispan;

import java.nio.ByteBuffer;

import org.infinispan.commons.io.ByteBufferFactory;
import org.infinispan.persistence.spi.MarshallableEntry;
import org.infinispan.persistence.spi.MarshallableEntryFactory;
import org.infinispan.persistence.spi.PersistenceException;

/**
 * The value of a record: when the entry expires, was created and was last used, then the value, its
 * metadata and its internal metadata. So expiry is known without unmarshalling.
 *
 * <pre>
 * byte version; long expiry, created, lastUsed; int lengths of the three parts; the parts
 * </pre>
 *
 * All numbers are big-endian. A length of -1 is an absent part.
 */
final class StoredEntry {
    private static final byte VERSION = 1;
    private static final int HEADER_BYTES = 1 + 3 * Long.BYTES + 3 * Integer.BYTES;
    private static final int EXPIRY_OFFSET = 1;

    private StoredEntry() {}

    static byte[] encode(MarshallableEntry<?, ?> entry) {
        org.infinispan.commons.io.ByteBuffer[] parts = {
            entry.getValueBytes(), entry.getMetadataBytes(), entry.getInternalMetadataBytes()};
        int length = HEADER_BYTES;
        for (var part : parts) {
            length += part == null ? 0 : part.getLength();
        }
        ByteBuffer buffer = ByteBuffer.allocate(length);
        buffer.put(VERSION).putLong(entry.expiryTime()).putLong(entry.created())
                .putLong(entry.lastUsed());
        for (var part : parts) {
            buffer.putInt(part == null ? -1 : part.getLength());
        }
        for (var part : parts) {
            if (part != null) {
                buffer.put(part.getBuf(), part.getOffset(), part.getLength());
            }
        }
        return buffer.array();
    }

    /** When the entry expires; 0 or less if never. */
    static long expiry(byte[] stored) {
        requireHeader(stored);
        return ByteBuffer.wrap(stored).getLong(EXPIRY_OFFSET);
    }

    static boolean isExpired(byte[] stored, long now) {
        long expiry = expiry(stored);
        return expiry > 0 && expiry <= now;
    }

    /** The entry, without its value if {@code withValue} is false. */
    static <K, V> MarshallableEntry<K, V> decode(Object key, byte[] stored, boolean withValue,
            MarshallableEntryFactory<K, V> entries, ByteBufferFactory buffers) {
        requireHeader(stored);
        ByteBuffer buffer = ByteBuffer.wrap(stored, 1 + Long.BYTES, stored.length - 1 - Long.BYTES);
        long created = buffer.getLong();
        long lastUsed = buffer.getLong();
        int[] lengths = {buffer.getInt(), buffer.getInt(), buffer.getInt()};
        var parts = new org.infinispan.commons.io.ByteBuffer[lengths.length];
        int offset = HEADER_BYTES;
        for (int part = 0; part < parts.length; part++) {
            int length = lengths[part];
            if (length < -1 || length > stored.length - offset) {
                throw malformed();
            }
            if (length >= 0) {
                parts[part] = buffers.newByteBuffer(stored, offset, length);
                offset += length;
            }
        }
        return entries.create(
                key, withValue ? parts[0] : null, parts[1], parts[2], created, lastUsed);
    }

    private static void requireHeader(byte[] stored) {
        if (stored.length < HEADER_BYTES || stored[0] != VERSION) {
            throw malformed();
        }
    }

    private static PersistenceException malformed() {
        return new PersistenceException("the store has a record that is no cache entry of this "
                + "version; use a directory that only this store writes to");
    }
}
