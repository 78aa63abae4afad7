package teak.hosted;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process that is killed loses no write that it has acknowledged, even if it was not durable. */
class KilledProcessTest {
    private static final int ROUNDS = 3;

    @TempDir
    Path directory;

    @Test
    void acknowledgedWritesSurviveAKill() throws IOException, InterruptedException {
        int acknowledged = 0;
        for (int round = 1; round <= ROUNDS; round++) {
            acknowledged = writeAndKill(acknowledged, acknowledged + 2000 * round);
            try (HostedStore store =
                    HostedStore.open(directory, "orders", StoreOptions.DEFAULT)) {
                for (int i = 0; i < acknowledged; i++) {
                    assertArrayEquals(Writer.value(i), store.get(Writer.key(i)), "record " + i);
                }
                long size = store.size();
                assertTrue(size >= acknowledged, size + " of " + acknowledged);
            }
        }
    }

    /** Kills a child when it has acknowledged this many writes; returns how many there were. */
    private int writeAndKill(int from, int least) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp", System.getProperty("java.class.path")));
        if (Runtime.version().feature() >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        System.getProperties().stringPropertyNames().stream()
                .filter(name -> name.startsWith("teak."))
                .forEach(name -> command.add("-D" + name + "=" + System.getProperty(name)));
        command.add(Writer.class.getName());
        command.add(directory.toString());
        command.add(Integer.toString(from));
        Process child = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        int acknowledged = from;
        try (BufferedReader output = child.inputReader(UTF_8)) {
            for (String line; (line = output.readLine()) != null; ) {
                assertEquals(Integer.toString(acknowledged), line);
                acknowledged++;
                if (acknowledged == least) {
                    child.toHandle().destroyForcibly();
                }
            }
        }
        child.waitFor();
        assertTrue(acknowledged >= least, "the child ended by itself after " + acknowledged);
        return acknowledged;
    }

    /** The child process. */
    static final class Writer {
        private Writer() {}

        public static void main(String[] arguments) {
            try (HostedStore store = HostedStore.open(
                    Path.of(arguments[0]), "orders", StoreOptions.DEFAULT)) {
                for (int i = Integer.parseInt(arguments[1]); i < 1_000_000; i++) {
                    store.put(key(i), value(i));
                    System.out.println(i);
                }
            }
        }

        static byte[] key(int i) {
            return Integer.toString(i).getBytes(UTF_8);
        }

        static byte[] value(int i) {
            return ("value of " + i).getBytes(UTF_8);
        }
    }
}
