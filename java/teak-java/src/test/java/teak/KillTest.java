package teak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A virtual machine is killed while its threads write. */
class KillTest {
    private static final int THREADS = 4;

    @TempDir
    Path directory;

    /** Writes numbers, and prints those whose commits have been acknowledged. */
    public static final class Writer {
        public static void main(String[] arguments) {
            // Closed by nobody.
            Database database = Database.open(Path.of(arguments[0]));
            AtomicLong next = new AtomicLong(Long.parseLong(arguments[1]));
            for (int i = 0; i < THREADS; i++) {
                boolean isByStage = i % 2 == 0;
                new Thread(() -> write(database, next, isByStage)).start();
            }
        }

        private static void write(Database database, AtomicLong next, boolean isByStage) {
            while (true) {
                long number = next.getAndIncrement();
                WriteTxn txn = database.beginWrite();
                txn.table("numbers").set(Codecs.int64().encode(number), new byte[100]);
                if (isByStage) {
                    txn.commit(Durability.ASYNC).asStage().toCompletableFuture().join();
                } else {
                    txn.commit();
                }
                System.out.println(number);
            }
        }
    }

    private static Process start(Path path, long first) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (String name : List.of("teak.library.path", "teak.calls")) {
            command.add("-D" + name + "=" + System.getProperty(name, ""));
        }
        command.addAll(List.of("-Xmx64m", "-cp", System.getProperty("java.class.path")));
        command.addAll(List.of(Writer.class.getName(), path.toString(), "" + first));
        return new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    @Test
    void acknowledged_commits_survive_the_death_of_the_virtual_machine() throws Exception {
        int kills = Integer.getInteger("teak.kills", 3);
        long seed = Long.getLong("teak.seed", System.nanoTime());
        Random random = new Random(seed);
        Path path = directory.resolve("x.teak");
        List<Long> acknowledged = new ArrayList<>();
        for (int kill = 0; kill < kills; kill++) {
            Process process = start(path, 1_000_000L * kill);
            int before = acknowledged.size();
            try (var output = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
                acknowledged.add(Long.parseLong(output.readLine()));
                Thread killer = new Thread(() -> {
                    try {
                        Thread.sleep(random.nextInt(300));
                    } catch (InterruptedException early) {
                        // Kills now.
                    }
                    // A handle leaves the rest of the output to be read.
                    process.toHandle().destroyForcibly();
                });
                killer.start();
                read(output, acknowledged);
                killer.join();
            }
            assertEquals(137, process.waitFor());
            assertTrue(acknowledged.size() > before);
            try (Database database = Database.open(path); ReadTxn txn = database.beginRead()) {
                assertTrue(database.check().isSound());
                Table table = txn.table("numbers");
                for (long number : acknowledged) {
                    assertTrue(table.contains(Codecs.int64().encode(number)),
                            () -> number + " is lost, seed " + seed);
                }
            }
        }
        System.out.println("killed " + kills + " virtual machines, " + acknowledged.size()
                + " acknowledged commits were found");
    }

    /** Whole lines, until the process is dead. */
    private static void read(BufferedReader output, List<Long> acknowledged) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = output.read(); next >= 0; next = output.read()) {
            if (next == '\n') {
                acknowledged.add(Long.parseLong(line.toString()));
                line.setLength(0);
            } else {
                line.append((char) next);
            }
        }
    }
}
