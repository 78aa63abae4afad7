package teak;

/**
 * Counts of a database.
 *
 * @param fileBytes length of the file
 * @param pageSize the size of a page in bytes
 * @param pageCount pages of the newest state
 * @param usedPages pages in use
 * @param freePages pages that are free
 * @param pendingPages pages that older states may still see
 * @param transaction the newest commit that readers see
 * @param durableTransaction the newest commit that is on the disk
 * @param tableCount the number of tables
 * @param readers read transactions that are open in this process
 * @param maxKeyLength the longest key in bytes
 */
public record DatabaseStat(
        long fileBytes,
        long pageSize,
        long pageCount,
        long usedPages,
        long freePages,
        long pendingPages,
        long transaction,
        long durableTransaction,
        long tableCount,
        long readers,
        long maxKeyLength) {
    static DatabaseStat of(long[] n) {
        return new DatabaseStat(
                n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10]);
    }
}
