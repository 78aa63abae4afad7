package teak.voldemort;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.apache.commons.io.FileUtils;

import voldemort.client.ClientConfig;
import voldemort.client.SocketStoreClientFactory;
import voldemort.client.StoreClient;
import voldemort.client.protocol.admin.AdminClient;
import voldemort.cluster.Cluster;
import voldemort.cluster.Node;
import voldemort.routing.RoutingStrategy;
import voldemort.routing.RoutingStrategyFactory;
import voldemort.store.StoreDefinition;
import voldemort.utils.ByteArray;
import voldemort.xml.ClusterMapper;
import voldemort.xml.StoreDefinitionsMapper;

/**
 * Three processes of Voldemort that keep each record twice. One is killed, others take its writes
 * as hints, it returns, and then its disk is lost and restored. Prints what each node has, and
 * fails if that is not what it has to have.
 *
 * <p>Voldemort listens on all addresses, so run this where only the loopback interface exists:
 * {@code unshare -rn sh -c 'ip link set lo up; exec java ... teak.voldemort.ThreeNodes CONFIG
 * DIR'}. A third argument {@code bdb} runs Voldemort's own engine, for comparison, and does not
 * fail.
 */
public final class ThreeNodes implements AutoCloseable {
    private static final int NODES = 3;
    private static final int RECORDS = Integer.getInteger("teak.nodes.records", 10_000);
    private static final int VICTIM = 1;
    private static final String STORE = "test";
    private static final String BOOTSTRAP = "tcp://localhost:6666";

    private final Path directory;
    private final String engine;
    private final Process[] nodes = new Process[NODES];
    private final Cluster cluster;
    private final StoreDefinition definition;

    private ThreeNodes(Path config, Path directory, String engine) throws IOException {
        this.directory = directory;
        this.engine = engine;
        FileUtils.copyDirectory(config.toFile(), directory.toFile());
        if (!engine.equals("teak")) {
            useEngine();
        }
        Path first = directory.resolve("node_0/config");
        cluster = new ClusterMapper().readCluster(first.resolve("cluster.xml").toFile());
        String store = Files.readString(first.resolve("STORES/" + STORE));
        definition = new StoreDefinitionsMapper().readStoreList(
                new java.io.StringReader("<stores>" + store + "</stores>")).get(0);
    }

    /** Runs Voldemort's own engine instead, with its defaults. */
    private void useEngine() throws IOException {
        for (int node = 0; node < NODES; node++) {
            Path config = directory.resolve("node_" + node + "/config");
            replace(config.resolve("STORES/" + STORE), ">teak<", ">" + engine + "<");
            replace(config.resolve("server.properties"), "teak.voldemort.TeakStorageConfiguration",
                    "voldemort.store.bdb.BdbStorageConfiguration");
            replace(config.resolve("server.properties"), "engine=teak", "engine=" + engine);
        }
    }

    private static void replace(Path file, String old, String other) throws IOException {
        Files.writeString(file, Files.readString(file).replace(old, other));
    }

    public static void main(String[] arguments) throws Exception {
        String engine = arguments.length > 2 ? arguments[2] : "teak";
        boolean isComplete;
        try (ThreeNodes test =
                new ThreeNodes(Path.of(arguments[0]), Path.of(arguments[1]), engine)) {
            isComplete = test.run();
        }
        System.out.println(engine + ": " + (isComplete ? "nothing was lost" : "records were lost"));
        System.exit(isComplete || !engine.equals("teak") ? 0 : 1);
    }

    private boolean run() throws Exception {
        for (int node = 0; node < NODES; node++) {
            start(node);
        }
        put(0, RECORDS);
        boolean isComplete = report("loaded", RECORDS);

        kill(VICTIM);
        isComplete &= get("one node killed", RECORDS);
        put(RECORDS, 2 * RECORDS);
        start(VICTIM);
        isComplete &= report("the node has returned, and hints were replayed", 2 * RECORDS);

        kill(VICTIM);
        FileUtils.deleteDirectory(directory.resolve("node_" + VICTIM + "/data").toFile());
        start(VICTIM);
        System.out.println("its disk was replaced: node " + VICTIM + " has "
                + stored(VICTIM) + " records");
        long began = System.nanoTime();
        try (Admin admin = new Admin()) {
            admin.client.restoreOps.restoreDataFromReplications(VICTIM, 2);
        }
        System.out.printf("restored in %.1f s%n", (System.nanoTime() - began) / 1e9);
        isComplete &= report("restored", 2 * RECORDS);
        kill(0);
        isComplete &= get("another node killed", 2 * RECORDS);
        return isComplete;
    }

    private StoreClient<String, String> client(SocketStoreClientFactory factory) {
        return factory.getStoreClient(STORE);
    }

