package teak.hosted;

import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * How a store is opened and used.
 *
 * @param stripes how many locks the keys are spread over
 * @param poolSize how many operations may use the store at the same time; 0 for no limit
 * @param sync whether a write returns only when it is durable. If not, it survives the end of the
 *     process, but a loss of power may undo the last five seconds
 * @param scanChunk how many records a scan reads from one snapshot
 * @param lockTimeout how long an operation waits for the lock of a key
 * @param prefixKeys whether keys begin with the number of their partition
 * @param file how the file is opened
 */
public record StoreOptions(int stripes, int poolSize, boolean sync, int scanChunk,
        Duration lockTimeout, boolean prefixKeys, FileOptions file) {

    /** The defaults. */
    public static final StoreOptions DEFAULT = new StoreOptions(
            100, 0, false, 256, Duration.ofSeconds(5), true, FileOptions.DEFAULT);

    private static final Set<String> KNOWN = Set.of("stripes", "poolsize", "write.sync",
            "createifmissing", "errorifexists", "paranoidchecks", "read.verifychecksums",
            "blocksize", "writebuffer.size", "scan.chunk", "lock.timeoutms", "prefix.keys",
            "compressiontype");

    /** Keys of Voldemort's LevelDB plug-in that have no effect, and the reason. */
    private static final Map<String, String> WITHOUT_EFFECT = Map.of(
            "iterators", "scans are always possible",
            "maxopenfile", "a store is one file",
            "lrublockcache", "reads use the page cache of the system",
            "read.fillcache", "reads use the page cache of the system",
            "blockrestartinterval", "pages have no restart points");

    /**
     * Reads the options of a store from a host's properties. The keys are those of Voldemort's
     * LevelDB plug-in, under another prefix, and a few more.
     *
     * @param properties all properties of the host
     * @param prefix what the keys of the store begin with, without the dot
     * @param store the name of the store
     * @param warn receives a sentence for each key that has no effect
     * @return the options
     * @throws IllegalArgumentException if a value is not possible
     */
    public static StoreOptions from(
            Map<String, String> properties, String prefix, String store, Consumer<String> warn) {
        Settings settings = new Settings(properties, prefix, store);
        WITHOUT_EFFECT.forEach((key, reason) -> {
            if (settings.has(key)) {
                warn.accept(prefix + "." + key + " has no effect: " + reason);
            }
        });
        settings.warnOfUnknown(Stream.concat(KNOWN.stream(), WITHOUT_EFFECT.keySet().stream())
                .collect(Collectors.toSet()), warn);
        StoreOptions otherwise = DEFAULT;
        return new StoreOptions(
                settings.integer("stripes", 1, 1 << 20, otherwise.stripes),
                settings.integer("poolsize", 0, 1 << 20, otherwise.poolSize),
                settings.flag("write.sync", otherwise.sync),
                settings.integer("scan.chunk", 1, 1 << 20, otherwise.scanChunk),
                Duration.ofMillis(settings.integer("lock.timeoutms", 0, Integer.MAX_VALUE,
                        (int) otherwise.lockTimeout.toMillis())),
                settings.flag("prefix.keys", otherwise.prefixKeys),
                FileOptions.from(settings));
    }

    /** These options, with another durability of writes. */
    public StoreOptions withSync(boolean other) {
        return new StoreOptions(
                stripes, poolSize, other, scanChunk, lockTimeout, prefixKeys, file);
    }
}
