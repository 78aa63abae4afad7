package teak.infinispan;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.testng.AssertJUnit.assertEquals;
import static org.testng.AssertJUnit.assertTrue;
import static org.testng.AssertJUnit.fail;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

import org.infinispan.commons.util.Util;
import org.testng.annotations.AfterMethod;
import org.testng.annotations.BeforeMethod;
import org.testng.annotations.Test;

/** A cluster of three processes loses nothing when one of them at a time is killed. */
@Test(groups = "functional", testName = "teak.infinispan.ThreeNodesTest")
public class ThreeNodesTest {
    private static final int ENTRIES = 10_000;
    private static final long DEADLINE_MILLIS = 60_000;
    /** How long a node may take to answer. Then the test fails, and does not hang. */
    private static final long ANSWER_SECONDS = 120;
    private static final long TEST_MILLIS = 600_000;
    private static final int STARTS = 3;
    /** A node uses its port and those from this far above it on. */
    private static final int SECOND_PORT = 100;
    private static final int SECOND_PORTS = 11;

    private final Child[] nodes = new Child[3];
    private Path directory;
    private int[] ports;

    @BeforeMethod
    void start() throws IOException, InterruptedException {
        directory = Files.createTempDirectory("three-nodes");
        for (int start = 1; ; start++) {
            ports = freePorts();
            try {
                startAll();
                return;
            } catch (AssertionError failure) {
                // Another program may have taken a port meanwhile.
                if (start == STARTS) {
                    throw failure;
                }
                System.out.println("start " + start + " failed: " + failure);
                killAll();
            }
        }
    }

    private void startAll() throws IOException, InterruptedException {
        for (int node = 0; node < nodes.length; node++) {
            nodes[node] = new Child(node);
        }
        for (Child node : nodes) {
            node.awaitReady();
        }
        awaitMembers(0, 1, 2);
    }

    @AfterMethod(alwaysRun = true)
    void stop() throws InterruptedException {
        killAll();
        Util.recursiveFileRemove(directory);
    }

    private void killAll() throws InterruptedException {
        for (Child node : nodes) {
            if (node != null) {
                node.kill();
            }
        }
    }

    @Test(timeOut = TEST_MILLIS)
    public void nothingIsLostWhenOneNodeAtATimeIsKilled() throws Exception {
        assertEquals(ENTRIES, nodes[0].ask("put 0 " + ENTRIES));
        assertCounts(ENTRIES, 0, 1, 2);

        nodes[2].kill();
        assertEquals(ENTRIES, nodes[0].ask("get " + ENTRIES));
        awaitMembers(0, 1);
        assertEquals(ENTRIES, nodes[1].ask("put " + ENTRIES + " " + 2 * ENTRIES));
        assertCounts(2 * ENTRIES, 0, 1);

        nodes[2] = new Child(2);
        nodes[2].awaitReady();
        awaitMembers(0, 1, 2);
        assertCounts(2 * ENTRIES, 0, 1, 2);

        nodes[0].kill();
        assertEquals(2 * ENTRIES, nodes[1].ask("get " + 2 * ENTRIES));
        assertEquals(2 * ENTRIES, nodes[2].ask("get " + 2 * ENTRIES));
        awaitMembers(1, 2);
        assertCounts(2 * ENTRIES, 1, 2);
    }

    @Test(timeOut = TEST_MILLIS)
    public void anOrderlyShutdownOfAllNodesKeepsAllEntries() throws Exception {
        assertEquals(ENTRIES, nodes[0].ask("put 0 " + ENTRIES));
        nodes[1].ask("shutdown");
        for (Child node : nodes) {
            node.stop();
        }
        startAll();
        assertCounts(ENTRIES, 0, 1, 2);
        assertEquals(ENTRIES, nodes[2].ask("get " + ENTRIES));
    }

    /** Checks that the stores have all entries twice, and each node those that it owns. */
    private void assertCounts(int entries, int... live) throws Exception {
        long all = 0;
        for (int node : live) {
            long owned = nodes[node].ask("owned " + entries);
            long stored = nodes[node].ask("stored");
            long limit = System.currentTimeMillis() + DEADLINE_MILLIS;
            // Entries of segments that a node gave up are removed in the background.
            while (stored != owned && System.currentTimeMillis() < limit) {
                Thread.sleep(100);
                stored = nodes[node].ask("stored");
            }
            System.out.println("node " + node + " stores " + stored + " of " + entries);
            assertEquals("entries of node " + node, owned, stored);
            all += stored;
        }
        assertEquals("copies of entries", 2L * entries, all);
    }

