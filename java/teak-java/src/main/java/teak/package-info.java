/**
 * Teak, an embedded ordered transactional key-value store.
 *
 * <p>Begin with {@link teak.Database}. Transactions, tables, scans and cursors throw {@link
 * teak.ClosedException} after their end, whatever the order in which things are closed.
 */
package teak;
