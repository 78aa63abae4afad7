package teak.internal;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Direct buffers for long values, which are used again. Java fills a new one with zeros, and frees
 * it only after a garbage collection.
 */
final class LongBuffers {
    /** The sum of the capacities of the buffers that are kept. Further ones are dropped. */
    static final int KEPT_BYTES = 32 << 20;

    /** The shortest first. */
    private static final List<ByteBuffer> KEPT = new ArrayList<>();
    private static int keptBytes;

    private LongBuffers() {}

    /** A buffer of that length or longer that nothing else uses. */
    static ByteBuffer take(int length) {
        ByteBuffer kept = takeKept(length);
        return kept != null
                ? kept
                : ByteBuffer.allocateDirect(rounded(length)).order(ByteOrder.nativeOrder());
    }

    /** A length that fits requests which are a little longer, too. */
    private static int rounded(int length) {
        long step = Integer.highestOneBit(length) >> 3;
        long rounded = (length + step - 1) / step * step;
        return rounded > Integer.MAX_VALUE - 16 ? length : (int) rounded;
    }

    private static synchronized ByteBuffer takeKept(int length) {
        for (int i = 0; i < KEPT.size(); i++) {
            if (KEPT.get(i).capacity() >= length) {
                ByteBuffer buffer = KEPT.remove(i);
                keptBytes -= buffer.capacity();
                return buffer;
            }
        }
        return null;
    }

    /** Keeps a buffer, if there is room for it. */
    static synchronized void give(ByteBuffer buffer) {
        if (buffer.capacity() > KEPT_BYTES - keptBytes) {
            return;
        }
        int at = 0;
        while (at < KEPT.size() && KEPT.get(at).capacity() < buffer.capacity()) {
            at++;
        }
        KEPT.add(at, buffer);
        keptBytes += buffer.capacity();
    }

    /** The sum of the capacities of the buffers that are kept now. */
    static synchronized int keptBytes() {
        return keptBytes;
    }
}
