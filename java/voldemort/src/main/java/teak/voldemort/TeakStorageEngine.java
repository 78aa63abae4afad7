package teak.voldemort;

import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.function.Supplier;

import teak.Entry;
import teak.TeakException;
import teak.hosted.HostedStore;
import teak.hosted.LockTimeoutException;
import teak.hosted.Prefix;
import teak.hosted.RenewingScan;
import teak.hosted.Slot;
import voldemort.routing.RoutingStrategy;
import voldemort.server.protocol.admin.AsyncOperationStatus;
import voldemort.server.storage.KeyLockHandle;
import voldemort.store.AbstractStorageEngine;
import voldemort.store.PersistenceFailureException;
import voldemort.store.Store;
import voldemort.store.StoreBinaryFormat;
import voldemort.store.StoreUtils;
import voldemort.store.backup.NativeBackupable;
import voldemort.utils.ByteArray;
import voldemort.utils.ClosableIterator;
import voldemort.utils.Pair;
import voldemort.versioning.ObsoleteVersionException;
import voldemort.versioning.Occurred;
import voldemort.versioning.Version;
import voldemort.versioning.Versioned;

/**
 * A Voldemort store in Teak. The value of a record is the list of versions in Voldemort's own
 * format. With a routing strategy, keys begin with their master partition, so that scans of a
 * partition read nothing else.
 */
