package teak.voldemort;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.commons.io.FileUtils;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameters;

import teak.hosted.FileOptions;
import teak.hosted.HostedStore;
import teak.hosted.LockTimeoutException;
import teak.hosted.StoreOptions;
import voldemort.TestUtils;
import voldemort.routing.RoutingStrategy;
import voldemort.server.protocol.admin.AsyncOperationStatus;
import voldemort.server.storage.KeyLockHandle;
import voldemort.store.AbstractStorageEngineTest;
import voldemort.store.PersistenceFailureException;
import voldemort.store.StorageEngine;
import voldemort.utils.ByteArray;
import voldemort.utils.ClosableIterator;
import voldemort.utils.Pair;
import voldemort.versioning.ObsoleteVersionException;
import voldemort.versioning.VectorClock;
import voldemort.versioning.Versioned;

/**
 * Voldemort's own tests of storage engines, the cases that it tests of BDB, and some of our own,
 * with and without prefixes of keys.
 */
@RunWith(Parameterized.class)
public class TeakStorageEngineTest extends AbstractStorageEngineTest {
    private static final int SHORT_MILLIS = 300;

    private final RoutingStrategy routing;
    private Path directory;
    private TeakStorageEngine engine;

    public TeakStorageEngineTest(boolean hasPrefixes) {
        routing = hasPrefixes ? TestUtils.makeSingleNodeRoutingStrategy() : null;
    }

    @Parameters
    public static Collection<Object[]> modes() {
        return Arrays.asList(new Object[][] {{true}, {false}});
    }

    @Override
    @Before
    public void setUp() throws Exception {
        super.setUp();
        directory = TestUtils.createTempDir().toPath();
        engine = open("test", false);
    }

    @Override
    @After
    public void tearDown() throws Exception {
        super.tearDown();
        engine.close();
        FileUtils.deleteDirectory(directory.toFile());
    }

    private TeakStorageEngine open(String name, boolean sync) {
        return new TeakStorageEngine(HostedStore.open(directory, name, new StoreOptions(10, 0, sync,
                64, Duration.ofMillis(SHORT_MILLIS), routing != null, FileOptions.DEFAULT)),
                routing);
    }

    @Override
    public StorageEngine<ByteArray, byte[], byte[]> getStorageEngine() {
        return engine;
    }

    private static ByteArray key(String text) {
        return new ByteArray(text.getBytes());
    }

    private static String text(List<Versioned<byte[]>> versions) {
        assertEquals(1, versions.size());
        return new String(versions.get(0).getValue());
    }

    private void put(String key, String value) {
        engine.put(key(key), new Versioned<>(value.getBytes()), null);
    }

    // The cases that Voldemort tests of BDB.

    @Test
    public void testValuesAreThereAfterReopening() {
        put("abc", "cdef");
        engine.close();
        engine = open("test", false);
        assertEquals("cdef", text(engine.get(key("abc"), null)));
    }

    @Test
    public void testStoresOfOneNameAreEqual() {
        TeakStorageEngine other = open("other", false);
        TeakStorageEngine same = open("other", false);
        assertEquals(other, same);
        assertEquals(other.hashCode(), same.hashCode());
        assertFalse(other.equals(engine));
        same.close();
        other.close();
    }

    @Test
    public void testAMissingStoreIsRefused() {
        try {
            new TeakStorageEngine(null, routing);
            fail("there is no store");
        } catch (IllegalArgumentException expected) {
            assertEquals("the store is null", expected.getMessage());
        }
        try {
            open("", false);
            fail("there is no name");
        } catch (IllegalArgumentException expected) {
            assertTrue(expected.getMessage().contains("empty"));
        }
    }

    @Test
    public void testReadersNeverSeeNothingWhileWritersPut() throws Exception {
        put("foo", "bar");
        AtomicInteger empty = new AtomicInteger();
        inThreads(10, () -> {
            for (int i = 0; i < 200; i++) {
                List<Versioned<byte[]>> versions = engine.get(key("foo"), null);
                if (versions.isEmpty()) {
                    empty.incrementAndGet();
                    continue;
                }
                VectorClock clock = ((VectorClock) versions.get(0).getVersion())
                        .incremented(0, System.currentTimeMillis());
                try {
                    engine.put(key("foo"), new Versioned<>("bar".getBytes(), clock), null);
                } catch (ObsoleteVersionException obsolete) {
                    // Another thread was faster.
                }
            }
        });
        assertEquals(0, empty.get());
    }

    @Test
    public void testALockedKeyCanBeReadButNotWritten() {
        put("key", "bar");
        KeyLockHandle<byte[]> handle = engine.getAndLock(key("key"));
        assertEquals("bar", text(handle.getValues()));
        assertEquals("bar", text(engine.get(key("key"), null)));
        try {
            engine.delete(key("key"), null);
            fail("the key is locked");
        } catch (PersistenceFailureException expected) {
            assertTrue(expected.getCause() instanceof LockTimeoutException);
        }
        engine.releaseLock(handle);
        assertTrue(handle.isClosed());
        assertTrue(engine.delete(key("key"), null));
    }

