package teak.infinispan;

import static org.mockito.Mockito.mock;
import static org.testng.AssertJUnit.assertTrue;

import java.util.Random;

import org.infinispan.commons.io.ByteBufferFactoryImpl;
import org.infinispan.persistence.spi.MarshallableEntryFactory;
import org.infinispan.persistence.spi.PersistenceException;
import org.testng.annotations.Test;

/** Values that are no entries are refused. */
@Test(groups = "unit", testName = "teak.infinispan.StoredEntryTest")
public class StoredEntryTest {
    private static final long SEED = 20260101;

    @SuppressWarnings("unchecked")
    public void anyBytesAreDecodedOrRefusedWithAClearError() {
        MarshallableEntryFactory<Object, Object> entries = mock(MarshallableEntryFactory.class);
        Random random = new Random(SEED);
        for (int i = 0; i < 20_000; i++) {
            byte[] stored = new byte[random.nextInt(80)];
            random.nextBytes(stored);
            if (stored.length > 0 && i % 2 == 0) {
                stored[0] = 1;
            }
            try {
                StoredEntry.isExpired(stored, 0);
                StoredEntry.decode("key", stored, true, entries, new ByteBufferFactoryImpl());
            } catch (PersistenceException refused) {
                assertTrue(refused.getMessage().contains("no cache entry of this version"));
            }
        }
    }
}
