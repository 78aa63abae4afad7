package teak.hosted;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;

import org.junit.jupiter.api.Test;

class KeyLocksTest {
    private static final byte[] KEY = {1, 2, 3};
    private static final Duration SHORT = Duration.ofMillis(20);

    @Test
    void aHeldKeyIsRefusedUntilItIsReleased() {
        KeyLocks locks = new KeyLocks(16);
        KeyLocks.Held held = locks.lock(KEY, SHORT);
        assertTrue(held.isHeld());
        LockTimeoutException refused =
                assertThrows(LockTimeoutException.class, () -> locks.lock(KEY, SHORT));
        assertTrue(refused.getMessage().contains("lock.timeoutms"), refused.getMessage());
        held.close();
        assertFalse(held.isHeld());
        locks.lock(KEY, SHORT).close();
    }

    @Test
    void closingALockTwiceReleasesItOnce() {
        KeyLocks locks = new KeyLocks(1);
        KeyLocks.Held held = locks.lock(KEY, SHORT);
        held.close();
        held.close();
        locks.lock(KEY, SHORT);
        assertThrows(LockTimeoutException.class, () -> locks.lock(KEY, SHORT));
    }

    @Test
    void anotherThreadMayReleaseALock() throws InterruptedException {
        KeyLocks locks = new KeyLocks(1);
        KeyLocks.Held held = locks.lock(KEY, SHORT);
        Thread other = new Thread(held::close);
        other.start();
        other.join();
        locks.lock(KEY, SHORT).close();
    }

    @Test
    void sharesOfALockKeepOthersFromAllOfIt() {
        KeyLocks locks = new KeyLocks(1);
        KeyLocks.Held first = locks.share(KEY, SHORT);
        KeyLocks.Held second = locks.share(KEY, SHORT);
        first.close();
        assertThrows(LockTimeoutException.class, () -> locks.lock(KEY, SHORT));
        second.close();
        try (KeyLocks.Held held = locks.lock(KEY, SHORT)) {
            assertTrue(held.isHeld());
            assertThrows(LockTimeoutException.class, () -> locks.share(KEY, SHORT));
        }
        locks.share(KEY, SHORT).close();
    }

    @Test
    void anInterruptEndsTheWait() {
        KeyLocks locks = new KeyLocks(1);
        try (KeyLocks.Held held = locks.lock(KEY, SHORT)) {
            assertTrue(held.isHeld());
            Thread.currentThread().interrupt();
            assertThrows(LockTimeoutException.class,
                    () -> locks.lock(KEY, Duration.ofMinutes(1)));
            assertTrue(Thread.interrupted(), "the thread stays interrupted");
        }
    }

    @Test
    void noStripesAreRefused() {
        assertEquals("stripes is 0; give at least 1",
                assertThrows(IllegalArgumentException.class, () -> new KeyLocks(0)).getMessage());
    }
}
