package teak;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import teak.internal.Calls;
import teak.internal.Scratch;

/** What both kinds of transactions do with tables. */
final class Tables {
    private static final Calls CALLS = Calls.CALLS;
    private static final int TABLE_NOT_FOUND = 53;
    private static final int TABLE_MISMATCH = 55;

    private Tables() {}

    static <T> T found(T table, String name) {
        if (table == null) {
            throw new NotFoundException(TABLE_NOT_FOUND,
                    "no table is named \"" + name + "\"; a write transaction creates tables");
        }
        return table;
    }

    /** The number of a table of any kind, or 0 if there is none. */
    static long openAny(TxnCore core, String name) {
        byte[] bytes = bytes(name);
        Scratch scratch = core.take();
        try {
            scratch.ensure(bytes.length);
            scratch.put(Scratch.DATA, bytes);
            int code = CALLS.tableOpen(core.handle(), scratch.at(Scratch.DATA), bytes.length,
                    scratch.out(0), scratch.error());
            return Codes.check(code, scratch) ? scratch.number(0) : 0;
        } finally {
            core.give(scratch);
        }
    }

    /** The number of a table, or 0 if there is none. */
    static long open(TxnCore core, String name, boolean isMulti) {
        long number = openAny(core, name);
        if (number == 0) {
            return 0;
        }
        if (isMulti(core, number) != isMulti) {
            throw new ExistsException(TABLE_MISMATCH, "the table \"" + name + "\" has "
                    + (isMulti ? "one value" : "several values") + " for each key; open it with "
                    + (isMulti ? "table" : "multiTable"));
        }
        return number;
    }

    private static boolean isMulti(TxnCore core, long number) {
        Boolean known = core.db.areMulti.get(number);
        if (known != null) {
            return known;
        }
        Scratch scratch = core.take();
        try {
            boolean isMulti = stat(core, number, scratch, 8) != 0;
            core.db.areMulti.put(number, isMulti);
            return isMulti;
        } finally {
            core.give(scratch);
        }
    }

    /** A number of a {@code teak_table_stat}. */
    static long stat(TxnCore core, long number, Scratch scratch, int index) {
        scratch.buffer().putLong(Scratch.OUT, 72);
        int code = CALLS.tableStat(
                core.handle(), number, scratch.at(Scratch.OUT), scratch.error());
        Codes.check(code, scratch);
        return scratch.number(index);
    }

    static byte[] bytes(String name) {
        return Objects.requireNonNull(name, "name").getBytes(StandardCharsets.UTF_8);
    }

    static long id(TxnCore core) {
        Scratch scratch = core.take();
        try {
            int code = CALLS.id(core.handle(), scratch.out(0), scratch.error());
            Codes.check(code, scratch);
            return scratch.number(0);
        } finally {
            core.give(scratch);
        }
    }

    static List<String> names(TxnCore core) {
        Listing listing = Listing.read((buffer, room, used, error) ->
                CALLS.tables(core.handle(), buffer, room, used, error));
        List<String> names = new ArrayList<>();
        while (listing.hasMore()) {
            listing.number();
            names.add(listing.text());
        }
        return List.copyOf(names);
    }
}
