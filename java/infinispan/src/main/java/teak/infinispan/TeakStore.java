package teak.infinispan;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Predicate;
import java.util.function.Supplier;

import io.reactivex.rxjava3.core.Flowable;
import org.infinispan.commons.configuration.ConfiguredBy;
import org.infinispan.commons.io.ByteBufferFactory;
import org.infinispan.commons.marshall.Marshaller;
import org.infinispan.commons.time.TimeService;
import org.infinispan.commons.util.IntSet;
import org.infinispan.commons.util.IntSets;
import org.infinispan.commons.util.concurrent.CompletableFutures;
import org.infinispan.persistence.PersistenceUtil;
import org.infinispan.persistence.spi.InitializationContext;
import org.infinispan.persistence.spi.MarshallableEntry;
import org.infinispan.persistence.spi.MarshallableEntryFactory;
import org.infinispan.persistence.spi.NonBlockingStore;
import org.infinispan.persistence.spi.PersistenceException;
import org.infinispan.util.concurrent.BlockingManager;
import org.reactivestreams.Publisher;

import teak.Entry;
import teak.Range;
import teak.Scan;
import teak.Table;
import teak.hosted.HostedStore;
import teak.hosted.Prefix;
import teak.hosted.RenewingScan;

/**
 * An Infinispan store that keeps the entries of a node in a Teak database. A key is the number of
 * the segment and the marshalled key, so the entries of a segment are next to each other: scanning
 * or giving up a segment touches no other.
 *
 * <p>Entries that expire have a second record in a partition of its own, sorted by segment and
 * time, so that purging reads only what expired. It is removed with its entry.
 *
 * @param <K> the type of keys
 * @param <V> the type of values
 */
@ConfiguredBy(TeakStoreConfigurationBuilder.class)
public class TeakStore<K, V> implements NonBlockingStore<K, V> {
    /** The partition of records that say when an entry expires: segment, time, key. */
    private static final int EXPIRY = Prefix.LIMIT - 1;
    private static final int EXPIRY_KEY_BYTES = 2 + 2 + Long.BYTES;
    private static final byte[] NOTHING = {};
    private static final int PURGE_CHUNK = 256;
    private static final String FILE = "entries";

    private BlockingManager blocking;
    private MarshallableEntryFactory<K, V> entries;
    private ByteBufferFactory buffers;
    private Marshaller marshaller;
    private TimeService clock;
    private boolean isSegmented;
    private Path directory;
    private HostedStore store;

    @Override
    public Set<Characteristic> characteristics() {
        return EnumSet.of(
                Characteristic.BULK_READ, Characteristic.EXPIRATION, Characteristic.SEGMENTABLE);
    }

    @Override
    public CompletionStage<Void> start(InitializationContext context) {
        TeakStoreConfiguration configuration = context.getConfiguration();
        blocking = context.getBlockingManager();
        entries = context.getMarshallableEntryFactory();
        buffers = context.getByteBufferFactory();
        marshaller = context.getPersistenceMarshaller();
        clock = context.getTimeService();
        isSegmented = configuration.segmented();
        int segments = context.getCache().getCacheConfiguration().clustering().hash()
                .numSegments();
        if (isSegmented && segments >= EXPIRY) {
            throw new PersistenceException("a cache in a Teak store can have up to " + EXPIRY
                    + " segments, and this one has " + segments + "; configure fewer");
        }
        directory = PersistenceUtil.getQualifiedLocation(context.getGlobalConfiguration(),
                configuration.path(), context.getCache().getName(), "teak");
        return run("start", () ->
                store = HostedStore.open(directory, FILE, configuration.options()));
    }

    @Override
    public CompletionStage<Void> stop() {
        return run("stop", this::close);
    }

    @Override
    public CompletionStage<Void> destroy() {
        return run("destroy", () -> {
            close();
            delete();
        });
    }

    @Override
    public CompletionStage<MarshallableEntry<K, V>> load(int segment, Object key) {
        return supply("load", () -> {
            byte[] stored = store.get(storedKey(segment, key));
            return stored == null || StoredEntry.isExpired(stored, clock.wallClockTime())
                    ? null : StoredEntry.decode(key, stored, true, entries, buffers);
        });
    }

    @Override
    public CompletionStage<Boolean> containsKey(int segment, Object key) {
        return supply("containsKey", () -> {
            byte[] stored = store.get(storedKey(segment, key));
            return stored != null && !StoredEntry.isExpired(stored, clock.wallClockTime());
        });
    }

