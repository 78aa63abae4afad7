package teak.infinispan;

import org.infinispan.commons.test.CommonsTestingUtil;
import org.infinispan.commons.util.Util;
import org.infinispan.configuration.cache.ConfigurationBuilder;
import org.infinispan.persistence.ParallelIterationTest;
import org.testng.annotations.AfterClass;
import org.testng.annotations.Test;

/** Infinispan's own tests of iterating over a store by several threads. */
@Test(groups = "functional", testName = "teak.infinispan.TeakStoreParallelIterationTest")
public class TeakStoreParallelIterationTest extends ParallelIterationTest {
    @AfterClass(alwaysRun = true)
    void deleteDirectory() {
        Util.recursiveFileRemove(CommonsTestingUtil.tmpDirectory(getClass()));
    }

    @Override
    protected void configurePersistence(ConfigurationBuilder builder) {
        builder.persistence().addStore(TeakStoreConfigurationBuilder.class);
    }
}
