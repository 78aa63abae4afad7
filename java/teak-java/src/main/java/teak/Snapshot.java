package teak;

import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * A state that is kept under a name.
 *
 * @param name the name
 * @param commit the number of the commit that made the state
 * @param time when that was
 * @param keptPages pages that would be free if nothing kept this state
 */
public record Snapshot(String name, long commit, Instant time, long keptPages) {
    static Snapshot read(Listing listing) {
        long commit = listing.number();
        Instant time = Instant.EPOCH.plus(listing.number(), ChronoUnit.MICROS);
        long keptPages = listing.number();
        return new Snapshot(listing.text(), commit, time, keptPages);
    }
}
