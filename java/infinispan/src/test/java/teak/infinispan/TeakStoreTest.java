package teak.infinispan;

import static org.testng.Assert.assertEquals;

import org.infinispan.commons.test.CommonsTestingUtil;
import org.infinispan.commons.util.IntSets;
import org.infinispan.commons.util.Util;
import org.infinispan.commons.util.concurrent.CompletionStages;
import org.infinispan.configuration.cache.Configuration;
import org.infinispan.configuration.cache.ConfigurationBuilder;
import org.infinispan.persistence.BaseNonBlockingStoreTest;
import org.infinispan.persistence.spi.NonBlockingStore;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;
import org.testng.annotations.Test;

/** Infinispan's own tests of stores. */
@Test(groups = "unit", testName = "teak.infinispan.TeakStoreTest")
public class TeakStoreTest extends BaseNonBlockingStoreTest {
    private String directory;
    private TeakStore<Object, Object> teak;

    @BeforeClass(alwaysRun = true)
    void chooseDirectory() {
        directory = CommonsTestingUtil.tmpDirectory(getClass());
    }

    @AfterClass(alwaysRun = true)
    void deleteDirectory() {
        Util.recursiveFileRemove(directory);
    }

    boolean isSegmented() {
        return true;
    }

    public void anEntryHasOneRecordOfItsExpiryHoweverOftenItIsWritten() {
        for (int i = 1; i <= 100; i++) {
            store.write(marshalledEntry(internalCacheEntry("key", "value", 1000 + i)));
        }
        assertEquals(teak.hosted().size(), 2);
        store.write(marshalledEntry(internalCacheEntry("key", "value", -1)));
        assertEquals(teak.hosted().size(), 1);
    }

    public void anEntryThatIsRemovedLeavesNoRecordOfItsExpiry() {
        store.write(marshalledEntry(internalCacheEntry("key", "value", 1000)));
        store.delete("key");
        assertEquals(teak.hosted().size(), 0);
        store.write(marshalledEntry(internalCacheEntry("key", "value", 1000)));
        CompletionStages.join(teak.removeSegments(
                IntSets.immutableSet(isSegmented() ? keyPartitioner.getSegment("key") : 0)));
        assertEquals(teak.hosted().size(), 0);
    }

    @Override
    protected NonBlockingStore<Object, Object> createStore() {
        teak = new TeakStore<>();
        return teak;
    }

    @Override
    protected Configuration buildConfig(ConfigurationBuilder builder) {
        return builder.persistence().addStore(TeakStoreConfigurationBuilder.class)
                .path(directory).segmented(isSegmented()).build();
    }
}