    private static SocketStoreClientFactory factory() {
        return new SocketStoreClientFactory(new ClientConfig()
                .setBootstrapUrls(BOOTSTRAP, "tcp://localhost:6670")
                .setEnableJmx(false)
                .setConnectionTimeout(2, TimeUnit.SECONDS)
                .setSocketTimeout(5, TimeUnit.SECONDS)
                .setRoutingTimeout(20, TimeUnit.SECONDS));
    }

    private void put(int from, int to) {
        SocketStoreClientFactory factory = factory();
        StoreClient<String, String> client = client(factory);
        for (int i = from; i < to; i++) {
            client.put("key" + i, "value" + i);
        }
        factory.close();
        System.out.println("put " + (to - from) + " records");
    }

    private boolean get(String title, int to) {
        SocketStoreClientFactory factory = factory();
        StoreClient<String, String> client = client(factory);
        int found = 0;
        for (int i = 0; i < to; i++) {
            found += ("value" + i).equals(client.getValue("key" + i)) ? 1 : 0;
        }
        factory.close();
        System.out.println(title + ": read " + found + " of " + to);
        return found == to;
    }

    /** Waits until each node has what it has to have, at most a minute; prints what it has. */
    private boolean report(String title, int records) throws InterruptedException {
        int[] expected = expected(records);
        int[] stored = new int[NODES];
        boolean isComplete = false;
        for (int second = 0; second < 60 && !isComplete; second++) {
            Thread.sleep(1000);
            isComplete = true;
            for (int node = 0; node < NODES; node++) {
                stored[node] = stored(node);
                isComplete &= stored[node] == expected[node];
            }
        }
        System.out.println(title + ":");
        for (int node = 0; node < NODES; node++) {
            System.out.println("  node " + node + " has " + stored[node] + " of " + expected[node]);
        }
        return isComplete;
    }

    private int[] expected(int records) {
        RoutingStrategy routing = routing();
        int[] expected = new int[NODES];
        for (int i = 0; i < records; i++) {
            byte[] key = ("key" + i).getBytes(StandardCharsets.UTF_8);
            for (Node node : routing.routeRequest(key)) {
                expected[node.getId()]++;
            }
        }
        return expected;
    }

    private RoutingStrategy routing() {
        return new RoutingStrategyFactory().updateRoutingStrategy(definition, cluster);
    }

    /** How many records a node has, of those that it has to have. */
    private int stored(int node) {
        List<Integer> own = cluster.getNodeById(node).getPartitionIds();
        List<Integer> partitions = IntStream.range(0, cluster.getNumberOfPartitions())
                .filter(partition -> routing().getReplicatingPartitionList(partition).stream()
                        .anyMatch(own::contains))
                .boxed().toList();
        int stored = 0;
        try (Admin admin = new Admin()) {
            Iterator<ByteArray> keys = admin.client.bulkFetchOps.fetchKeys(
                    node, STORE, new ArrayList<>(partitions), null, false);
            for (; keys.hasNext(); keys.next()) {
                stored++;
            }
        }
        return stored;
    }

    private void start(int node) throws IOException, InterruptedException {
        Path home = directory.resolve("node_" + node);
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx512m"));
        if (Runtime.version().feature() >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        System.getProperties().stringPropertyNames().stream()
                .filter(name -> name.startsWith("teak.") || name.startsWith("log4j."))
                .forEach(name -> command.add("-D" + name + "=" + System.getProperty(name)));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"),
                "voldemort.server.VoldemortServer", home.toString()));
        File log = directory.resolve("node_" + node + ".log").toFile();
        nodes[node] = new ProcessBuilder(command).redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log)).start();
        int port = cluster.getNodeById(node).getSocketPort();
        for (int attempt = 0; !answers(port); attempt++) {
            if (attempt == 600 || !nodes[node].isAlive()) {
                throw new IllegalStateException("node " + node + " does not start; see " + log);
            }
            Thread.sleep(100);
        }
    }

    private static boolean answers(int port) {
        try (java.net.Socket socket = new java.net.Socket("localhost", port)) {
            return socket.isConnected();
        } catch (IOException refused) {
            return false;
        }
    }

    private void kill(int node) throws InterruptedException {
        nodes[node].destroyForcibly().waitFor();
        System.out.println("killed node " + node);
    }

    @Override
    public void close() {
        Stream.of(nodes).filter(node -> node != null).forEach(Process::destroyForcibly);
    }

    /** A client for administration that can be closed. */
    private static final class Admin implements AutoCloseable {
        final AdminClient client = new AdminClient(
                new ClientConfig().setBootstrapUrls("tcp://localhost:6670").setEnableJmx(false));

        @Override
        public void close() {
            client.close();
        }
    }
}
