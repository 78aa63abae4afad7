package teak;

/**
 * A damage that a check has found.
 *
 * @param page the page, or -1 if it is not in a page
 * @param table the name of the table, or an empty text
 * @param detail a description
 */
public record Damage(long page, String table, String detail) {}
