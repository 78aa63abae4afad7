package teak.hosted;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import teak.Database;
import teak.Entry;

class HostedStoreTest {
    private static final StoreOptions OPTIONS = options(FileOptions.DEFAULT);

    @TempDir
    Path directory;

    private HostedStore store;

    @BeforeEach
    void open() {
        store = HostedStore.open(directory, "orders", OPTIONS);
    }

    @AfterEach
    void close() {
        store.close();
    }

    private static StoreOptions options(FileOptions file) {
        return new StoreOptions(16, 0, false, 10, Duration.ofMillis(50), true, file);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }

    private static byte[] number(int number) {
        return bytes(String.format("%06d", number));
    }

    private static List<String> keys(RenewingScan scan) {
        List<String> keys = new ArrayList<>();
        scan.forEachRemaining(record -> keys.add(new String(record.key(), UTF_8)));
        return keys;
    }

    @Test
    void recordsAreStoredReplacedAndRemoved() {
        assertNull(store.get(bytes("a")));
        store.put(bytes("a"), bytes("1"));
        store.put(bytes("a"), bytes("2"));
        assertArrayEquals(bytes("2"), store.get(bytes("a")));
        assertEquals(1, store.size());
        assertTrue(store.remove(bytes("a")));
        assertFalse(store.remove(bytes("a")));
        assertNull(store.get(bytes("a")));
    }

    @Test
    void emptyKeysLongKeysAndLargeValuesAreStored() {
        byte[] large = new byte[16 << 20];
        Arrays.fill(large, (byte) 5);
        byte[] longKey = new byte[2048];
        store.put(new byte[0], bytes("empty"));
        store.put(longKey, large);
        store.put(bytes("a"), new byte[0]);
        assertArrayEquals(bytes("empty"), store.get(new byte[0]));
        assertArrayEquals(large, store.get(longKey));
        assertArrayEquals(new byte[0], store.get(bytes("a")));
        assertEquals(3, keys(store.scan()).size());
    }

    @Test
    void recordsAreThereAfterReopening() {
        store.put(bytes("a"), bytes("1"));
        store.close();
        open();
        assertArrayEquals(bytes("1"), store.get(bytes("a")));
    }

    @Test
    void manyValuesAreReadInOrder() {
        store.put(bytes("a"), bytes("1"));
        store.put(bytes("c"), bytes("3"));
        List<byte[]> values = store.getAll(List.of(bytes("a"), bytes("b"), bytes("c")));
        assertArrayEquals(bytes("1"), values.get(0));
        assertNull(values.get(1));
        assertArrayEquals(bytes("3"), values.get(2));
    }

    @Test
    void aScanGoesOnAcrossChunksWhileRecordsChange() {
        for (int i = 0; i < 95; i++) {
            store.put(number(i), number(i));
        }
        List<String> seen = new ArrayList<>();
        RenewingScan scan = store.scan();
        while (scan.hasNext()) {
            byte[] key = scan.next().key();
            seen.add(new String(key, UTF_8));
            store.remove(key);
        }
        assertEquals(95, seen.size());
        assertEquals(0, store.size());
    }

    @Test
    void aClosedScanEndsAndAnEmptyStoreHasNothingToScan() {
        assertFalse(store.scan().hasNext());
        store.put(bytes("a"), bytes("1"));
        store.put(bytes("b"), bytes("1"));
        RenewingScan scan = store.scan();
        scan.next();
        scan.close();
        scan.close();
        assertFalse(scan.hasNext());
    }

    @Test
    void chunksOfLargeValuesStaySmall() {
        byte[] half = new byte[(int) (RenewingScan.CHUNK_BYTES / 2)];
        for (int i = 0; i < 7; i++) {
            store.put(number(i), half);
        }
        assertEquals(7, keys(store.scan()).size());
    }

    @Test
    void aPartitionIsScannedAndRemovedAlone() {
        for (int partition : new int[] {0, 1, 255, 256, 65534, 65535}) {
            for (int i = 0; i < 25; i++) {
                store.put(Prefix.add(partition, number(i)), bytes("x"));
            }
            store.put(Prefix.add(partition, new byte[0]), bytes("x"));
        }
        for (int partition : new int[] {0, 1, 255, 256, 65534, 65535}) {
            List<Integer> partitions = new ArrayList<>();
            store.scan(partition)
                    .forEachRemaining(record -> partitions.add(Prefix.partition(record.key())));
            assertEquals(26, partitions.size());
            assertTrue(partitions.stream().allMatch(found -> found == partition));
        }
        assertEquals(0, keys(store.scan(2)).size());
        assertEquals(26, store.removePartition(65535));
        assertEquals(26, store.removePartition(255));
        assertEquals(0, store.removePartition(255));
        assertEquals(4 * 26, store.size());
    }

