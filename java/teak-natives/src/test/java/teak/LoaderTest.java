package teak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import teak.internal.Calls;
import teak.internal.NativeLibrary;

/** Where the native library comes from, in virtual machines of their own. */
class LoaderTest {
    @TempDir
    Path directory;

    /** Opens a database, and prints where the library is. */
    public static final class Program {
        public static void main(String[] arguments) {
            Database.openInMemory().close();
            try {
                System.out.println(NativeLibrary.load());
            } catch (UnsatisfiedLinkError noFile) {
                System.out.println("in memory");
            }
        }
    }

    /** Opens a database in two class loaders, which both write, and prints what the second reads. */
    public static final class TwoLoaders {
        public static void main(String[] arguments) throws Exception {
            for (int i = 0; i < 2; i++) {
                URL[] places = Stream.of(System.getProperty("java.class.path").split(":"))
                        .map(place -> Path.of(place).toUri())
                        .map(LoaderTest::url)
                        .toArray(URL[]::new);
                // Neither is closed: the database stays open.
                var loader = new URLClassLoader(places, ClassLoader.getPlatformClassLoader());
                loader.loadClass(Writing.class.getName()).getMethod("write", String.class)
                        .invoke(null, arguments[0]);
            }
        }
    }

    /** A part of the program, in a class loader of its own. */
    public static final class Writing {
        private static Database database;

        public static void write(String path) {
            database = Database.open(Path.of(path));
            database.writing(txn -> txn.table("t").put(new byte[] {(byte) size()}, new byte[1]));
            System.out.println(size() + " records");
        }

        private static long size() {
            try (ReadTxn txn = database.beginRead()) {
                Table table = txn.tableIfExists("t");
                return table == null ? 0 : table.size();
            }
        }
    }

    private static URL url(URI uri) {
        try {
            return uri.toURL();
        } catch (MalformedURLException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private static String natives() {
        return System.getProperty("teak.natives");
    }

    /** The last line that the program prints, with the given options of Java. */
    private String run(boolean isInJar, Map<String, String> environment, String... options)
            throws IOException, InterruptedException {
        return run(isInJar ? natives() : "", environment, options);
    }

    /** The output of the program with another directory or jar on the class path. */
    private static String run(String natives, Map<String, String> environment, String... options)
            throws IOException, InterruptedException {
        return run(Program.class, List.of(), natives, environment, options);
    }

    private static String run(Class<?> program, List<String> arguments, String natives,
            Map<String, String> environment, String... options)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(options));
        String classes = System.getProperty("java.class.path");
        command.addAll(List.of("-cp", classes + File.pathSeparator + natives));
        command.add(program.getName());
        command.addAll(arguments);
        return run(command, environment);
    }

