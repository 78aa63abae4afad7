package teak.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ScratchTest {
    private static final int LONG = 20 << 20;

    private static Scratch longScratch() {
        Scratch scratch = Scratch.take();
        scratch.ensure(LONG);
        return scratch;
    }

    @Test
    void long_memory_is_used_again() {
        Scratch scratch = longScratch();
        ByteBuffer first = scratch.buffer();
        scratch.release();
        assertTrue(scratch.buffer().capacity() < 1 << 20);
        Scratch next = longScratch();
        assertSame(first, next.buffer());
        assertEquals(next.error(), Calls.CALLS.address(first));
        Scratch other = longScratch();
        assertNotSame(first, other.buffer());
        other.release();
        next.release();
    }

    @Test
    void the_kept_memory_is_limited() {
        List<Scratch> used = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            used.add(longScratch());
        }
        used.forEach(Scratch::release);
        assertTrue(LongBuffers.keptBytes() >= LONG);
        assertTrue(LongBuffers.keptBytes() <= LongBuffers.KEPT_BYTES);
    }

    @Test
    void an_owner_shares_its_long_memory() {
        ScratchOwner owner = new ScratchOwner() {};
        Scratch own = owner.take();
        own.ensure(LONG);
        ByteBuffer first = own.buffer();
        owner.give(own);
        assertSame(own, owner.take());
        Scratch other = longScratch();
        assertSame(first, other.buffer());
        other.release();
    }
}
