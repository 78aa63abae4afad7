package teak.hosted;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class BatchesTest {
    @Test
    void theLastEndCountsAndMoreEndsHaveNoEffect() {
        Batches batches = new Batches("orders", Duration.ofMinutes(10));
        assertFalse(batches.end());
        batches.begin();
        batches.begin();
        assertFalse(batches.end());
        assertTrue(batches.areOpen());
        assertTrue(batches.end());
        assertFalse(batches.areOpen());
        assertFalse(batches.end());
    }

    @Test
    void aBatchThatIsNeverEndedIsForgottenAlthoughOthersBegin() throws InterruptedException {
        Batches batches = new Batches("orders", Duration.ofMillis(200));
        batches.begin();
        Thread.sleep(120);
        batches.begin();
        batches.end();
        Thread.sleep(120);
        assertFalse(batches.areOpen());
    }
}