    @Test
    public void testALockEndsWithAPut() {
        put("key", "Lion");
        KeyLockHandle<byte[]> handle = engine.getAndLock(key("key"));
        try {
            put("key", "Mountain Lion");
            fail("the key is locked");
        } catch (PersistenceFailureException expected) {
            assertTrue(expected.getCause() instanceof LockTimeoutException);
        }
        handle.setValues(new ArrayList<>(List.of(new Versioned<>("Mavericks".getBytes()))));
        engine.putAndUnlock(key("key"), handle);
        assertTrue(handle.isClosed());
        assertEquals("Mavericks", text(engine.get(key("key"), null)));
        engine.delete(key("key"), null);
        put("key", "Yosemite");
    }

    @Test
    public void testAScanGoesOnWhileOthersWriteAndDelete() throws Exception {
        AtomicBoolean isRunning = new AtomicBoolean(true);
        AtomicInteger count = new AtomicInteger();
        ExecutorService threads = Executors.newFixedThreadPool(2);
        Future<?> writer = threads.submit(() -> {
            while (isRunning.get()) {
                String number = Integer.toString(count.getAndIncrement());
                put(number, number);
            }
        });
        Future<?> deleter = threads.submit(() -> {
            for (int i = 0; isRunning.get(); i = (i + 7) % (count.get() + 1)) {
                engine.delete(key(Integer.toString(i)), new VectorClock());
            }
        });
        while (count.get() < 300) {
            Thread.sleep(1);
        }
        ClosableIterator<Pair<ByteArray, Versioned<byte[]>>> entries = engine.entries();
        while (entries.hasNext()) {
            entries.next();
        }
        entries.close();
        isRunning.set(false);
        writer.get();
        deleter.get();
        threads.shutdown();
    }

    @Test
    public void testABackupLeavesEarlierOnesAlone() {
        put("a", "1");
        File backups = directory.resolve("backups").toFile();
        AsyncOperationStatus status = new AsyncOperationStatus(0, "backup");
        engine.nativeBackup(backups, true, false, status);
        String[] first = backups.list();
        assertEquals(1, first.length);
        assertTrue(status.getStatus().contains(first[0]));
        long modified = new File(backups, first[0]).lastModified();
        put("b", "2");
        engine.nativeBackup(backups, false, false, status);
        String[] both = backups.list();
        Arrays.sort(both);
        assertEquals(2, both.length);
        assertEquals(first[0], both[0]);
        assertEquals(modified, new File(backups, both[0]).lastModified());
    }

    // Cases of our own.

    @Test
    public void testABackupIsRestoredByCopyingIt() throws Exception {
        for (int i = 0; i < 500; i++) {
            put("key" + i, "value" + i);
        }
        File backups = directory.resolve("backups").toFile();
        engine.nativeBackup(backups, true, false, new AsyncOperationStatus(0, "backup"));
        engine.truncate();
        engine.close();
        Path file = HostedStore.file(directory, "test");
        Files.delete(file);
        Files.copy(backups.listFiles()[0].toPath(), file);
        engine = open("test", false);
        assertEquals(500, count(engine.keys()));
        assertEquals("value42", text(engine.get(key("key42"), null)));
    }

    @Test
    public void testKeysOfAnyLengthAndLargeValues() {
        byte[] large = new byte[16 << 20];
        Arrays.fill(large, (byte) 7);
        engine.put(new ByteArray(), new Versioned<>("empty".getBytes()), null);
        engine.put(new ByteArray(new byte[2048]), new Versioned<>(large), null);
        assertEquals("empty", text(engine.get(new ByteArray(), null)));
        assertTrue(Arrays.equals(large,
                engine.get(new ByteArray(new byte[2048]), null).get(0).getValue()));
        assertEquals(2, count(engine.keys()));
    }

    @Test
    public void testPutByTheOrderOfClocks() {
        VectorClock one = TestUtils.getClock(1);
        VectorClock before = one.clone();
        engine.put(key("k"), new Versioned<>("1".getBytes(), one), null);
        assertObsolete(new Versioned<>("again".getBytes(), TestUtils.getClock(1)));
        assertEquals(before, one);
        engine.put(key("k"), new Versioned<>("11".getBytes(), TestUtils.getClock(1, 1)), null);
        assertObsolete(new Versioned<>("old".getBytes(), TestUtils.getClock(1)));
        engine.put(key("k"), new Versioned<>("2".getBytes(), TestUtils.getClock(2)), null);
        assertEquals(2, engine.get(key("k"), null).size());
        assertEquals(2, engine.getVersions(key("k")).size());
        assertEquals(2, count(engine.entries()));
        assertEquals(1, count(engine.keys()));
        engine.put(key("k"), new Versioned<>("all".getBytes(), TestUtils.getClock(1, 1, 2)), null);
        assertEquals("all", text(engine.get(key("k"), null)));
    }

