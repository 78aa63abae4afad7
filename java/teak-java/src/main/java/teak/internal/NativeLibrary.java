package teak.internal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;

/**
 * Finds and loads the native library: where {@code teak.library.path} says (the file or its
 * directory), in {@code java.library.path}, or from the jar {@code teak-natives}. From the jar it
 * is copied to a directory: {@code teak.extract.dir}, the user's cache directory, or that for
 * temporary files; the first from which the system allows to load it.
 *
 * <p>A class loader cannot load a file that another one of the same virtual machine has loaded. So
 * with JNI, each further loader of these classes gets a copy of its own from the jar. With the
 * foreign function interface they share the library.
 */
public final class NativeLibrary {
    private static final String NAME = "libteak_java.so";
    private static final String RULES =
            "set -Dteak.library.path to " + NAME + " or its directory, or add the jar teak-natives"
                    + " for this system to the class path";

    private static final String OTHER_LOADER = "already loaded in another classloader";

    /** Loads a file, or throws an {@link UnsatisfiedLinkError}. */
    interface Loader {
        void load(String path);
    }

    private static String loadedFrom;

    private NativeLibrary() {}

    /** Loads the library for JNI, unless it is loaded, and returns where it is. */
    public static String load() {
        return load(System::load);
    }

    /** Loads the library, once, and returns where it is. */
    static synchronized String load(Loader loader) {
        if (loadedFrom == null) {
            loadedFrom = find(loader);
        }
        return loadedFrom;
    }

    private static String find(Loader loader) {
        String wanted = System.getProperty("teak.library.path", "");
        if (!wanted.isEmpty()) {
            Path path = Path.of(wanted).toAbsolutePath();
            return loadFile(Files.isDirectory(path) ? path.resolve(NAME) : path, loader);
        }
        for (String directory : System.getProperty("java.library.path", "").split(":")) {
            Path path = Path.of(directory).toAbsolutePath().resolve(NAME);
            if (!directory.isEmpty() && Files.isRegularFile(path)) {
                return loadFile(path, loader);
            }
        }
        return fromJar(loader);
    }

    private static String loadFile(Path path, Loader loader) {
        if (!Files.isRegularFile(path)) {
            throw new UnsatisfiedLinkError("there is no file " + path + "; " + RULES);
        }
        try {
            loader.load(path.toString());
        } catch (UnsatisfiedLinkError failure) {
            if (!isOfOtherLoader(failure)) {
                throw failure;
            }
            throw linkError("another class loader of this virtual machine has loaded " + path
                    + " for JNI; use Java 22 or later without -Dteak.calls=jni, or the jar"
                    + " teak-natives instead of a path, or load teak-java in a common parent of"
                    + " both class loaders", failure);
        }
        return path.toString();
    }

    private static boolean isOfOtherLoader(UnsatisfiedLinkError failure) {
        return String.valueOf(failure.getMessage()).contains(OTHER_LOADER);
    }

    /** The name of this system in the jar, such as {@code linux-x86_64}. */
    static String platform() {
        String system = System.getProperty("os.name", "").toLowerCase(Locale.ROOT);
        String machine = System.getProperty("os.arch", "").toLowerCase(Locale.ROOT);
        String architecture = switch (machine) {
            case "amd64", "x86_64" -> "x86_64";
            case "arm64", "aarch64" -> "aarch64";
            default -> machine;
        };
        boolean isMusl = system.equals("linux")
                && Files.exists(Path.of("/lib/ld-musl-" + architecture + ".so.1"))
                && !Files.exists(Path.of("/lib64/ld-linux-x86-64.so.2"))
                && !Files.exists(Path.of("/lib/ld-linux-aarch64.so.1"));
        return system + "-" + architecture + (isMusl ? "-musl" : "");
    }

    /** The content of the library in the jar, as it was built; null if there is no such jar. */
    static byte[] content() {
        String resource = "META-INF/native/" + platform() + "/" + NAME;
        byte[] content = read(resource);
        if (content == null) {
            return null;
        }
        // As sha256sum writes it: the hash, spaces, and the name of the file.
        byte[] sum = read(resource + ".sha256");
        String wanted = sum == null ? "" : new String(sum, StandardCharsets.UTF_8).split("\\s", 2)[0];
        String found = hash(content);
        if (!found.equals(wanted)) {
            throw new UnsatisfiedLinkError("the SHA-256 of " + resource + " is " + found
                    + (sum == null
                            ? ", and there is no file beside it with the one that it should have"
                            : ", and should be " + wanted)
                    + "; the jar teak-natives is damaged: get it again, or " + RULES);
        }
        return content;
    }

