package teak;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import teak.internal.Scratch;

/** A list of the native library: numbers and bytes, one after the other. */
final class Listing {
    /** Calls a function that writes a list. */
    interface Source {
        int write(long buffer, long room, long used, long error);
    }

    private final ByteBuffer bytes;

    Listing(byte[] bytes) {
        this.bytes = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
    }

    /** Reads a whole list, with as much room as it needs. */
    static Listing read(Source source) {
        return read(source, code -> false);
    }

    /** Reads a whole list, also if the code is one that is accepted. */
    static Listing read(Source source, java.util.function.IntPredicate accepted) {
        Scratch scratch = Scratch.take();
        try {
            while (true) {
                int room = scratch.roomFrom(Scratch.DATA);
                int code = source.write(
                        scratch.at(Scratch.DATA), room, scratch.out(31), scratch.error());
                if (!accepted.test(code)) {
                    Codes.check(code, scratch);
                }
                long used = scratch.number(31);
                if (used <= room) {
                    return new Listing(scratch.bytes(Scratch.DATA, (int) used));
                }
                // The list may be longer the next time.
                scratch.ensure(used + used / 4);
            }
        } finally {
            scratch.release();
        }
    }

    boolean hasMore() {
        return bytes.hasRemaining();
    }

    long number() {
        return bytes.getLong();
    }

    byte[] bytes() {
        byte[] copy = new byte[bytes.getInt()];
        bytes.get(copy);
        return copy;
    }

    String text() {
        return new String(bytes(), StandardCharsets.UTF_8);
    }
}
