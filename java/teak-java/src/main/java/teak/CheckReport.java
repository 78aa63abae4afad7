package teak;

import java.util.ArrayList;
import java.util.List;

/**
 * What a check has found.
 *
 * @param pages pages of the file
 * @param tables tables that were checked
 * @param records records of all tables
 * @param damages all damages
 * @param unknownTables tables that only a newer version can check
 * @param unorderedTables tables of which the order of keys could not be checked
 */
public record CheckReport(
        long pages,
        long tables,
        long records,
        List<Damage> damages,
        long unknownTables,
        long unorderedTables) {
    static final int CORRUPTED = 38;

    /**
     * Whether there is no damage.
     *
     * @return whether the file is sound
     */
    public boolean isSound() {
        return damages.isEmpty();
    }

    static CheckReport of(long[] numbers, Listing listing) {
        List<Damage> damages = new ArrayList<>();
        while (listing.hasMore()) {
            damages.add(new Damage(listing.number(), listing.text(), listing.text()));
        }
        return new CheckReport(numbers[0], numbers[1], numbers[2], List.copyOf(damages),
                numbers[4], numbers[5]);
    }
}
