package teak.infinispan;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.testng.AssertJUnit.assertEquals;
import static org.testng.AssertJUnit.assertTrue;
import static org.testng.AssertJUnit.fail;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
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

    private final Child[] nodes = new Child[3];
    private Path directory;
    private int[] ports;

    @BeforeMethod
    void start() throws IOException, InterruptedException {
        directory = Files.createTempDirectory("three-nodes");
        ports = freePorts();
        startAll();
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
        for (Child node : nodes) {
            if (node != null) {
                node.kill();
            }
        }
        Util.recursiveFileRemove(directory);
    }

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

    /** Ports that are free now: a node uses one, and the one 100 above it. */
    private static int[] freePorts() throws IOException {
        List<ServerSocket> sockets = new ArrayList<>();
        int[] ports = new int[3];
        for (int i = 0; i < ports.length; i++) {
            ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
            sockets.add(socket);
            ports[i] = socket.getLocalPort();
        }
        for (ServerSocket socket : sockets) {
            socket.close();
        }
        return ports;
    }

    /** A node in a process of its own. */
    private final class Child {
        private final Process process;
        private final PrintStream input;
        private final BufferedReader output;

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
            output = process.inputReader(UTF_8);
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
                String line = output.readLine();
                while (line != null && !line.startsWith("=")) {
                    line = output.readLine();
                }
                assertTrue("the node ended", line != null);
                return line.substring(1);
            } catch (IOException failure) {
                throw new AssertionError(failure);
            }
        }

        /** Lets the node end by itself. */
        void stop() throws InterruptedException {
            input.close();
            assertTrue("the node does not end", process.waitFor(60, TimeUnit.SECONDS));
        }

        void kill() throws InterruptedException {
            process.destroyForcibly();
            process.waitFor();
        }
    }
}
