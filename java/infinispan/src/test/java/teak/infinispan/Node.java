package teak.infinispan;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;

import org.infinispan.Cache;
import org.infinispan.commons.util.IntSets;
import org.infinispan.configuration.cache.CacheMode;
import org.infinispan.configuration.cache.ConfigurationBuilder;
import org.infinispan.configuration.global.GlobalConfigurationBuilder;
import org.infinispan.configuration.global.UncleanShutdownAction;
import org.infinispan.distribution.LocalizedCacheTopology;
import org.infinispan.eviction.EvictionStrategy;
import org.infinispan.manager.DefaultCacheManager;
import org.infinispan.test.TestingUtil;

/**
 * A process that is one node of a cluster. It reads commands, one a line, and answers each with a
 * line that begins with {@code =}. Memory holds few entries, so that the store has to hold them.
 */
final class Node {
    private static final int IN_FLIGHT = 256;

    private final Cache<String, String> cache;

    private Node(Cache<String, String> cache) {
        this.cache = cache;
    }

    public static void main(String[] arguments) throws IOException {
        GlobalConfigurationBuilder global = GlobalConfigurationBuilder.defaultClusteredBuilder();
        global.transport().clusterName("teak").nodeName(arguments[0])
                .addProperty("configurationFile", "three-nodes.xml");
        global.globalState().enable().persistentLocation(arguments[1])
                .uncleanShutdownAction(UncleanShutdownAction.IGNORE);
        global.jmx().disable();
        ConfigurationBuilder builder = new ConfigurationBuilder();
        builder.clustering().cacheMode(CacheMode.DIST_SYNC).hash().numOwners(2).numSegments(60);
        builder.clustering().stateTransfer().timeout(60_000);
        builder.memory().maxCount(50).whenFull(EvictionStrategy.REMOVE);
        builder.persistence().addStore(TeakStoreConfigurationBuilder.class);
        try (DefaultCacheManager manager = new DefaultCacheManager(global.build())) {
            manager.defineConfiguration("entries", builder.build());
            Node node = new Node(manager.getCache("entries"));
            System.out.println("=ready");
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in, UTF_8));
            for (String line; (line = input.readLine()) != null; ) {
                System.out.println("=" + node.answer(line.split(" ")));
            }
            endSoon();
        }
    }

    /** Ends the process if the cache does not stop: a killed test leaves no process. */
    private static void endSoon() {
        Thread thread = new Thread(() -> {
            try {
                Thread.sleep(50_000);
            } catch (InterruptedException early) {
                // Ends now.
            }
            Runtime.getRuntime().halt(1);
        });
        thread.setDaemon(true);
        thread.start();
    }

    private Object answer(String[] words) {
        return switch (words[0]) {
            case "put" -> put(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
            case "get" -> get(Integer.parseInt(words[1]));
            case "owned" -> owned(Integer.parseInt(words[1]));
            case "stored" -> stored();
            case "members" -> members();
            case "shutdown" -> {
                cache.shutdown();
                yield 0;
            }
            default -> "unknown command " + words[0];
        };
    }

    private static String key(int number) {
        return "key" + number;
    }

    /** Puts the entries from one number to below another; returns how many were put. */
    private int put(int from, int to) {
        ArrayDeque<CompletableFuture<?>> writes = new ArrayDeque<>();
        for (int i = from; i < to; i++) {
            writes.add(cache.putAsync(key(i), "value" + i));
            if (writes.size() == IN_FLIGHT) {
                writes.remove().join();
            }
        }
        writes.forEach(CompletableFuture::join);
        return to - from;
    }

    /** How many of the entries below a number are there, with their values. */
    private int get(int to) {
        ArrayDeque<CompletableFuture<Boolean>> reads = new ArrayDeque<>();
        int found = 0;
        for (int i = 0; i < to; i++) {
            String expected = "value" + i;
            reads.add(cache.getAsync(key(i)).thenApply(expected::equals));
            if (reads.size() == IN_FLIGHT) {
                found += reads.remove().join() ? 1 : 0;
            }
        }
        for (CompletableFuture<Boolean> read : reads) {
            found += read.join() ? 1 : 0;
        }
        return found;
    }

    /** How many of the entries below a number this node has to store. */
    private int owned(int to) {
        LocalizedCacheTopology topology =
                cache.getAdvancedCache().getDistributionManager().getCacheTopology();
        int owned = 0;
        for (int i = 0; i < to; i++) {
            owned += topology.getDistribution(key(i)).isWriteOwner() ? 1 : 0;
        }
        return owned;
    }

    /** How many entries the store of this node has. */
    private long stored() {
        int segments = cache.getCacheConfiguration().clustering().hash().numSegments();
        return TestingUtil.getFirstStoreWait(cache).sizeWait(IntSets.immutableRangeSet(segments));
    }

    /** How many members the cache has; 0 while entries are being moved. */
    private int members() {
        LocalizedCacheTopology topology =
                cache.getAdvancedCache().getDistributionManager().getCacheTopology();
        return topology.getPendingCH() == null ? topology.getMembers().size() : 0;
    }
}
