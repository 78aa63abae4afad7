package teak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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

    /** There are some 30,000 generated tests, too many to be tests of JUnit. */
    @Test
    void the_view_passes_all_of_guavas_tests_for_navigable_maps() {
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
            count = run(suite, failures);
        }
        System.out.println("Guava's tests for navigable maps: " + count);
        assertTrue(count > 10_000);
        assertEquals(List.of(), failures);
    }

    private static int run(junit.framework.Test test, List<String> failures) {
        if (test instanceof TestSuite suite) {
            int count = 0;
            for (int i = 0; i < suite.testCount(); i++) {
                count += run(suite.testAt(i), failures);
            }
            return count;
        }
        try {
            ((TestCase) test).runBare();
        } catch (Throwable failure) {
            failures.add(test + ": " + failure);
        }
        return 1;
    }
}
