package teak.voldemort;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

import org.apache.log4j.Logger;

import teak.hosted.HostedStore;
import teak.hosted.StoreOptions;
import voldemort.routing.RoutingStrategy;
import voldemort.server.VoldemortConfig;
import voldemort.store.StorageConfiguration;
import voldemort.store.StorageEngine;
import voldemort.store.StorageInitializationException;
import voldemort.store.StoreDefinition;
import voldemort.utils.ByteArray;

/**
 * Stores of a Voldemort node in Teak. Name this class in {@code storage.configs}, and give stores
 * {@code <persistence>teak</persistence>}. Each store is a file in the directory {@code teak} of
 * the node's data directory. Its settings are {@code teak.STORE.KEY}, then {@code teak.KEY}.
 */
public final class TeakStorageConfiguration implements StorageConfiguration {
    /** The type of persistence in the definition of a store. */
    public static final String TYPE_NAME = "teak";

    private static final Logger LOGGER = Logger.getLogger(TeakStorageConfiguration.class);

    private final Map<String, String> properties;
    private final Path directory;
    private final Map<String, TeakStorageEngine> engines = new HashMap<>();

    /** Called by Voldemort. */
    public TeakStorageConfiguration(VoldemortConfig config) {
        properties = config.getAllProps();
        directory = Path.of(config.getDataDirectory(), TYPE_NAME);
    }

    @Override
    public synchronized StorageEngine<ByteArray, byte[], byte[]> getStore(
            StoreDefinition definition, RoutingStrategy routing) {
        return engines.computeIfAbsent(definition.getName(), name -> open(name, routing));
    }

    private TeakStorageEngine open(String name, RoutingStrategy routing) {
        try {
            StoreOptions options = StoreOptions.from(properties, TYPE_NAME, name, LOGGER::warn);
            HostedStore store = HostedStore.open(directory, name, options);
            return new TeakStorageEngine(store, options.prefixKeys() ? routing : null);
        } catch (RuntimeException failure) {
            throw new StorageInitializationException(
                    "cannot open the store " + name + ": " + failure.getMessage(), failure);
        }
    }

    @Override
    public String getType() {
        return TYPE_NAME;
    }

    /** Stores share the page cache of the system, so there is no memory to reserve for one. */
    @Override
    public void update(StoreDefinition definition) {
        throw new UnsupportedOperationException("a store in Teak has no memory of its own");
    }

    @Override
    public synchronized void removeStorageEngine(
            StorageEngine<ByteArray, byte[], byte[]> engine) {
        TeakStorageEngine removed = engines.remove(engine.getName());
        if (removed != null) {
            removed.close();
        }
    }

    @Override
    public synchronized void close() {
        engines.values().forEach(TeakStorageEngine::close);
        engines.clear();
    }
}
