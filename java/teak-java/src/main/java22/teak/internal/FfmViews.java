package teak.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

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

    /**
     * A scope of segments. Its arena is shared, so that any thread may end the transaction; ending
     * it waits until no thread is in the middle of an access.
     *
     * @param arena the arena
     * @param all all memory, of which a value is a slice; never given to the program
     */
    public record FfmScope(Arena arena, MemorySegment all) implements Scope {
        @Override
        public void close() {
            while (true) {
                try {
                    arena.close();
                    return;
                } catch (IllegalStateException inUse) {
                    if (!arena.scope().isAlive()) {
                        return;
                    }
                    Thread.onSpinWait();
                }
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
