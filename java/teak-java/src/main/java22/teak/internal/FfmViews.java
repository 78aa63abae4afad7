package teak.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.LockSupport;

/** Segments of the mapped file. */
public final class FfmViews implements Views {
    FfmViews() {}

    @Override
    public FfmScope scope() {
        Arena arena = Arena.ofShared();
        MemorySegment all =
                MemorySegment.NULL.reinterpret(Long.MAX_VALUE, arena, null).asReadOnly();
        return new FfmScope(arena, all);
    }

    /** How often ending a scope is tried again at once. */
    private static final int SPINS = 100;

    private static final long FIRST_PAUSE_NANOS = 1_000;
    private static final long LONGEST_PAUSE_NANOS = 1_000_000;

    /**
     * A scope of segments. Its arena is shared, so that any thread may end the transaction; ending
     * it waits until no thread is in the middle of an access. An access can take long: a channel
     * that writes a buffer to a full pipe is in the middle of one.
     *
     * @param arena the arena
     * @param all all memory, of which a value is a slice; never given to the program
     */
    public record FfmScope(Arena arena, MemorySegment all) implements Scope {
        @Override
        public void close() {
            long pause = FIRST_PAUSE_NANOS;
            for (int tries = 0; !tryClose(); tries++) {
                if (tries < SPINS) {
                    Thread.onSpinWait();
                } else {
                    LockSupport.parkNanos(pause);
                    pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS);
                }
            }
        }

        /** Closes the arena, unless a thread is in the middle of an access. */
        private boolean tryClose() {
            try {
                arena.close();
                return true;
            } catch (IllegalStateException inUse) {
                return !arena.scope().isAlive();
            }
        }

        @Override
        public ByteBuffer view(long address, long length) {
            return segment(address, length).asByteBuffer();
        }

        /** Bytes that can only be read. */
        public MemorySegment segment(long address, long length) {
            return all.asSlice(address, length);
        }
    }
}
