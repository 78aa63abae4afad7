package teak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.testing.NavigableMapTestSuiteBuilder;
import com.google.common.collect.testing.TestStringSortedMapGenerator;
import com.google.common.collect.testing.features.CollectionFeature;
import com.google.common.collect.testing.features.CollectionSize;
import com.google.common.collect.testing.features.MapFeature;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import junit.framework.TestCase;
import junit.framework.TestSuite;
import org.junit.jupiter.api.Test;

/** Guava's tests for navigable maps, on a table as a map. */
class MapViewTest {
    private static final class Maps extends TestStringSortedMapGenerator {
        private final WriteTxn txn;

        Maps(WriteTxn txn) {
            this.txn = txn;
        }

        @Override
        protected SortedMap<String, String> create(Map.Entry<String, String>[] entries) {
            txn.rollBack();
            SortedMap<String, String> map =
                    txn.table("t").typed(Codecs.utf8(), Codecs.utf8()).asMap();
            for (Map.Entry<String, String> entry : entries) {
                map.put(entry.getKey(), entry.getValue());
            }
            return map;
        }
    }

    /** Which part of the tests runs: all, or each tenth for 10. None for 0. */
    private static final int PART = Integer.getInteger("teak.maps", 1);

    /** There are some 30,000 generated tests, too many to be tests of JUnit. */
    @Test
    void the_view_passes_guavas_tests_for_navigable_maps() {
        assumeTrue(PART > 0);
        List<String> failures = new ArrayList<>();
        int count;
        try (Database database = Database.openInMemory(); WriteTxn txn = database.beginWrite()) {
            TestSuite suite = NavigableMapTestSuiteBuilder.using(new Maps(txn))
                    .named("table")
                    .withFeatures(
                            CollectionSize.ANY,
                            MapFeature.GENERAL_PURPOSE,
                            CollectionFeature.SUPPORTS_ITERATOR_REMOVE,
                            CollectionFeature.KNOWN_ORDER)
                    .createTestSuite();
            count = run(suite, 0, failures);
        }
        System.out.println("Guava's tests for navigable maps: 1 of " + PART + " of " + count);
        assertTrue(count > 10_000);
        assertEquals(List.of(), failures);
    }

    /** Runs a part of the tests, of which some were counted before. Returns the new count. */
    private static int run(junit.framework.Test test, int before, List<String> failures) {
        if (test instanceof TestSuite suite) {
            int count = before;
            for (int i = 0; i < suite.testCount(); i++) {
                count = run(suite.testAt(i), count, failures);
            }
            return count;
        }
        if (before % PART == 0) {
            try {
                ((TestCase) test).runBare();
            } catch (Throwable failure) {
                failures.add(test + ": " + failure);
            }
        }
        return before + 1;
    }
}
