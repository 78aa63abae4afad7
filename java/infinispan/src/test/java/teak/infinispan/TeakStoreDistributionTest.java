package teak.infinispan;

import static org.testng.AssertJUnit.assertEquals;

import java.nio.file.Paths;

import org.infinispan.commons.test.CommonsTestingUtil;
import org.infinispan.commons.util.IntSets;
import org.infinispan.commons.util.Util;
import org.infinispan.configuration.cache.CacheMode;
import org.infinispan.configuration.cache.ConfigurationBuilder;
import org.infinispan.persistence.support.WaitNonBlockingStore;
import org.infinispan.test.MultipleCacheManagersTest;
import org.infinispan.test.TestingUtil;
import org.testng.annotations.AfterClass;
import org.testng.annotations.Test;

/** A distributed cache keeps each entry in the stores of two of four nodes. */
@Test(groups = "functional", testName = "teak.infinispan.TeakStoreDistributionTest")
public class TeakStoreDistributionTest extends MultipleCacheManagersTest {
    private static final int NODES = 4;
    private static final int ENTRIES = 400;

    private final String directory = CommonsTestingUtil.tmpDirectory(getClass());

    @Override
    protected void createCacheManagers() {
        Util.recursiveFileRemove(directory);
        for (int node = 0; node < NODES; node++) {
            ConfigurationBuilder builder = getDefaultClusteredCacheConfig(CacheMode.DIST_SYNC);
            builder.clustering().hash().numOwners(2);
            builder.persistence().addStore(TeakStoreConfigurationBuilder.class)
                    .path(Paths.get(directory, "node" + node).toString());
            addClusterEnabledCacheManager(builder);
        }
        waitForClusterToForm();
    }

    @AfterClass(alwaysRun = true)
    void deleteDirectory() {
        Util.recursiveFileRemove(directory);
    }

    public void testEachEntryIsInTwoStoresAlsoAfterANodeLeft() {
        for (int i = 0; i < ENTRIES; i++) {
            cache(i % NODES).put("key" + i, "value" + i);
        }
        assertEquals(2 * ENTRIES, stored());
        assertEquals(ENTRIES, cache(0).size());

        TestingUtil.killCacheManagers(manager(NODES - 1));
        cacheManagers.remove(NODES - 1);
        waitForClusterToForm();
        for (int i = 0; i < ENTRIES; i++) {
            assertEquals("value" + i, cache(i % (NODES - 1)).get("key" + i));
        }
        eventuallyEquals(2 * ENTRIES, this::stored);
    }

    /** How many entries the stores of all nodes have together. */
    private int stored() {
        long stored = 0;
        for (int node = 0; node < cacheManagers.size(); node++) {
            WaitNonBlockingStore<Object, Object> store = TestingUtil.getFirstStoreWait(cache(node));
            int segments = cache(node).getCacheConfiguration().clustering().hash().numSegments();
            stored += store.sizeWait(IntSets.immutableRangeSet(segments));
        }
        return (int) stored;
    }
}
