package teak.hosted;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;

@SuppressWarnings("try")
class HandleGuardTest {
    @Test
    void closingWaitsForARunningOperation() throws InterruptedException {
        HandleGuard guard = new HandleGuard("orders");
        AtomicInteger released = new AtomicInteger();
        CountDownLatch end = new CountDownLatch(1);
        CountDownLatch entered = new CountDownLatch(1);
        Thread operation = new Thread(() -> {
            try (HandleGuard.Use use = guard.enter()) {
                entered.countDown();
                end.await();
                assertEquals(0, released.get());
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        });
        operation.start();
        entered.await();
        Thread closing = new Thread(() -> guard.close(released::incrementAndGet));
        closing.start();
        closing.join(50);
        assertTrue(closing.isAlive());
        assertEquals(0, released.get());
        end.countDown();
        closing.join();
        operation.join();
        assertEquals(1, released.get());
    }

    @Test
    void aLateOperationIsRefusedByName() {
        HandleGuard guard = new HandleGuard("orders");
        guard.close(() -> { });
        IllegalStateException refused =
                assertThrows(IllegalStateException.class, guard::enter);
        assertEquals("the store orders is closed; open it again to use it", refused.getMessage());
        assertTrue(guard.isClosed());
    }

    @Test
    void closingTwiceReleasesOnce() {
        HandleGuard guard = new HandleGuard("orders");
        AtomicInteger released = new AtomicInteger();
        guard.close(released::incrementAndGet);
        guard.close(released::incrementAndGet);
        assertEquals(1, released.get());
    }

    @Test
    void anOperationCannotCloseWhatItUses() {
        HandleGuard guard = new HandleGuard("orders");
        try (HandleGuard.Use use = guard.enter()) {
            assertThrows(IllegalStateException.class, () -> guard.close(() -> { }));
        }
        assertFalse(guard.isClosed());
    }
}