    private void awaitMembers(int... live) throws InterruptedException {
        long limit = System.currentTimeMillis() + DEADLINE_MILLIS;
        for (int node : live) {
            while (nodes[node].ask("members") != live.length) {
                if (System.currentTimeMillis() > limit) {
                    fail("node " + node + " does not see " + live.length + " members");
                }
                Thread.sleep(50);
            }
        }
    }

    /** Ports that are free now, below those that the system gives to connections. */
    private static int[] freePorts() throws IOException {
        int first = 1 << 14;
        int[] ports = new int[3];
        List<ServerSocket> held = new ArrayList<>();
        try {
            for (int i = 0; i < ports.length; ) {
                int port = ThreadLocalRandom.current()
                        .nextInt(first, firstOfConnections() - SECOND_PORT - SECOND_PORTS);
                if (hold(port, 1, held) && hold(port + SECOND_PORT, SECOND_PORTS, held)) {
                    ports[i++] = port;
                }
            }
        } finally {
            for (ServerSocket socket : held) {
                socket.close();
            }
        }
        return ports;
    }

    private static int firstOfConnections() throws IOException {
        String range = Files.readString(Path.of("/proc/sys/net/ipv4/ip_local_port_range"));
        int first = Integer.parseInt(range.strip().split("\\s+")[0]);
        // If the system gives them all to connections, a start may fail and is repeated.
        return first > 20_000 ? first : 1 << 15;
    }

    /** Whether these ports are free. They are taken until the sockets are closed. */
    private static boolean hold(int first, int count, List<ServerSocket> held) throws IOException {
        for (int port = first; port < first + count; port++) {
            try {
                held.add(new ServerSocket(port, 1, InetAddress.getLoopbackAddress()));
            } catch (BindException taken) {
                return false;
            }
        }
        return true;
    }

    /** A node in a process of its own. */
    private final class Child {
        private final Process process;
        private final PrintStream input;
        /** Its answers, and an empty line at its end. */
        private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

        Child(int node) throws IOException {
            List<String> command = new ArrayList<>(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                    "-Djava.net.preferIPv4Stack=true",
                    "-Dnode.port=" + ports[node],
                    "-Dnode.hosts=" + "127.0.0.1[%d],127.0.0.1[%d],127.0.0.1[%d]".formatted(
                            ports[0], ports[1], ports[2])));
            if (Runtime.version().feature() >= 22) {
                command.add("--enable-native-access=ALL-UNNAMED");
            }
            System.getProperties().stringPropertyNames().stream()
                    .filter(name -> name.startsWith("teak.")
                            || name.equals("java.util.logging.config.file"))
                    .forEach(name -> command.add("-D" + name + "=" + System.getProperty(name)));
            command.addAll(List.of("-cp", System.getProperty("java.class.path"),
                    Node.class.getName(), "node" + node,
                    directory.resolve("node" + node).toString()));
            process = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            input = new PrintStream(process.getOutputStream(), true, UTF_8);
            Thread reader = new Thread(this::read);
            reader.setDaemon(true);
            reader.start();
        }

        private void read() {
            try (BufferedReader output = process.inputReader(UTF_8)) {
                output.lines().filter(line -> line.startsWith("=")).forEach(answers::add);
            } catch (IOException | UncheckedIOException killed) {
                // The node has ended, as after its last line.
            } finally {
                answers.add("");
            }
        }

        void awaitReady() {
            assertEquals("ready", answer());
        }

        long ask(String question) {
            input.println(question);
            return Long.parseLong(answer());
        }

        private String answer() {
            try {
                String line = answers.poll(ANSWER_SECONDS, TimeUnit.SECONDS);
                assertTrue("the node does not answer", line != null);
                assertTrue("the node ended", !line.isEmpty());
                return line.substring(1);
            } catch (InterruptedException interrupted) {
                throw new AssertionError("the test takes too long", interrupted);
            }
        }

        /** Lets the node end by itself. */
        void stop() throws InterruptedException {
            input.close();
            assertTrue("the node does not end", process.waitFor(60, TimeUnit.SECONDS));
        }

        void kill() throws InterruptedException {
            process.destroyForcibly();
            assertTrue("the node does not die", process.waitFor(60, TimeUnit.SECONDS));
        }
    }
}