public final class TeakStorageEngine extends AbstractStorageEngine<ByteArray, byte[], byte[]>
        implements NativeBackupable {
    private final HostedStore store;
    private final RoutingStrategy routing;

    /**
     * Creates an engine, which closes the store when it is closed.
     *
     * @param routing tells the partition of a key; null for keys without prefix
     */
    public TeakStorageEngine(HostedStore store, RoutingStrategy routing) {
        super(requireStore(store).name());
        this.store = store;
        this.routing = routing;
    }

    private static HostedStore requireStore(HostedStore store) {
        if (store == null) {
            throw new IllegalArgumentException("the store is null");
        }
        return store;
    }

    @Override
    public List<Versioned<byte[]>> get(ByteArray key, byte[] transforms) {
        byte[] stored = storedKey(key);
        return guarded(() -> decode(store.get(stored)));
    }

    @Override
    public Map<ByteArray, List<Versioned<byte[]>>> getAll(
            Iterable<ByteArray> keys, Map<ByteArray, byte[]> transforms) {
        StoreUtils.assertValidKeys(keys);
        List<ByteArray> asked = new ArrayList<>();
        List<byte[]> stored = new ArrayList<>();
        for (ByteArray key : keys) {
            asked.add(key);
            stored.add(storedKey(key));
        }
        List<byte[]> values = guarded(() -> store.getAll(stored));
        Map<ByteArray, List<Versioned<byte[]>>> found = new HashMap<>();
        for (int i = 0; i < values.size(); i++) {
            List<Versioned<byte[]>> versions = decode(values.get(i));
            if (!versions.isEmpty()) {
                found.put(asked.get(i), versions);
            }
        }
        return found;
    }

    @Override
    public List<Version> getVersions(ByteArray key) {
        return StoreUtils.getVersions(get(key, null));
    }

    @Override
    public void put(ByteArray key, Versioned<byte[]> value, byte[] transforms) {
        Version newer = update(key, slot -> {
            List<Versioned<byte[]>> versions = decode(slot.get());
            for (Iterator<Versioned<byte[]>> each = versions.iterator(); each.hasNext(); ) {
                Version present = each.next().getVersion();
                Occurred occurred = value.getVersion().compare(present);
                if (occurred == Occurred.BEFORE) {
                    return present;
                }
                if (occurred == Occurred.AFTER) {
                    each.remove();
                }
            }
            versions.add(value);
            write(slot, versions);
            return null;
        });
        if (newer != null) {
            throw new ObsoleteVersionException("the version " + value.getVersion() + " of key "
                    + key + " is not newer than the stored " + newer);
        }
    }

    @Override
    public boolean delete(ByteArray key, Version version) {
        return update(key, slot -> {
            if (version == null) {
                return slot.remove();
            }
            List<Versioned<byte[]>> versions = decode(slot.get());
            boolean removed = versions.removeIf(
                    present -> present.getVersion().compare(version) == Occurred.BEFORE);
            if (removed) {
                write(slot, versions);
            }
            return removed;
        });
    }

    @Override
    public List<Versioned<byte[]>> multiVersionPut(
            ByteArray key, List<Versioned<byte[]>> values) {
        return update(key, slot -> {
            List<Versioned<byte[]>> versions = decode(slot.get());
            List<Versioned<byte[]>> obsolete =
                    resolveAndConstructVersionsToPersist(versions, values);
            write(slot, versions);
            return obsolete;
        });
    }

    @Override
    public KeyLockHandle<byte[]> getAndLock(ByteArray key) {
        byte[] stored = storedKey(key);
        return guarded(() -> {
            HostedStore.LockedRecord record = store.lock(stored);
            try {
                return new KeyLockHandle<>(decode(record.value()), record);
            } catch (RuntimeException failure) {
                record.close();
                throw failure;
            }
        });
    }

    @Override
    public void putAndUnlock(ByteArray key, KeyLockHandle<byte[]> handle) {
        StoreUtils.assertValidKey(key);
        try (HostedStore.LockedRecord record = record(handle)) {
            guarded(() -> {
                record.replace(encode(handle.getValues()));
                return null;
            });
        } finally {
            handle.close();
        }
    }

    @Override
    public void releaseLock(KeyLockHandle<byte[]> handle) {
        handle.close();
        record(handle).close();
    }

    private static HostedStore.LockedRecord record(KeyLockHandle<byte[]> handle) {
        return (HostedStore.LockedRecord) handle.getKeyLock();
    }

    @Override
    public ClosableIterator<Pair<ByteArray, Versioned<byte[]>>> entries() {
        return new Entries(store.scan());
    }

    @Override
    public ClosableIterator<ByteArray> keys() {
        return new Keys(store.scan());
    }

    @Override
    public ClosableIterator<Pair<ByteArray, Versioned<byte[]>>> entries(int partition) {
        return new Entries(scan(partition));
    }

    @Override
    public ClosableIterator<ByteArray> keys(int partition) {
        return new Keys(scan(partition));
    }

    private RenewingScan scan(int partition) {
        if (routing == null) {
            throw new UnsupportedOperationException("the store " + getName() + " has keys without "
                    + "partitions; set teak.prefix.keys to true before it is created");
        }
        return store.scan(partition);
    }

    @Override
    public boolean isPartitionScanSupported() {
        return routing != null;
    }

    @Override
    public void truncate() {
        guarded(() -> {
            store.truncate();
            return null;
        });
    }

    @Override
    public boolean beginBatchModifications() {
        return store.beginBatch();
    }

    @Override
    public boolean endBatchModifications() {
        return guarded(store::endBatch);
    }

    /** Copies are whole. */
    @Override
    public void nativeBackup(
            File toDir, boolean verify, boolean isIncremental, AsyncOperationStatus status) {
        Path copy = guarded(() -> store.copyTo(toDir.toPath(), verify));
        status.setStatus("Copied the store " + getName() + " to " + copy);
    }

    @Override
    public void close() {
        guarded(() -> {
            store.close();
            return null;
        });
    }

    /** Like other engines, a store equals each store of its name. */
    @Override
    public boolean equals(Object other) {
        return other instanceof Store && ((Store<?, ?, ?>) other).getName().equals(getName());
    }

    @Override
    public int hashCode() {
        return getName().hashCode();
    }

    private byte[] storedKey(ByteArray key) {
        StoreUtils.assertValidKey(key);
        return routing == null ? key.get()
                : Prefix.add(routing.getMasterPartition(key.get()), key.get());
    }

    private ByteArray hostKey(byte[] stored) {
        return new ByteArray(routing == null ? stored : Prefix.strip(stored));
    }

    private <R> R update(ByteArray key, Function<Slot, R> function) {
        byte[] stored = storedKey(key);
        return guarded(() -> store.update(stored, function));
    }

    private static List<Versioned<byte[]>> decode(byte[] stored) {
        return stored == null ? new ArrayList<>() : StoreBinaryFormat.fromByteArray(stored);
    }

    /** The bytes of a record; null if there is no version left. */
    private static byte[] encode(List<Versioned<byte[]>> versions) {
        return versions.isEmpty() ? null : StoreBinaryFormat.toByteArray(versions);
    }

    private static void write(Slot slot, List<Versioned<byte[]>> versions) {
        byte[] stored = encode(versions);
        if (stored == null) {
            slot.remove();
        } else {
            slot.set(stored);
        }
    }

    /** Runs an operation, with its failures as those that Voldemort handles. */
    private static <R> R guarded(Supplier<R> operation) {
        try {
            return operation.get();
        } catch (TeakException | LockTimeoutException | IllegalStateException failure) {
            throw new PersistenceFailureException(failure.getMessage(), failure);
        }
    }

    private abstract class ScanIterator<T> implements ClosableIterator<T> {
        final RenewingScan scan;

        ScanIterator(RenewingScan scan) {
            this.scan = scan;
        }

        boolean hasNextRecord() {
            return guarded(scan::hasNext);
        }

        @Override
        public void remove() {
            throw new UnsupportedOperationException("delete the key from the store instead");
        }

        @Override
        public void close() {
            scan.close();
        }
    }

    private final class Keys extends ScanIterator<ByteArray> {
        Keys(RenewingScan scan) {
            super(scan);
        }

        @Override
        public boolean hasNext() {
            return hasNextRecord();
        }

        @Override
        public ByteArray next() {
            return hostKey(guarded(scan::next).key());
        }
    }

    /** All versions of all keys: a key with several versions comes several times. */
    private final class Entries extends ScanIterator<Pair<ByteArray, Versioned<byte[]>>> {
        private ByteArray key;
        private Iterator<Versioned<byte[]>> versions = Collections.emptyIterator();

        Entries(RenewingScan scan) {
            super(scan);
        }

        @Override
        public boolean hasNext() {
            while (!versions.hasNext() && hasNextRecord()) {
                Entry record = scan.next();
                key = hostKey(record.key());
                versions = decode(record.value()).iterator();
            }
            return versions.hasNext();
        }

        @Override
        public Pair<ByteArray, Versioned<byte[]>> next() {
            if (!hasNext()) {
                throw new NoSuchElementException("the scan is at its end");
            }
            return Pair.create(key, versions.next());
        }
    }
}