    private void assertObsolete(Versioned<byte[]> value) {
        try {
            engine.put(key("k"), value, null);
            fail("the version is obsolete");
        } catch (ObsoleteVersionException expected) {
            assertTrue(expected.getMessage().contains("is not newer than the stored"));
        }
    }

    @Test
    public void testDeleteByTheOrderOfClocks() {
        engine.put(key("k"), new Versioned<>("1".getBytes(), TestUtils.getClock(1)), null);
        engine.put(key("k"), new Versioned<>("2".getBytes(), TestUtils.getClock(2)), null);
        assertFalse(engine.delete(key("k"), TestUtils.getClock(3)));
        assertTrue(engine.delete(key("k"), TestUtils.getClock(1, 1)));
        assertEquals("2", text(engine.get(key("k"), null)));
        assertTrue(engine.delete(key("k"), TestUtils.getClock(2)));
        assertEquals(0, count(engine.keys()));
        assertFalse(engine.delete(key("k"), null));
    }

    @Test
    public void testGetAllHasOnlyKeysWithAValue() {
        put("a", "1");
        put("c", "3");
        Map<ByteArray, List<Versioned<byte[]>>> found =
                engine.getAll(List.of(key("a"), key("b"), key("c")), null);
        assertEquals(Set.of(key("a"), key("c")), found.keySet());
    }

    @Test
    public void testPartitionsAreScannedAlone() {
        if (routing == null) {
            assertFalse(engine.isPartitionScanSupported());
            try {
                engine.keys(0);
                fail("there are no partitions");
            } catch (UnsupportedOperationException expected) {
                assertTrue(expected.getMessage().contains("teak.prefix.keys"));
            }
            return;
        }
        Map<Integer, Set<ByteArray>> expected = new HashMap<>();
        for (int i = 0; i < 1000; i++) {
            ByteArray key = key("key" + i);
            engine.put(key, new Versioned<>(new byte[] {1}), null);
            expected.computeIfAbsent(routing.getMasterPartition(key.get()), p -> new HashSet<>())
                    .add(key);
        }
        int all = 0;
        for (Map.Entry<Integer, Set<ByteArray>> partition : expected.entrySet()) {
            Set<ByteArray> keys = new HashSet<>();
            for (ClosableIterator<ByteArray> each = engine.keys(partition.getKey());
                    each.hasNext(); ) {
                keys.add(each.next());
            }
            assertEquals(partition.getValue(), keys);
            all += count(engine.entries(partition.getKey()));
        }
        assertEquals(1000, all);
        assertEquals(0, count(engine.keys(9999)));
    }

    @Test
    public void testOneOfManyRacingPutsWinsEachRound() throws Exception {
        AtomicInteger won = new AtomicInteger();
        inThreads(4, () -> {
            for (int i = 0; i < 50; i++) {
                VectorClock clock = new VectorClock();
                for (int step = 0; step <= i; step++) {
                    clock.incrementVersion(1, 1);
                }
                try {
                    engine.put(key("k"), new Versioned<>("v".getBytes(), clock), null);
                    won.incrementAndGet();
                } catch (ObsoleteVersionException obsolete) {
                    // Another thread was faster.
                }
            }
        });
        assertTrue(won.get() + " puts won", won.get() <= 50);
        assertEquals(1, engine.get(key("k"), null).size());
    }

    @Test
    public void testABatchMayEndMoreOftenThanItBegan() {
        engine.close();
        engine = open("test", true);
        assertTrue(engine.beginBatchModifications());
        put("a", "1");
        assertTrue(engine.endBatchModifications());
        assertTrue(engine.endBatchModifications());
        put("b", "2");
        assertEquals(2, count(engine.keys()));
    }

    @Test
    public void testAClosedStoreFailsLikeABrokenOne() {
        put("a", "1");
        ClosableIterator<ByteArray> keys = engine.keys();
        assertTrue(keys.hasNext());
        engine.close();
        engine.close();
        List<Runnable> calls = List.of(
                () -> engine.get(key("a"), null),
                () -> put("a", "2"),
                () -> engine.delete(key("a"), null),
                () -> engine.getAndLock(key("a")),
                () -> engine.getAll(Collections.singleton(key("a")), null),
                () -> engine.truncate(),
                () -> engine.keys().hasNext());
        for (Runnable call : calls) {
            try {
                call.run();
                fail("the store is closed");
            } catch (PersistenceFailureException expected) {
                assertTrue(expected.getMessage(), expected.getMessage().contains("is closed"));
            }
        }
        keys.next();
        keys.close();
    }

    private static int count(ClosableIterator<?> each) {
        int count = 0;
        while (each.hasNext()) {
            each.next();
            count++;
        }
        each.close();
        return count;
    }

    private static void inThreads(int count, Runnable work) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(count);
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(threads.submit(work));
        }
        for (Future<?> each : all) {
            each.get();
        }
        threads.shutdown();
    }
}
