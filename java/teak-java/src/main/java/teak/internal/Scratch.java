package teak.internal;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Native memory for the arguments and results of one call at a time: an error, numbers that the
 * library stores, and bytes. It grows as needed.
 */
public final class Scratch {
    /** The size of a {@code teak_error}, with which the memory begins. */
    private static final int ERROR_LEN = 48 + 1024;

    /** Where structures and numbers are stored: {@code OUT}, {@code OUT + 8} and so on. */
    public static final int OUT = ERROR_LEN;

    /** The first of the bytes. */
    public static final int DATA = OUT + 256;

    private static final int FIRST_LEN = 8 << 10;
    /** Longer memory is exchanged for a short one after use. */
    private static final int KEPT_LEN = 256 << 10;

    private static final int POOL_LEN = 64;
    private static final ConcurrentLinkedQueue<Scratch> POOL = new ConcurrentLinkedQueue<>();
    private static final AtomicInteger POOLED = new AtomicInteger();

    private ByteBuffer buffer;
    private long address;
    /** The memory to return to after a long one; null while it is in use. */
    private ByteBuffer shortBuffer;

    private Scratch(int length) {
        use(ByteBuffer.allocateDirect(length).order(ByteOrder.nativeOrder()));
    }

    private void use(ByteBuffer memory) {
        buffer = memory;
        address = Calls.CALLS.address(memory);
        memory.putLong(0, ERROR_LEN);
    }

    private void grow(int length) {
        if (length <= KEPT_LEN) {
            use(ByteBuffer.allocateDirect(length).order(ByteOrder.nativeOrder()));
            return;
        }
        if (shortBuffer == null) {
            shortBuffer = buffer;
        }
        use(LongBuffers.take(length));
    }

    /** Gives a long memory to others. What the program still sees must not be in it. */
    void shrink() {
        if (shortBuffer != null) {
            LongBuffers.give(buffer);
            use(shortBuffer);
            shortBuffer = null;
        }
    }

    /** Memory that nothing else uses. */
    public static Scratch take() {
        Scratch pooled = POOL.poll();
        if (pooled == null) {
            return new Scratch(FIRST_LEN);
        }
        POOLED.decrementAndGet();
        return pooled;
    }

    /** Gives the memory to the next who needs some. */
    public void release() {
        shrink();
        if (POOLED.get() < POOL_LEN) {
            POOLED.incrementAndGet();
            POOL.add(this);
        }
    }

    /** The memory, for reading and writing at absolute positions. */
    public ByteBuffer buffer() {
        return buffer;
    }

    /** The address of a position. */
    public long at(int position) {
        return address + position;
    }

    /** The address of the error. */
    public long error() {
        return address;
    }

    /** The address of the number of that index. */
    public long out(int index) {
        return address + OUT + 8L * index;
    }

    /** The number of that index, as the library stored it. */
    public long number(int index) {
        return buffer.getLong(OUT + 8 * index);
    }

    /** The bytes from a position to the end. */
    public int roomFrom(int position) {
        return buffer.capacity() - position;
    }

    /** Makes room for that many bytes after {@link #DATA}. The bytes there are lost. */
    public void ensure(long bytes) {
        long wanted = DATA + bytes;
        if (wanted > buffer.capacity()) {
            if (wanted > Integer.MAX_VALUE - 16) {
                throw new OutOfMemoryError(
                        bytes + " bytes do not fit in one array; Java allows about 2 GiB");
            }
            long doubled = Math.min(2L * buffer.capacity(), Integer.MAX_VALUE - 16);
            grow((int) Math.max(wanted, Math.min(doubled, 16 << 20)));
        }
    }

    /** Sets structures and numbers to zero. */
    public void clearOut() {
        for (int at = OUT; at < DATA; at += 8) {
            buffer.putLong(at, 0);
        }
    }

    /** Stores bytes at a position, and returns the position after them. */
    public int put(int position, byte[] bytes) {
        buffer.put(position, bytes);
        return position + bytes.length;
    }

    /** A copy of bytes. */
    public byte[] bytes(int position, int length) {
        byte[] copy = new byte[length];
        buffer.get(position, copy);
        return copy;
    }

    /** Details of the error of the last call. */
    public ErrorDetails errorDetails() {
        int end = 48;
        while (end < ERROR_LEN && buffer.get(end) != 0) {
            end++;
        }
        String message = new String(bytes(48, end - 48), StandardCharsets.UTF_8);
        return new ErrorDetails(buffer.getInt(12), buffer.getLong(16), message);
    }

    /**
     * What the library says about an error.
     *
     * @param systemCode the error number of the system, or 0
     * @param page the damaged page, or -1
     * @param message what happened, and what to do
     */
    public record ErrorDetails(int systemCode, long page, String message) {}
}
