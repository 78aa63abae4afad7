package teak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The examples of the documentation. */
class ExampleTest {
    @TempDir
    Path directory;

    @Test
    void the_example_of_the_readme_runs() {
        List<String> lines = new ArrayList<>();
        try (Database database = Database.open(directory.resolve("people.teak"))) {
            database.writing(txn -> {
                var ages = txn.table("ages").typed(Codecs.utf8(), Codecs.int64());
                ages.put("Ada", 36L);
                ages.put("Grace", 85L);
            });
            database.reading(txn -> txn.table("ages").typed(Codecs.utf8(), Codecs.int64()).asMap()
                    .forEach((name, age) -> lines.add(name + ": " + age)));
        }
        assertEquals(List.of("Ada: 36", "Grace: 85"), lines);
        assertTrue(Files.exists(directory.resolve("people.teak")));
    }
}
