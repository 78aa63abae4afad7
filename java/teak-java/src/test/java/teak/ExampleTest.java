package teak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The examples of the documentation. */
class ExampleTest {
    private static final Pattern BLOCK =
            Pattern.compile("^```java\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);

    @TempDir
    Path directory;

    /** The blocks of Java in a page. */
    private static List<String> blocks(String page) throws Exception {
        Path path = Path.of("../..").resolve(page);
        assumeTrue(Files.exists(path), "the repository is not here");
        return BLOCK.matcher(Files.readString(path)).results()
                .map(block -> block.group(1))
                .collect(Collectors.toList());
    }

    /** Compiles and runs statements after imports. Returns what they print. */
    private List<String> run(String block, String furtherImports) throws Exception {
        String imports = block.lines()
                .filter(line -> line.startsWith("import "))
                .collect(Collectors.joining("\n"));
        String statements = block.lines()
                .filter(line -> !line.startsWith("import "))
                .collect(Collectors.joining("\n"))
                .replace("Path.of(\"", "Path.of(\"" + directory + "/");
        Path source = directory.resolve("Example.java");
        Files.writeString(source, furtherImports + imports
                + "\npublic class Example {\npublic static void main(String[] arguments) {\n"
                + statements + "\n}\n}\n");
        String classPath = System.getProperty("java.class.path");
        int failures = ToolProvider.getSystemJavaCompiler().run(null, null, null,
                "-proc:none", "-cp", classPath, "-d", directory.toString(), source.toString());
        assertEquals(0, failures);
        var output = new ByteArrayOutputStream();
        PrintStream standard = System.out;
        System.setOut(new PrintStream(output, true));
        try (var loader = new URLClassLoader(new URL[] {directory.toUri().toURL()})) {
            loader.loadClass("Example").getMethod("main", String[].class)
                    .invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(standard);
        }
        return output.toString().lines().collect(Collectors.toList());
    }

    @Test
    void the_example_of_the_guide_runs() throws Exception {
        List<String> blocks = blocks("docs/java.md");
        assertEquals(1, blocks.size());
        assertEquals(List.of("36", "Grace: 85"), run(blocks.get(0), ""));
    }

    @Test
    void the_example_of_the_readme_runs() throws Exception {
        List<String> blocks = blocks("README.md");
        assertEquals(1, blocks.size());
        String imports = "import java.nio.file.Path;\nimport teak.*;\n";
        assertEquals(List.of("Ada: 36", "Grace: 85"), run(blocks.get(0), imports));
        assertTrue(Files.exists(directory.resolve("people.teak")));
    }
}
