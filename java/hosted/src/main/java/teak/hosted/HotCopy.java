package teak.hosted;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.UUID;

import teak.Database;
import teak.Options;

/**
 * Copies of a store that is in use. A copy is a database of its own: to restore it, copy it to
 * where the store was. Its name has the time in UTC, so names sort by age, and a store that was
 * created anew does not meet the copies of the old one.
 */
final class HotCopy {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("uuuuMMdd'T'HHmmss.SSSSSSSSS'Z'").withZone(ZoneOffset.UTC);

    private HotCopy() {}

    /**
     * Copies the newest state into a directory, which is created if needed.
     *
     * @param verify whether every page of the copy is checked
     * @return the copy
     */
    static Path write(Database database, Path directory, String name, boolean verify) {
        try {
            Files.createDirectories(directory);
            Path unfinished = directory.resolve(name + ".unfinished-" + UUID.randomUUID());
            try {
                database.backup(unfinished, false);
                if (verify) {
                    verify(unfinished);
                }
                Path copy = directory.resolve(name + "-" + TIME.format(Instant.now()) + ".teak");
                Files.move(unfinished, copy);
                try (FileChannel names = FileChannel.open(directory, StandardOpenOption.READ)) {
                    names.force(true);
                }
                return copy;
            } finally {
                Files.deleteIfExists(unfinished);
            }
        } catch (IOException failure) {
            throw new UncheckedIOException("cannot copy the store " + name + " to " + directory
                    + "; check that the directory can be written", failure);
        }
    }

    private static void verify(Path copy) {
        try (Database database = Options.create().readOnly(true).open(copy)) {
            if (!database.check().isSound()) {
                throw new IllegalStateException("the copy " + copy + " is damaged; check the store "
                        + "itself with `teak check`");
            }
        }
    }
}
