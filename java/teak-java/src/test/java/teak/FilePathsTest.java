package teak;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FilePathsTest {
    @TempDir
    Path directory;

    @Test
    void paths_of_other_file_systems_are_refused() throws Exception {
        URI uri = URI.create("jar:" + directory.resolve("x.zip").toUri());
        try (FileSystem zip = FileSystems.newFileSystem(uri, Map.of("create", "true"));
                Database database = Database.openInMemory()) {
            Path path = zip.getPath(directory.resolve("x.teak").toString());
            var refused =
                    assertThrows(IllegalArgumentException.class, () -> Database.open(path));
            assertTrue(refused.getMessage().contains("\"jar\""), refused.getMessage());
            assertThrows(IllegalArgumentException.class, () -> database.backup(path, false));
        }
        assertFalse(Files.exists(directory.resolve("x.teak")));
    }

    /** The path has a byte that is not UTF-8, such as a path in Latin-1. */
    @Test
    void the_bytes_of_paths_are_those_of_the_system() {
        for (String name : new String[] {"%FC%20+%25.teak", "%C3%BC.teak"}) {
            Path path = Path.of(URI.create(directory.toUri() + name));
            Database.open(path).close();
            assertTrue(Files.isRegularFile(path), name);
            try (Database database = Database.openInMemory()) {
                Path copy = Path.of(URI.create(directory.toUri() + "copy" + name));
                database.backup(copy, false);
                assertTrue(Files.isRegularFile(copy), name);
            }
        }
    }

    @Test
    void a_path_may_be_relative_and_may_be_a_directory() {
        String name = directory.getFileName() + "/a b;c?d#e";
        byte[] bytes = FilePaths.bytes(Path.of(name));
        String expected = Path.of(name).toAbsolutePath().toString();
        assertArrayEquals(expected.getBytes(StandardCharsets.UTF_8), bytes);
        bytes = FilePaths.bytes(directory);
        assertEquals(directory.toString(), new String(bytes, StandardCharsets.UTF_8));
        assertEquals("/", new String(FilePaths.bytes(Path.of("/")), StandardCharsets.UTF_8));
        assertThrows(OpenException.class, () -> Database.open(directory));
    }
}