    @Override
    public CompletionStage<Void> write(
            int segment, MarshallableEntry<? extends K, ? extends V> entry) {
        return run("write", () -> {
            StoredRecord record = record(segment, entry);
            store.write(table -> {
                record.putInto(table);
                return null;
            });
        });
    }

    @Override
    public CompletionStage<Boolean> delete(int segment, Object key) {
        return supply("delete", () -> {
            byte[] stored = storedKey(segment, key);
            return store.write(table -> remove(table, stored));
        });
    }

    @Override
    public CompletionStage<Void> batch(int publisherCount,
            Publisher<SegmentedPublisher<Object>> removePublisher,
            Publisher<SegmentedPublisher<MarshallableEntry<K, V>>> writePublisher) {
        Flowable<byte[]> removals = Flowable.fromPublisher(removePublisher)
                .flatMap(segment -> Flowable.fromPublisher(segment)
                        .map(key -> storedKey(segment.getSegment(), key)), publisherCount);
        Flowable<StoredRecord> writes = Flowable.fromPublisher(writePublisher)
                .flatMap(segment -> Flowable.fromPublisher(segment)
                        .map(entry -> record(segment.getSegment(), entry)), publisherCount);
        CompletionStage<Runnable> changes = removals.toList()
                .zipWith(writes.toList(), this::change).toCompletionStage();
        return blocking.thenApplyBlocking(changes, change -> {
            change.run();
            return null;
        }, "teak-batch");
    }

    /** All changes of a batch, in one transaction. */
    private Runnable change(List<byte[]> removals, List<StoredRecord> writes) {
        return () -> {
            if (!removals.isEmpty() || !writes.isEmpty()) {
                store.write(table -> {
                    removals.forEach(key -> remove(table, key));
                    writes.forEach(record -> record.putInto(table));
                    return null;
                });
            }
        };
    }

    @Override
    public CompletionStage<Void> clear() {
        return run("clear", () -> store.truncate());
    }

    @Override
    public CompletionStage<Void> addSegments(IntSet segments) {
        return CompletableFutures.completedNull();
    }

    @Override
    public CompletionStage<Void> removeSegments(IntSet segments) {
        return run("removeSegments", () ->
                segments.forEach((int segment) -> store.write(table -> {
                    table.deleteRange(Range.prefix(expiryPrefix(segment)));
                    return table.deleteRange(Range.prefix(Prefix.of(segment)));
                })));
    }

    @Override
    public CompletionStage<Long> size(IntSet segments) {
        return supply("size", () -> {
            long now = clock.wallClockTime();
            long size = 0;
            for (int segment : used(segments)) {
                for (RenewingScan scan = store.scan(segment); scan.hasNext(); ) {
                    size += StoredEntry.isExpired(scan.next().value(), now) ? 0 : 1;
                }
            }
            return size;
        });
    }

    @Override
    public CompletionStage<Long> approximateSize(IntSet segments) {
        return size(segments);
    }

    @Override
    public Publisher<MarshallableEntry<K, V>> publishEntries(
            IntSet segments, Predicate<? super K> filter, boolean includeValues) {
        Flowable<MarshallableEntry<K, V>> published = Flowable.fromIterable(used(segments))
                .concatMap(segment -> Flowable.fromIterable(() -> store.scan(segment)))
                .filter(record ->
                        !StoredEntry.isExpired(record.value(), clock.wallClockTime()))
                .mapOptional(record -> {
                    K key = unmarshalledKey(record.key());
                    return filter == null || filter.test(key)
                            ? Optional.of(StoredEntry.decode(
                                    key, record.value(), includeValues, entries, buffers))
                            : Optional.empty();
                });
        return blocking.blockingPublisher(published);
    }

    @Override
    public Publisher<MarshallableEntry<K, V>> purgeExpired() {
        long now = clock.wallClockTime();
        Flowable<List<StoredRecord>> chunks = Flowable.generate(emitter -> {
            List<StoredRecord> expired = new ArrayList<>();
            if (purgeChunk(now, expired)) {
                emitter.onNext(expired);
            } else {
                emitter.onComplete();
            }
        });
        return blocking.blockingPublisher(chunks.concatMapIterable(chunk -> chunk)
                .map(record -> StoredEntry.decode(
                        unmarshalledKey(record.key), record.stored, true, entries, buffers)));
    }