    @Test
    void truncatingLeavesAUsableStore() {
        for (int i = 0; i < 100; i++) {
            store.put(number(i), number(i));
        }
        store.truncate();
        assertEquals(0, store.size());
        store.put(bytes("a"), bytes("1"));
        assertEquals(1, store.size());
    }

    @Test
    void concurrentUpdatesOfOneKeyAreAllCounted() throws Exception {
        store.close();
        store = HostedStore.open(directory, "orders", StoreOptions.DEFAULT);
        inThreads(4, () -> {
            for (int i = 0; i < 250; i++) {
                store.update(bytes("counter"), slot -> {
                    int before = slot.get() == null ? 0 : slot.get()[0] * 100 + slot.get()[1];
                    int after = before + 1;
                    slot.set(new byte[] {(byte) (after / 100), (byte) (after % 100)});
                    return after;
                });
            }
            return null;
        });
        assertArrayEquals(new byte[] {10, 0}, store.get(bytes("counter")));
    }

    @Test
    void concurrentUpdatesOfOneKeyShareATransaction() throws Exception {
        store.close();
        store = HostedStore.open(directory, "orders", StoreOptions.DEFAULT.withSync(true));
        long before = store.stat().transaction();
        CountDownLatch allWait = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            boolean isFirst = i == 0;
            Thread thread = new Thread(() -> store.update(bytes("counter"), slot -> {
                if (isFirst) {
                    await(allWait);
                }
                int count = slot.get() == null ? 0 : slot.get()[0];
                slot.set(new byte[] {(byte) (count + 1)});
                return null;
            }));
            thread.start();
            threads.add(thread);
            while (thread.getState() != Thread.State.WAITING) {
                Thread.sleep(1);
            }
        }
        allWait.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        assertArrayEquals(new byte[] {16}, store.get(bytes("counter")));
        assertEquals(before + 2, store.stat().transaction());
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    @Test
    void aChangeThatThrowsIsUndoneAndOthersAreCommitted() throws Exception {
        inThreads(4, () -> {
            for (int i = 0; i < 100; i++) {
                int number = i;
                byte[] key = bytes(Thread.currentThread().getId() + "-" + i);
                if (i % 3 == 0) {
                    assertThrows(UnsupportedOperationException.class,
                            () -> store.update(key, slot -> {
                                slot.set(number(number));
                                throw new UnsupportedOperationException();
                            }));
                } else {
                    store.put(key, number(number));
                }
            }
            return null;
        });
        assertEquals(4 * 66, store.size());
        store.scan().forEachRemaining(record ->
                assertTrue(Integer.parseInt(new String(record.value(), UTF_8)) % 3 != 0));
    }

    @Test
    void aLockedRecordIsReadButNotChangedByOthers() {
        store.put(bytes("a"), bytes("1"));
        HostedStore.LockedRecord locked = store.lock(bytes("a"));
        assertArrayEquals(bytes("1"), locked.value());
        assertArrayEquals(bytes("1"), store.get(bytes("a")));
        assertThrows(LockTimeoutException.class, () -> store.put(bytes("a"), bytes("2")));
        locked.replace(bytes("3"));
        assertArrayEquals(bytes("3"), store.get(bytes("a")));
        assertThrows(IllegalStateException.class, () -> locked.replace(bytes("4")));
        store.put(bytes("a"), bytes("5"));
        try (HostedStore.LockedRecord again = store.lock(bytes("a"))) {
            again.replace(null);
        }
        assertNull(store.get(bytes("a")));
    }

    @Test
    void aPoolOfOneServesManyThreads() throws Exception {
        store.close();
        store = HostedStore.open(directory, "orders",
                new StoreOptions(4, 1, false, 10, Duration.ofSeconds(5), true,
                        FileOptions.DEFAULT));
        inThreads(4, () -> {
            for (int i = 0; i < 50; i++) {
                byte[] key = number(i);
                store.put(key, key);
                try (HostedStore.LockedRecord locked = store.lock(key)) {
                    locked.replace(key);
                }
                assertArrayEquals(key, store.get(key));
            }
            return null;
        });
        assertEquals(50, store.size());
    }

    @Test
    void aChangeThatUsesTheStoreIsRefusedInsteadOfWaitingForItself() {
        store.close();
        store = HostedStore.open(directory, "orders", new StoreOptions(
                4, 1, false, 10, Duration.ofMillis(50), true, FileOptions.DEFAULT));
        assertThrows(LockTimeoutException.class,
                () -> store.update(bytes("a"), slot -> store.get(bytes("b"))));
        store.close();
        store = HostedStore.open(directory, "orders", OPTIONS);
        String message = assertThrows(IllegalStateException.class, () -> store.write(table ->
                store.write(other -> null))).getMessage();
        assertTrue(message.startsWith("a change of a store cannot make another"), message);
        store.put(bytes("a"), bytes("1"));
    }

