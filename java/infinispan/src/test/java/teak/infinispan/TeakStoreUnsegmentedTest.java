package teak.infinispan;

import org.testng.annotations.Test;

/** Infinispan's own tests of stores, with a store that is configured not to be segmented. */
@Test(groups = "unit", testName = "teak.infinispan.TeakStoreUnsegmentedTest")
public class TeakStoreUnsegmentedTest extends TeakStoreTest {
    @Override
    boolean isSegmented() {
        return false;
    }
}
