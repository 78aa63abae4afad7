package teak.benchmarks;

import static org.lmdbjava.DbiFlags.MDB_CREATE;
import static org.lmdbjava.DbiFlags.MDB_INTEGERKEY;
import static org.lmdbjava.EnvFlags.MDB_NOSYNC;
import static org.lmdbjava.EnvFlags.MDB_WRITEMAP;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.zip.CRC32;
import net.openhft.hashing.LongHashFunction;
import org.lmdbjava.ByteBufferProxy;
import org.lmdbjava.Cursor;
import org.lmdbjava.Dbi;
import org.lmdbjava.DbiFlags;
import org.lmdbjava.Env;
import org.lmdbjava.GetOp;
import org.lmdbjava.PutFlags;
import org.lmdbjava.SeekOp;
import org.lmdbjava.Txn;

/**
 * LMDB with the settings of lmdbjava's own benchmarks: a mapped file, and no checks in Java. What
 * it returns are buffers in the mapped file.
 */
final class LmdbJava extends Engine<ByteBuffer> {
    static {
        System.setProperty(Env.DISABLE_CHECKS_PROP, "true");
    }

    private final LongHashFunction hash = LongHashFunction.xx();
    private final Env<ByteBuffer> env;
    private final Dbi<ByteBuffer> table;
    private final ByteBuffer key;
    private final ByteBuffer value = ByteBuffer.allocateDirect(Data.VALUE_LEN);
    private Txn<ByteBuffer> txn;
    private Cursor<ByteBuffer> cursor;

    LmdbJava(Path directory, Data data) {
        super(data);
        key = ByteBuffer.allocateDirect(data.keyLength());
        env = Env.create(ByteBufferProxy.PROXY_OPTIMAL)
                .setMapSize((64L << 20) + data.keys.length * 4L * Data.VALUE_LEN)
                .setMaxDbs(1)
                .open(directory.toFile(), MDB_WRITEMAP, MDB_NOSYNC);
        DbiFlags[] flags = data.isSequential()
                ? new DbiFlags[] {MDB_CREATE, MDB_INTEGERKEY}
                : new DbiFlags[] {MDB_CREATE};
        table = env.openDbi("db", flags);
    }

    @Override
    void write() {
        byte[] bytes = new byte[Data.VALUE_LEN];
        PutFlags[] flags =
                data.isSequential() ? new PutFlags[] {PutFlags.MDB_APPEND} : new PutFlags[] {};
        try (Txn<ByteBuffer> writer = env.txnWrite()) {
            try (Cursor<ByteBuffer> into = table.openCursor(writer)) {
                for (int i = 0; i < data.keys.length; i++) {
                    data.putValue(bytes, i);
                    key.clear().put(data.keys[i]).flip();
                    value.clear().put(bytes).flip();
                    into.put(key, value, flags);
                }
            }
            writer.commit();
        }
    }

    @Override
    void beginReads() {
        txn = env.txnRead();
        cursor = table.openCursor(txn);
    }

    @Override
    ByteBuffer get(byte[] wanted) {
        key.clear().put(wanted).flip();
        return cursor.get(key, GetOp.MDB_SET_KEY) ? cursor.val() : null;
    }

    @Override
    Records<ByteBuffer> records(boolean isBackward) {
        return new Records<>() {
            private SeekOp move = isBackward ? SeekOp.MDB_LAST : SeekOp.MDB_FIRST;

            @Override
            public boolean next() {
                boolean isThere = cursor.seek(move);
                move = isBackward ? SeekOp.MDB_PREV : SeekOp.MDB_NEXT;
                return isThere;
            }

            @Override
            public ByteBuffer key() {
                return cursor.key();
            }

            @Override
            public ByteBuffer value() {
                return cursor.val();
            }
        };
    }

    @Override
    void update(CRC32 crc, ByteBuffer bytes) {
        crc.update(bytes);
    }

    @Override
    long hash(ByteBuffer bytes) {
        return hash.hashBytes(bytes);
    }

    @Override
    public void close() {
        if (txn != null) {
            cursor.close();
            txn.close();
        }
        env.close();
    }
}
