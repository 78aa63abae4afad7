package teak.hosted;

import teak.Options;

/**
 * How the file of a store is opened.
 *
 * @param createIfMissing whether a missing file is created
 * @param errorIfExists whether opening fails if there is a file
 * @param verifyAlways whether a page is compared with its checksum at every read, not only once
 * @param pageSizeBytes the page size of a new file; 0 for the default
 * @param compression of a new file: empty for none, {@code lz4}, or {@code zstd} and its level
 * @param writeMemoryBytes how much changed data a transaction keeps in memory; 0 for the default
 */
public record FileOptions(boolean createIfMissing, boolean errorIfExists, boolean verifyAlways,
        int pageSizeBytes, String compression, long writeMemoryBytes) {

    /** The defaults. */
    public static final FileOptions DEFAULT = new FileOptions(true, false, false, 0, "", 0);

    private static final int LEAST_PAGE = 4096;
    private static final int MOST_PAGE = 65536;

    static FileOptions from(Settings settings) {
        FileOptions otherwise = DEFAULT;
        int page = settings.integer("blocksize", LEAST_PAGE, MOST_PAGE, 0);
        if (Integer.bitCount(page) > 1) {
            throw new IllegalArgumentException("blocksize is " + page + "; it becomes the page "
                    + "size of new files: give a power of two from " + LEAST_PAGE + " to "
                    + MOST_PAGE);
        }
        return new FileOptions(
                settings.flag("createifmissing", otherwise.createIfMissing),
                settings.flag("errorifexists", otherwise.errorIfExists),
                settings.flag("paranoidchecks", false)
                        || settings.flag("read.verifychecksums", false),
                page,
                settings.compression("compressiontype"),
                (long) settings.integer("writebuffer.size", 1, 1 << 20, 0) << 20);
    }

    Options options() {
        Options options = Options.create().createIfMissing(createIfMissing)
                .verifyAlways(verifyAlways);
        if (pageSizeBytes > 0) {
            options.pageSize(pageSizeBytes);
        }
        if (compression.equals("lz4")) {
            options.lz4();
        } else if (!compression.isEmpty()) {
            options.zstd(Integer.parseInt(compression.substring("zstd".length())));
        }
        if (writeMemoryBytes > 0) {
            options.writeMemory(writeMemoryBytes);
        }
        return options;
    }
}