    @Test
    void anInterruptedThreadStillCommits() {
        Thread.currentThread().interrupt();
        store.write(table -> table.put(bytes("a"), bytes("1")));
        assertTrue(Thread.interrupted());
        assertEquals(1, store.size());
    }

    @Test
    void durableWritesAreRelaxedInABatchAndEndsMayBeUnbalanced() {
        store.close();
        store = HostedStore.open(directory, "orders", OPTIONS.withSync(true));
        assertTrue(store.endBatch());
        assertTrue(store.beginBatch());
        assertTrue(store.beginBatch());
        store.put(bytes("a"), bytes("1"));
        assertFalse(store.endBatch());
        assertTrue(store.endBatch());
        assertTrue(store.endBatch());
        store.put(bytes("b"), bytes("1"));
        assertEquals(2, store.size());
    }

    @Test
    void aCopyIsAStoreOfItsOwn() throws IOException {
        for (int i = 0; i < 100; i++) {
            store.put(number(i), number(i));
        }
        Path copies = directory.resolve("copies");
        Path first = store.copyTo(copies, true);
        store.put(bytes("later"), bytes("1"));
        Path second = store.copyTo(copies, true);
        try (Stream<Path> files = Files.list(copies)) {
            assertEquals(List.of(first, second), files.sorted().toList());
        }
        Path restored = Files.createDirectory(directory.resolve("restored"));
        Files.copy(first, HostedStore.file(restored, "orders"));
        try (HostedStore copy = HostedStore.open(restored, "orders", OPTIONS)) {
            assertEquals(100, copy.size());
            assertArrayEquals(number(42), copy.get(number(42)));
        }
    }

    @Test
    void aCopyOfAStoreThatWasCreatedAnewIsNotMistakenForAnOldOne() throws IOException {
        Path copies = directory.resolve("copies");
        store.put(bytes("a"), bytes("old"));
        Path old = store.copyTo(copies, true);
        store.close();
        Files.delete(HostedStore.file(directory, "orders"));
        open();
        store.put(bytes("a"), bytes("new"));
        Path copy = store.copyTo(copies, true);
        assertTrue(old.compareTo(copy) < 0);
        Path restored = Files.createDirectory(directory.resolve("restored"));
        Files.copy(copy, HostedStore.file(restored, "orders"));
        try (HostedStore found = HostedStore.open(restored, "orders", OPTIONS)) {
            assertArrayEquals(bytes("new"), found.get(bytes("a")));
        }
    }

    @Test
    void copiesMadeAtTheSameTimeAreAllWhole() throws Exception {
        for (int i = 0; i < 100; i++) {
            store.put(number(i), number(i));
        }
        Path copies = directory.resolve("copies");
        inThreads(4, () -> {
            for (int i = 0; i < 5; i++) {
                store.copyTo(copies, true);
            }
            return null;
        });
        try (Stream<Path> files = Files.list(copies)) {
            assertEquals(20, files.count());
        }
    }

    @Test
    void aWriteIsOnTheDiskWhenItReturnsIfWritesAreSynced() {
        store.close();
        store = HostedStore.open(directory, "orders", OPTIONS.withSync(true));
        for (int i = 0; i < 10; i++) {
            store.put(number(i), number(i));
            assertTrue(isDurable());
        }
        store.beginBatch();
        store.put(bytes("a"), bytes("1"));
        assertFalse(isDurable());
        store.endBatch();
        assertTrue(isDurable());
        store.put(bytes("b"), bytes("1"));
        assertTrue(isDurable());
    }

    private boolean isDurable() {
        return store.stat().durableTransaction() == store.stat().transaction();
    }

    @Test
    void aScanThatFailedGoesOnWithoutRepeatingRecords() {
        AtomicBoolean failed = new AtomicBoolean();
        RenewingScan scan = new RenewingScan((last, chunk) -> {
            chunk.add(new Entry(bytes("a"), bytes("1")));
            if (!failed.getAndSet(true)) {
                throw new UnsupportedOperationException();
            }
            return false;
        });
        assertThrows(UnsupportedOperationException.class, scan::hasNext);
        assertEquals(List.of("a"), keys(scan));
    }

