package teak.voldemort;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.commons.io.FileUtils;

/**
 * Runs Voldemort's performance tool in local mode with Teak and with Voldemort's own engines, in
 * turns, and prints operations a second: medians, and the medians of Teak's ratio to the others.
 * Each pass is a process of its own, which loads records and then makes 95 % reads and 5 %
 * read-and-writes.
 *
 * <p>{@code java ... teak.voldemort.Performance [PASSES]}. Properties of this program that begin
 * with {@code teak.} are passed on.
 */
public final class Performance {
    private static final int PASSES = 5;
    private static final int THREADS = 4;
    private static final Pattern THROUGHPUT =
            Pattern.compile("\\[(warmup|benchmark)]\\s+Throughput\\(ops/sec\\): ([0-9.]+)");

    /** An engine with its settings. */
    private record Engine(String name, String configuration, String settings) {
    }

    /** Engines that make the same promise, the first of which is Teak. */
    private record Comparison(String promise, int records, int operations, List<Engine> engines) {
    }

    private static final String TEAK = "teak.voldemort.TeakStorageConfiguration";
    private static final String BDB = "voldemort.store.bdb.BdbStorageConfiguration";
    private static final String ROCKSDB = "voldemort.store.rocksdb.RocksDbStorageConfiguration";

    private static final List<Comparison> COMPARISONS = List.of(
            new Comparison("not synced", 100_000, 200_000, List.of(
                    new Engine("Teak", TEAK, "teak.write.sync=false"),
                    new Engine("BDB", BDB, ""),
                    new Engine("RocksDB", ROCKSDB, ""))),
            new Comparison("each write durable", 10_000, 40_000, List.of(
                    new Engine("Teak", TEAK, "teak.write.sync=true"),
                    new Engine("BDB", BDB,
                            "bdb.write.transactions=true\nbdb.flush.transactions=true"))));

    private Performance() {
    }

    public static void main(String[] arguments) throws Exception {
        int passes = arguments.length > 0 ? Integer.parseInt(arguments[0]) : PASSES;
        System.out.println("| work | value | engine | load | 95/5 | Teak to it: load | 95/5 |");
        System.out.println("|---|---|---|---|---|---|---|");
        for (Comparison comparison : COMPARISONS) {
            for (int valueBytes : new int[] {80, 1024}) {
                compare(comparison, valueBytes, passes);
            }
        }
    }

    private static void compare(Comparison comparison, int valueBytes, int passes)
            throws Exception {
        // By engine, and then by pass: operations a second of both phases.
        List<List<double[]>> all = new ArrayList<>();
        comparison.engines().forEach(engine -> all.add(new ArrayList<>()));
        for (int pass = 0; pass < passes; pass++) {
            for (int at = 0; at < all.size(); at++) {
                all.get(at).add(measure(comparison, comparison.engines().get(at), valueBytes));
            }
        }
        List<double[]> teak = all.get(0);
        for (int at = 0; at < all.size(); at++) {
            List<double[]> other = all.get(at);
            System.out.printf(Locale.ROOT, "| %,d and %,d, %s | %d B | %s | %,.0f | %,.0f |",
                    comparison.records(), comparison.operations(), comparison.promise(), valueBytes,
                    comparison.engines().get(at).name(), median(other, null, 0),
                    median(other, null, 1));
            System.out.println(at == 0 ? " | |" : String.format(Locale.ROOT, " %.2f | %.2f |",
                    median(teak, other, 0), median(teak, other, 1)));
        }
    }

    /** The median of a phase, or of its ratios to the same passes of another engine. */
    private static double median(List<double[]> passes, List<double[]> others, int phase) {
        double[] sorted = new double[passes.size()];
        for (int pass = 0; pass < sorted.length; pass++) {
            double other = others == null ? 1 : others.get(pass)[phase];
            sorted[pass] = passes.get(pass)[phase] / other;
        }
        java.util.Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private static double[] measure(Comparison comparison, Engine engine, int valueBytes)
            throws IOException, InterruptedException {
        Path directory = Files.createTempDirectory("teak-performance");
        try {
            Path properties = directory.resolve("server.properties");
            Files.writeString(properties, "node.id=0\n" + engine.settings() + "\n");
            List<String> command = new ArrayList<>(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-cp", System.getProperty("java.class.path"),
                    "-Djava.io.tmpdir=" + directory));
            if (Runtime.version().feature() >= 22) {
                command.add("--enable-native-access=ALL-UNNAMED");
            }
            System.getProperties().stringPropertyNames().stream()
                    .filter(name -> name.startsWith("teak."))
                    .forEach(name -> command.add("-D" + name + "=" + System.getProperty(name)));
            command.addAll(List.of("voldemort.performance.benchmark.Benchmark",
                    "--storage-configuration-class", engine.configuration(),
                    "--local-server-properties", properties.toString(),
                    "--record-count", Integer.toString(comparison.records()),
                    "--ops-count", Integer.toString(comparison.operations()),
                    "--threads", Integer.toString(THREADS),
                    "--value-size", Integer.toString(valueBytes),
                    "-r", "95", "-m", "5"));
            Path output = directory.resolve("output");
            Process process = new ProcessBuilder(command).redirectErrorStream(true)
                    .redirectOutput(output.toFile()).start();
            int status = process.waitFor();
            String text = Files.readString(output);
            double[] found = {0, 0};
            Matcher matcher = THROUGHPUT.matcher(text);
            while (matcher.find()) {
                found[matcher.group(1).equals("warmup") ? 0 : 1] =
                        Double.parseDouble(matcher.group(2));
            }
            if (found[0] == 0 || found[1] == 0) {
                throw new IOException(engine.name() + " ended with " + status + ":\n" + text);
            }
            return found;
        } finally {
            FileUtils.deleteQuietly(directory.toFile());
        }
    }
}
