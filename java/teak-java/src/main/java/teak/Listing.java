package teak;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ConcurrentModificationException;
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
        return read(source, Codes::check);
    }

    /** Refuses errors among the answers. */
    interface Check {
        boolean check(int code, Scratch scratch);
    }

    /** Reads a whole list, unless the check throws. */
    static Listing read(Source source, Check check) {
        Scratch scratch = Scratch.take();
        try {
            while (true) {
                int room = scratch.roomFrom(Scratch.DATA);
                int code = source.write(
                        scratch.at(Scratch.DATA), room, scratch.out(31), scratch.error());
                check.check(code, scratch);
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

    synchronized long number() {
        require(Long.BYTES);
        return bytes.getLong();
    }

    synchronized byte[] bytes() {
        require(Integer.BYTES);
        int length = bytes.getInt();
        require(length);
        byte[] copy = new byte[length];
        bytes.get(copy);
        return copy;
    }

    private void require(int length) {
        if (length < 0 || length > bytes.remaining()) {
            throw new ConcurrentModificationException(
                    "two threads use this iterator; use one in each thread");
        }
    }

    String text() {
        return new String(bytes(), StandardCharsets.UTF_8);
    }
}
