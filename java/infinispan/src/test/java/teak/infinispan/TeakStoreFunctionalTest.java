package teak.infinispan;

import org.infinispan.configuration.cache.PersistenceConfigurationBuilder;
import org.infinispan.persistence.BaseStoreFunctionalTest;
import org.testng.annotations.Test;

/** Infinispan's own tests of caches with a store. */
@Test(groups = "unit", testName = "teak.infinispan.TeakStoreFunctionalTest")
public class TeakStoreFunctionalTest extends BaseStoreFunctionalTest {
    @Override
    protected PersistenceConfigurationBuilder createCacheStoreConfig(
            PersistenceConfigurationBuilder persistence, String cacheName, boolean preload) {
        persistence.addStore(TeakStoreConfigurationBuilder.class).preload(preload);
        return persistence;
    }
}