    @Test
    void missingAndExistingStoresAreRefusedOnRequest() {
        StoreOptions existing = options(new FileOptions(false, false, false, 0, "", 0));
        String missing = assertThrows(IllegalStateException.class,
                () -> HostedStore.open(directory, "missing", existing)).getMessage();
        assertTrue(missing.contains("createifmissing"), missing);
        assertFalse(Files.exists(HostedStore.file(directory, "missing")));
        StoreOptions fresh = options(new FileOptions(true, true, false, 0, "", 0));
        String exists = assertThrows(IllegalStateException.class,
                () -> HostedStore.open(directory, "orders", fresh)).getMessage();
        assertTrue(exists.contains("errorifexists"), exists);
    }

    @Test
    void keysWithAndWithoutPrefixesAreNotMixed() {
        store.close();
        StoreOptions other = new StoreOptions(
                16, 0, false, 10, Duration.ofMillis(50), false, FileOptions.DEFAULT);
        String refused = assertThrows(IllegalStateException.class,
                () -> HostedStore.open(directory, "orders", other)).getMessage();
        assertTrue(refused.contains("prefix.keys is false; set it to true"), refused);
        store = HostedStore.open(directory, "orders", OPTIONS);
        store.put(bytes("a"), bytes("1"));
        store.truncate();
        HostedStore.open(directory, "plain", other).close();
        assertThrows(IllegalStateException.class,
                () -> HostedStore.open(directory, "plain", OPTIONS));
        HostedStore.open(directory, "plain", other).close();
    }

    @Test
    void aStoreOfAnEarlierVersionSaysNothingAboutPrefixes() {
        try (Database database = Database.open(HostedStore.file(directory, "early"))) {
            database.writing(txn -> txn.table("records").set(bytes("a"), bytes("1")));
        }
        try (HostedStore early = HostedStore.open(directory, "early", OPTIONS)) {
            assertArrayEquals(bytes("1"), early.get(bytes("a")));
        }
    }

    @Test
    void aFileIsCreatedWithTheOptionsOfTheFile() {
        FileOptions file = new FileOptions(true, false, true, 16384, "zstd5", 1 << 20);
        try (HostedStore other = HostedStore.open(directory, "other", options(file))) {
            other.put(bytes("a"), new byte[100]);
            assertArrayEquals(new byte[100], other.get(bytes("a")));
        }
    }

    @Test
    void aNameThatLeavesTheDirectoryIsRefused() {
        for (String name : List.of("", "..", "../orders", "a/b", ".hidden", "a\0b")) {
            assertThrows(IllegalArgumentException.class,
                    () -> HostedStore.open(directory, name, OPTIONS), name);
        }
    }

    @Test
    void aClosedStoreRefusesEverythingWithAClearError() {
        RenewingScan scan = store.scan();
        store.close();
        store.close();
        List<Runnable> calls = List.of(
                () -> store.get(bytes("a")),
                () -> store.put(bytes("a"), bytes("1")),
                () -> store.remove(bytes("a")),
                () -> store.lock(bytes("a")),
                () -> store.size(),
                () -> store.truncate(),
                () -> store.removePartition(1),
                () -> store.copyTo(directory, false),
                scan::hasNext);
        for (Runnable call : calls) {
            String message = assertThrows(IllegalStateException.class, call::run).getMessage();
            assertEquals("the store orders is closed; open it again to use it", message);
        }
    }

    @Test
    void closingWhileEightThreadsUseTheStoreIsSafe() throws Exception {
        for (int round = 0; round < 5; round++) {
            store.close();
            store = HostedStore.open(directory, "orders", StoreOptions.DEFAULT);
            AtomicBoolean closed = new AtomicBoolean();
            ExecutorService threads = Executors.newFixedThreadPool(8);
            List<Future<?>> uses = new ArrayList<>();
            for (int thread = 0; thread < 8; thread++) {
                int own = thread;
                uses.add(threads.submit(() -> useUntilClosed(own, closed)));
            }
            Thread.sleep(30);
            closed.set(true);
            store.close();
            for (Future<?> use : uses) {
                use.get();
            }
            threads.shutdown();
        }
    }

    private void useUntilClosed(int thread, AtomicBoolean closed) {
        try {
            for (int i = 0; ; i++) {
                byte[] key = number(thread * 1000 + i % 1000);
                store.put(key, key);
                assertArrayEquals(key, store.get(key));
                store.beginBatch();
                store.endBatch();
                if (i % 10 == 0) {
                    RenewingScan scan = store.scan();
                    for (int records = 0; records < 30 && scan.hasNext(); records++) {
                        scan.next();
                    }
                }
            }
        } catch (IllegalStateException refused) {
            assertTrue(closed.get(), refused.toString());
        }
    }

    private static void inThreads(int count, Callable<Void> work) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(count);
        try {
            List<Callable<Void>> works = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                works.add(work);
            }
            for (Future<Void> future : threads.invokeAll(works)) {
                future.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }
}
