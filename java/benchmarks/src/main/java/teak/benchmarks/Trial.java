package teak.benchmarks;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/** A database in a directory of its own, which is deleted afterwards. */
final class Trial implements AutoCloseable {
    final Engine<?> engine;
    private final Path directory;

    Trial(String name, Data data) throws Exception {
        directory = Files.createTempDirectory("java-bench");
        engine = Engine.open(name, directory, data);
    }

    @Override
    public void close() throws IOException {
        engine.close();
        Files.walkFileTree(directory, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                    throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path visited, IOException failure)
                    throws IOException {
                Files.delete(visited);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
