package teak;

/**
 * Counts of a table.
 *
 * @param records records, or pairs if keys have several values
 * @param depth levels of pages
 * @param innerPages inner pages
 * @param leafPages leaves
 * @param valuePages pages of large values, and of the values of keys that have many
 * @param changed the last commit that changed the table
 * @param sequence the next number of its sequence
 */
public record TableStat(
        long records,
        long depth,
        long innerPages,
        long leafPages,
        long valuePages,
        long changed,
        long sequence) {}