    private static byte[] read(String resource) {
        ClassLoader loader = NativeLibrary.class.getClassLoader();
        try (InputStream stream = loader.getResourceAsStream(resource)) {
            return stream == null ? null : stream.readAllBytes();
        } catch (IOException failure) {
            throw linkError("cannot read " + resource + " from its jar", failure);
        }
    }

    private static String fromJar(Loader loader) {
        byte[] content = content();
        if (content == null) {
            throw new UnsatisfiedLinkError(
                    "no native library for " + platform() + " is on the class path; " + RULES);
        }
        String directory = "teak-" + hash(content).substring(0, 32);
        List<String> failures = new ArrayList<>();
        for (Path parent : directories()) {
            try {
                return loadCopy(extract(parent.resolve(directory), content), content, loader);
            } catch (IOException | UnsatisfiedLinkError failure) {
                failures.add(parent + ": " + failure.getMessage());
            }
        }
        throw new UnsatisfiedLinkError("the native library could not be loaded from any directory ("
                + String.join("; ", failures)
                + "); set -Dteak.extract.dir to a directory on a file system that is not mounted"
                + " noexec, or -Dteak.library.path to an extracted library");
    }

    /** Loads an extracted library, or a further copy of it if another class loader has that one. */
    private static String loadCopy(Path path, byte[] content, Loader loader) throws IOException {
        try {
            loader.load(path.toString());
            return path.toString();
        } catch (UnsatisfiedLinkError failure) {
            if (!isOfOtherLoader(failure)) {
                throw failure;
            }
        }
        Path copy = Files.createTempFile(path.getParent(), NAME, null);
        try {
            Files.write(copy, content);
            loader.load(copy.toString());
        } finally {
            // The system keeps the content while the library is loaded.
            Files.delete(copy);
        }
        return copy.toString();
    }

    private static List<Path> directories() {
        List<Path> directories = new ArrayList<>();
        String wanted = System.getProperty("teak.extract.dir");
        if (wanted != null) {
            return List.of(Path.of(wanted).toAbsolutePath());
        }
        String cache = System.getenv("XDG_CACHE_HOME");
        String home = System.getProperty("user.home");
        if (cache != null && cache.startsWith("/")) {
            directories.add(Path.of(cache));
        } else if (home != null && home.startsWith("/")) {
            directories.add(Path.of(home, ".cache"));
        }
        directories.add(Path.of(System.getProperty("java.io.tmpdir")).toAbsolutePath());
        return directories;
    }

    /** Copies the library to a directory that only this user can write, unless it is there. */
    private static Path extract(Path directory, byte[] content) throws IOException {
        Files.createDirectories(directory.getParent());
        var privately =
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
        try {
            Files.createDirectory(directory, privately);
        } catch (FileAlreadyExistsException earlier) {
            checkPrivate(directory);
        }
        Path path = directory.resolve(NAME);
        if (!Files.isRegularFile(path) || !Arrays.equals(Files.readAllBytes(path), content)) {
            Path copy = Files.createTempFile(directory, NAME, null, privately);
            Files.write(copy, content);
            Files.move(copy, path, StandardCopyOption.ATOMIC_MOVE);
        }
        return path;
    }

    private static void checkPrivate(Path directory) throws IOException {
        var found = Files.readAttributes(
                directory, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        String permissions = PosixFilePermissions.toString(found.permissions());
        if (!found.isDirectory() || !permissions.endsWith("------") || !isOwn(directory, found)) {
            throw new IOException(directory + " belongs to " + found.owner()
                    + " with the permissions " + permissions
                    + ", and must be a directory of this user only; remove it");
        }
    }

    /** Whether a new file in a directory has its owner. Names of users may be missing or wrong. */
    private static boolean isOwn(Path directory, PosixFileAttributes found) throws IOException {
        Path file = Files.createTempFile(directory, NAME, null);
        try {
            return Files.getOwner(file).equals(found.owner());
        } finally {
            Files.delete(file);
        }
    }

    private static String hash(byte[] content) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
        } catch (NoSuchAlgorithmException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private static UnsatisfiedLinkError linkError(String text, Throwable cause) {
        UnsatisfiedLinkError error = new UnsatisfiedLinkError(text + ": " + cause.getMessage());
        error.initCause(cause);
        return error;
    }
}
