package teak.hosted;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.Test;

class StoreOptionsTest {
    private final List<String> warnings = new ArrayList<>();

    private StoreOptions options(Map<String, String> properties) {
        return StoreOptions.from(properties, "teak", "orders", warnings::add);
    }

    @Test
    void nothingSetGivesTheDefaults() {
        assertEquals(StoreOptions.DEFAULT, options(Map.of("other.key", "1")));
        assertEquals(List.of(), warnings);
    }

    @Test
    void aStoreWinsOverAGlobalValueAndThatOverTheDefault() {
        StoreOptions options = options(Map.of(
                "teak.stripes", "7",
                "teak.orders.stripes", "8",
                "teak.customers.stripes", "9",
                "teak.write.sync", "true"));
        assertEquals(8, options.stripes());
        assertTrue(options.sync());
        assertEquals(StoreOptions.DEFAULT.scanChunk(), options.scanChunk());
        assertEquals(List.of(), warnings);
    }

    @Test
    void eachKeyReachesItsOption() {
        assertEquals(
                new StoreOptions(3, 4, true, 6, Duration.ofMillis(7), false,
                        new FileOptions(false, true, false, 8192, "", 2 << 20)),
                options(Map.of("teak.stripes", "3", "teak.poolsize", "4",
                        "teak.write.sync", "true", "teak.createifmissing", "false",
                        "teak.errorifexists", "true", "teak.scan.chunk", "6",
                        "teak.lock.timeoutms", "7", "teak.prefix.keys", "false",
                        "teak.blocksize", "8192", "teak.writebuffer.size", "2")));
    }

    @Test
    void eitherWayToAskForVerificationIsTaken() {
        assertTrue(options(Map.of("teak.paranoidchecks", "true")).file().verifyAlways());
        assertTrue(options(Map.of("teak.read.verifychecksums", "true")).file().verifyAlways());
        assertFalse(options(Map.of("teak.paranoidchecks", "false")).file().verifyAlways());
    }

    @Test
    void eachKeyOfTheLevelDbPluginIsKeptOrWarnedOf() {
        Map<String, String> properties = new HashMap<>();
        for (String key : List.of("poolsize", "stripes", "writebuffer.size", "maxopenfile",
                "lrublockcache", "blockrestartinterval", "compressiontype")) {
            properties.put("teak." + key, "1");
        }
        for (String key : List.of("iterators", "createifmissing", "errorifexists",
                "paranoidchecks", "read.fillcache", "read.verifychecksums", "write.sync")) {
            properties.put("teak." + key, "false");
        }
        properties.put("teak.blocksize", "4096");
        options(properties);
        assertEquals(5, warnings.size(), warnings::toString);
        warnings.forEach(warning -> assertTrue(warning.contains("has no effect: "), warning));
    }

    @Test
    void compressionsHaveLevelDbsNamesToo() {
        Map<String, String> meanings = Map.of("none", "", "0", "", "snappy", "lz4", "1", "lz4",
                "LZ4", "lz4", "zstd", "zstd3", "zstd:19", "zstd19");
        meanings.forEach((given, meant) -> assertEquals(meant,
                options(Map.of("teak.compressiontype", given)).file().compression()));
        for (String wrong : List.of("zstd:20", "zstd:0", "gzip")) {
            assertRefused("teak.compressiontype", wrong);
        }
    }

    @Test
    void anUnknownKeyIsWarnedOfWithTheKnownOnes() {
        options(Map.of("teak.strips", "7"));
        assertEquals(1, warnings.size());
        assertTrue(warnings.get(0).startsWith("teak.strips is unknown"), warnings.get(0));
        assertTrue(warnings.get(0).contains("stripes"), warnings.get(0));
    }

    @Test
    void aValueThatIsNotPossibleIsRefusedByItsFullName() {
        assertRefused("teak.orders.stripes", "none");
        assertRefused("teak.stripes", "0");
        assertRefused("teak.poolsize", "-1");
        assertRefused("teak.write.sync", "yes");
        assertRefused("teak.blocksize", "1024");
        assertThrows(IllegalArgumentException.class,
                () -> options(Map.of("teak.blocksize", "5000")));
    }

    private void assertRefused(String key, String value) {
        String message = assertThrows(IllegalArgumentException.class,
                () -> options(Map.of(key, value))).getMessage();
        assertTrue(message.startsWith(key + " is " + value + "; give "), message);
    }

    @Test
    void syncCanBeChangedAlone() {
        assertTrue(StoreOptions.DEFAULT.withSync(true).sync());
        assertFalse(StoreOptions.DEFAULT.withSync(true).withSync(false).sync());
    }
}
