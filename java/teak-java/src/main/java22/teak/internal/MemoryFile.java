package teak.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;

/** A file that exists in memory only, from which the native library can be loaded. */
final class MemoryFile {
    private MemoryFile() {}

    /** Returns the path of a new file, which stays open for ever. */
    static String create(byte[] content) {
        Linker linker = Linker.nativeLinker();
        MemorySegment function = linker.defaultLookup().find("memfd_create").orElseThrow();
        var arguments = FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT);
        try (Arena arena = Arena.ofConfined()) {
            int descriptor = (int) linker.downcallHandle(function, arguments)
                    .invokeExact(arena.allocateFrom("libteak_java.so"), 0);
            if (descriptor < 0) {
                throw new UnsatisfiedLinkError("the system has no file in memory for the native"
                        + " library; set -Dteak.extract.dir to a directory on a file system that"
                        + " is not mounted noexec");
            }
            Path path = Path.of("/proc/self/fd", Integer.toString(descriptor));
            Files.write(path, content);
            return path.toString();
        } catch (IOException failure) {
            throw new UnsatisfiedLinkError("cannot write to a file in memory: " + failure);
        } catch (RuntimeException | Error failure) {
            throw failure;
        } catch (Throwable impossible) {
            throw new AssertionError(impossible);
        }
    }
}
