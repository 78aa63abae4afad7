package teak;

/**
 * What a process has done since it opened a database. A transaction is counted when it commits.
 *
 * @param commits commits that changed something
 * @param deferredCommits of these, the ones that were written together with others
 * @param flushes flushes that succeeded; commits share them
 * @param flushedBytes bytes that these brought to the disk
 * @param takenPages pages that commits have taken
 * @param copiedPages of these, the ones that replaced a page of an earlier state
 * @param deadPages pages of earlier states that commits do not use any more
 * @param reclaimedPages pages that no state uses any more
 * @param earlyPages leaves that were written before their commit
 * @param splits pages added to trees because others were full
 * @param merges pages whose contents were moved to a neighbour
 * @param largeValues values that were written to pages of their own
 */
public record Metrics(
        long commits,
        long deferredCommits,
        long flushes,
        long flushedBytes,
        long takenPages,
        long copiedPages,
        long deadPages,
        long reclaimedPages,
        long earlyPages,
        long splits,
        long merges,
        long largeValues) {
    static Metrics of(long[] n) {
        return new Metrics(
                n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11]);
    }
}
