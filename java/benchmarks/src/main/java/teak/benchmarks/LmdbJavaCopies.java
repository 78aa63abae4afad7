package teak.benchmarks;

import java.nio.ByteBuffer;
import java.nio.file.Path;

/** LMDB by lmdbjava, with what it returns copied to arrays. */
final class LmdbJavaCopies extends ArrayEngine {
    private final LmdbJava views;

    LmdbJavaCopies(Path directory, Data data) {
        super(data);
        views = new LmdbJava(directory, data);
    }

    private static byte[] copy(ByteBuffer view) {
        byte[] copy = new byte[view.remaining()];
        view.get(copy);
        return copy;
    }

    @Override
    void write() {
        views.write();
    }

    @Override
    void beginReads() {
        views.beginReads();
    }

    @Override
    byte[] get(byte[] key) {
        ByteBuffer view = views.get(key);
        return view == null ? null : copy(view);
    }

    @Override
    Records<byte[]> records(boolean isBackward) {
        Records<ByteBuffer> records = views.records(isBackward);
        return new Records<>() {
            @Override
            public boolean next() {
                return records.next();
            }

            @Override
            public byte[] key() {
                return copy(records.key());
            }

            @Override
            public byte[] value() {
                return copy(records.value());
            }
        };
    }

    @Override
    public void close() {
        views.close();
    }
}