    private static String run(List<String> command, Map<String, String> environment)
            throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes());
        process.waitFor();
        return output.strip();
    }

    /** The same with the classes, and perhaps the library, on the module path. */
    private String runModule(String nativesPath, String natives)
            throws IOException, InterruptedException {
        String module = place(Database.class);
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-Dteak.extract.dir=" + directory);
        boolean isModule = nativesPath.equals("-p");
        command.addAll(List.of("-p", isModule ? module + File.pathSeparator + natives : module));
        command.addAll(isModule
                ? List.of("--add-modules", "teak.natives")
                : List.of(nativesPath, natives));
        command.addAll(List.of("--patch-module", "teak=" + place(Program.class)));
        command.addAll(List.of("-m", "teak/" + Program.class.getName()));
        return run(command, Map.of());
    }

    private static String place(Class<?> type) {
        return Path.of(URI.create(
                type.getProtectionDomain().getCodeSource().getLocation().toString())).toString();
    }

    /** A jar such as that of the package. */
    private String jar() throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putValue("Automatic-Module-Name", "teak.natives");
        Path jar = directory.resolve("natives.jar");
        Path library = Path.of(library());
        try (var stream = new JarOutputStream(Files.newOutputStream(jar), manifest)) {
            stream.putNextEntry(
                    new ZipEntry(Path.of(natives()).relativize(library).toString()));
            Files.copy(library, stream);
            Path sum = library.resolveSibling("libteak_java.so.sha256");
            stream.putNextEntry(new ZipEntry(Path.of(natives()).relativize(sum).toString()));
            Files.copy(sum, stream);
        }
        return jar.toString();
    }

    private static String last(String output) {
        return output.substring(output.lastIndexOf('\n') + 1);
    }

    private static String library() throws IOException {
        try (var files = Files.walk(Path.of(natives()))) {
            return files.filter(path -> path.endsWith("libteak_java.so")).findFirst().orElseThrow()
                    .toString();
        }
    }

    @Test
    void a_property_names_the_file_or_its_directory() throws Exception {
        String file = library();
        String parent = Path.of(file).getParent().toString();
        assertEquals(file, last(run(false, Map.of(), "-Dteak.library.path=" + file)));
        assertEquals(file, last(run(false, Map.of(), "-Dteak.library.path=" + parent)));
        assertEquals(file, last(run(true, Map.of(), "-Djava.library.path=/nowhere:" + parent)));
    }

    @Test
    void the_library_of_the_jar_is_extracted_once_for_this_user_only() throws Exception {
        String option = "-Dteak.extract.dir=" + directory.resolve("new");
        Path first = Path.of(last(run(true, Map.of(), option)));
        assertTrue(first.startsWith(directory), first.toString());
        assertEquals("rwx------", PosixFilePermissions.toString(
                Files.getPosixFilePermissions(first.getParent())));
        var time = Files.getLastModifiedTime(first);
        assertEquals(first.toString(), last(run(true, Map.of(), option)));
        assertEquals(time, Files.getLastModifiedTime(first));
        Files.writeString(first, "damaged");
        assertEquals(first.toString(), last(run(true, Map.of(), option)));
    }

    @Test
    void the_library_is_found_from_the_module_path() throws Exception {
        String start = directory.resolve("teak-").toString();
        String onModulePath = last(runModule("-p", jar()));
        assertTrue(onModulePath.startsWith(start), onModulePath);
        String onClassPath = last(runModule("-cp", natives()));
        assertTrue(onClassPath.startsWith(start), onClassPath);
    }

    @Test
    void two_class_loaders_use_a_database_at_the_same_time() throws Exception {
        for (String calls : List.of("ffm", "jni")) {
            String path = directory.resolve(calls + ".teak").toString();
            String extracted = directory.resolve(calls).toString();
            String output = run(TwoLoaders.class, List.of(path), natives(), Map.of(),
                    "-Dteak.calls=" + calls, "-Dteak.extract.dir=" + extracted);
            assertTrue(output.endsWith("1 records\n2 records"), output);
            try (var copies = Files.walk(Path.of(extracted))) {
                assertEquals(1, copies.filter(Files::isRegularFile).count());
            }
            output = run(TwoLoaders.class, List.of(path + "2"), "", Map.of(),
                    "-Dteak.calls=" + calls, "-Dteak.library.path=" + library());
            boolean isFfm = calls.equals("ffm") && Calls.CALLS.mode().equals("FFM");
            assertTrue(output.contains(isFfm ? "2 records" : "another class loader"), output);
        }
    }

    @Test
    void a_damaged_library_is_not_loaded() throws Exception {
        Path library = Path.of(library());
        Path damaged = directory.resolve(Path.of(natives()).relativize(library));
        Files.createDirectories(damaged.getParent());
        byte[] content = Files.readAllBytes(library);
        content[content.length / 2] ^= 1;
        Files.write(damaged, content);
        String option = "-Dteak.extract.dir=" + directory.resolve("extracted");
        for (String calls : List.of("-Dteak.calls=ffm", "-Dteak.calls=jni")) {
            String alone = run(directory.toString(), Map.of(), option, calls);
            assertTrue(alone.contains("there is no file beside it"), alone);
        }
        Files.copy(library.resolveSibling("libteak_java.so.sha256"),
                damaged.resolveSibling("libteak_java.so.sha256"));
        for (String calls : List.of("-Dteak.calls=ffm", "-Dteak.calls=jni")) {
            String refused = run(directory.toString(), Map.of(), option, calls);
            assertTrue(refused.contains("is damaged: get it again"), refused);
        }
        assertFalse(Files.exists(directory.resolve("extracted")));
    }

    @Test
    void the_owner_of_the_copy_needs_no_name() throws Exception {
        String option = "-Dteak.extract.dir=" + directory;
        String first = last(run(true, Map.of(), option));
        assertEquals(first, last(run(true, Map.of(), option, "-Duser.name=?")));
    }

    @Test
    void a_link_to_another_directory_is_not_followed() throws Exception {
        String option = "-Dteak.extract.dir=" + directory;
        Path copy = Path.of(last(run(true, Map.of(), option))).getParent();
        Path moved = Files.move(copy, directory.resolve("moved"));
        Files.createSymbolicLink(copy, moved);
        String linked = run(true, Map.of(), option, "-Dteak.calls=jni");
        assertTrue(linked.contains("remove it"), linked);
    }

    @Test
    void the_next_directory_is_tried_if_one_cannot_be_used() throws Exception {
        Path file = Files.writeString(directory.resolve("file"), "");
        String found = last(run(true, Map.of("XDG_CACHE_HOME", file.toString()),
                "-Djava.io.tmpdir=" + directory));
        assertTrue(found.startsWith(directory.resolve("teak-").toString()), found);
    }

    @Test
    void errors_say_what_to_do() throws Exception {
        String none = run(false, Map.of());
        assertTrue(none.contains("set -Dteak.library.path"), none);
        String missing = run(true, Map.of(), "-Dteak.library.path=/nowhere");
        assertTrue(missing.contains("there is no file /nowhere"), missing);
        Path file = Files.writeString(directory.resolve("file"), "");
        String nowhere = "-Dteak.extract.dir=" + file.resolve("below");
        String byJni = run(true, Map.of(), nowhere, "-Dteak.calls=jni");
        assertTrue(byJni.contains("set -Dteak.extract.dir"), byJni);
        if (Runtime.version().feature() >= 22) {
            assertEquals("in memory", last(run(true, Map.of(), nowhere)));
        }
        Path open = Files.createDirectory(directory.resolve("open"));
        String extracted = last(run(true, Map.of(), "-Dteak.extract.dir=" + open));
        Files.setPosixFilePermissions(Path.of(extracted).getParent(),
                PosixFilePermissions.fromString("rwxrwxrwx"));
        String shared = run(true, Map.of(), "-Dteak.extract.dir=" + open, "-Dteak.calls=jni");
        assertTrue(shared.contains("remove it"), shared);
    }
}
