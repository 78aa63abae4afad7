package teak.infinispan;

import org.infinispan.commons.test.CommonsTestingUtil;
import org.infinispan.commons.util.Util;
import org.infinispan.configuration.cache.PersistenceConfigurationBuilder;
import org.infinispan.persistence.MultiStoresFunctionalTest;
import org.testng.annotations.AfterMethod;
import org.testng.annotations.Test;

/** Infinispan's own tests of nodes that each have a store of their own. */
@Test(groups = "functional", testName = "teak.infinispan.TeakStoreMultipleTest")
public class TeakStoreMultipleTest
        extends MultiStoresFunctionalTest<TeakStoreConfigurationBuilder> {
    private final String directory = CommonsTestingUtil.tmpDirectory(getClass());

    @AfterMethod(alwaysRun = true)
    void deleteDirectory() {
        Util.recursiveFileRemove(directory);
    }

    @Override
    protected TeakStoreConfigurationBuilder buildCacheStoreConfig(
            PersistenceConfigurationBuilder builder, String discriminator) {
        return builder.addStore(TeakStoreConfigurationBuilder.class)
                .path(directory + "/" + discriminator);
    }
}