    /**
     * Removes some entries that have expired, and adds them to a list; false if there are none. An
     * entry that was written again since has a later time, or none, and stays.
     */
    private boolean purgeChunk(long now, List<StoredRecord> expired) {
        return store.write(table -> {
            expired.clear();
            List<byte[]> times = due(table, now);
            for (byte[] time : times) {
                byte[] key = entryKey(time);
                byte[] stored = table.get(key);
                if (stored != null && StoredEntry.isExpired(stored, now)) {
                    table.delete(key);
                    expired.add(new StoredRecord(key, stored));
                }
                table.delete(time);
            }
            return !times.isEmpty();
        });
    }

    /** The keys of some records that say that an entry has expired. */
    private static List<byte[]> due(Table table, long now) {
        List<byte[]> due = new ArrayList<>();
        Entry first = table.ceiling(Prefix.of(EXPIRY));
        while (first != null) {
            int segment = Prefix.partition(entryKey(first.key()));
            byte[] segmentKey = Prefix.of(segment);
            Range range = Range.closedOpen(expiryPrefix(segment), expiryKey(now + 1, segmentKey));
            try (Scan scan = table.scan(range)) {
                for (Entry time : scan) {
                    due.add(time.key());
                    if (due.size() == PURGE_CHUNK) {
                        return due;
                    }
                }
            }
            first = table.ceiling(expiryPrefix(segment + 1));
        }
        return due;
    }

    private Iterable<Integer> used(IntSet segments) {
        return isSegmented && segments != null ? segments : IntSets.immutableSet(0);
    }

    private byte[] storedKey(int segment, Object key) {
        try {
            return Prefix.add(isSegmented ? segment : 0, marshaller.objectToByteBuffer(key));
        } catch (IOException failure) {
            throw new PersistenceException("cannot marshal a key of " + key.getClass(), failure);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new PersistenceException("interrupted", interrupted);
        }
    }

    @SuppressWarnings("unchecked")
    private K unmarshalledKey(byte[] stored) {
        try {
            return (K) marshaller.objectFromByteBuffer(stored, 2, stored.length - 2);
        } catch (IOException | ClassNotFoundException failure) {
            throw new PersistenceException("cannot unmarshal a key of the store; was it written "
                    + "with another marshaller?", failure);
        }
    }

    private StoredRecord record(int segment, MarshallableEntry<? extends K, ? extends V> entry) {
        byte[] key = storedKey(segment, entry.getKey());
        return new StoredRecord(key, StoredEntry.encode(entry));
    }

    /** The key of the record that says when the entry of a stored key expires. */
    private static byte[] expiryKey(long time, byte[] key) {
        byte[] expiry = ByteBuffer.allocate(2 + Long.BYTES + key.length)
                .put(key, 0, 2).putLong(time).put(key).array();
        return Prefix.add(EXPIRY, expiry);
    }

    private static byte[] expiryPrefix(int segment) {
        return Prefix.add(EXPIRY, Prefix.of(segment));
    }

    /** The stored key of the entry that such a record is about. */
    private static byte[] entryKey(byte[] expiryKey) {
        return Arrays.copyOfRange(expiryKey, EXPIRY_KEY_BYTES, expiryKey.length);
    }

    /** Removes an entry and the record that says when it expires; false if there was none. */
    private static boolean remove(Table table, byte[] key) {
        byte[] stored = table.remove(key);
        if (stored != null && StoredEntry.expiry(stored) > 0) {
            table.delete(expiryKey(StoredEntry.expiry(stored), key));
        }
        return stored != null;
    }

    HostedStore hosted() {
        return store;
    }

    private void close() {
        if (store != null) {
            store.close();
        }
    }

    private void delete() {
        try {
            Path file = HostedStore.file(directory, FILE);
            Files.deleteIfExists(file);
            Files.deleteIfExists(file.resolveSibling(file.getFileName() + "-lock"));
        } catch (IOException failure) {
            throw new UncheckedIOException("cannot delete the store in " + directory, failure);
        }
    }

    private CompletionStage<Void> run(String name, Runnable operation) {
        return blocking.runBlocking(operation, "teak-" + name);
    }

    private <R> CompletionStage<R> supply(String name, Supplier<R> operation) {
        return blocking.supplyBlocking(operation, "teak-" + name);
    }

    /** A record and, if it expires, the record that says when. */
    private record StoredRecord(byte[] key, byte[] stored) {
        void putInto(Table table) {
            remove(table, key);
            table.set(key, stored);
            long expiry = StoredEntry.expiry(stored);
            if (expiry > 0) {
                table.set(expiryKey(expiry, key), NOTHING);
            }
        }
    }
}
