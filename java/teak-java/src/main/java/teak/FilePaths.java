package teak;

import java.io.ByteArrayOutputStream;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import teak.internal.Scratch;

/** Paths of files, as the native library takes them. */
final class FilePaths {
    private FilePaths() {}

    /**
     * The bytes of an absolute path. They are those that the system has, in any locale: the text of
     * a path may have lost some of them.
     */
    static byte[] bytes(Path path) {
        if (path.getFileSystem() != FileSystems.getDefault()) {
            throw new IllegalArgumentException("the path " + path + " is one of the file system \""
                    + path.getFileSystem().provider().getScheme() + "\", and a database is a file of"
                    + " the system; copy it to one with Files.copy, or read its bytes with"
                    + " Options.openBytes");
        }
        String text = path.toUri().getRawPath();
        // A slash is added to directories.
        int length = text.length() > 1 && text.endsWith("/") ? text.length() - 1 : text.length();
        var bytes = new ByteArrayOutputStream(length);
        for (int i = 0; i < length; i++) {
            if (text.charAt(i) == '%') {
                bytes.write(Integer.parseInt(text, i + 1, i + 3, 16));
                i += 2;
            } else {
                bytes.write(text.charAt(i));
            }
        }
        return bytes.toByteArray();
    }

    /** Stores a path and a zero at {@link Scratch#DATA}. */
    static void put(Scratch scratch, byte[] path) {
        scratch.buffer().put(scratch.put(Scratch.DATA, path), (byte) 0);
    }
}
