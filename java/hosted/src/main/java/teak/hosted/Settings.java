package teak.hosted;

import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Settings from a host's properties. A value for one store wins over a global one, and that over
 * the default: {@code teak.STORE.stripes}, then {@code teak.stripes}.
 */
public final class Settings {
    private static final Pattern ZSTD = Pattern.compile("zstd(?::(\\d{1,2}))?");

    private final Map<String, String> properties;
    private final String prefix;
    private final String store;

    /**
     * @param properties all properties of the host; others than its own are ignored
     * @param prefix what the keys begin with, without the dot
     * @param store the name of the store
     */
    public Settings(Map<String, String> properties, String prefix, String store) {
        this.properties = properties;
        this.prefix = prefix;
        this.store = store;
    }

    /** A whole number from {@code least} to {@code most}. */
    public int integer(String key, int least, int most, int otherwise) {
        String name = find(key);
        if (name == null) {
            return otherwise;
        }
        String value = properties.get(name).trim();
        try {
            int number = Integer.parseInt(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException notNumber) {
            // The error below covers both cases.
        }
        throw new IllegalArgumentException(name + " is " + value + "; give a whole number from "
                + least + " to " + most);
    }

    /** {@code true} or {@code false}. */
    public boolean flag(String key, boolean otherwise) {
        String name = find(key);
        if (name == null) {
            return otherwise;
        }
        String value = properties.get(name).trim();
        if (value.equalsIgnoreCase("true") || value.equalsIgnoreCase("false")) {
            return Boolean.parseBoolean(value);
        }
        throw new IllegalArgumentException(name + " is " + value + "; give true or false");
    }

    /**
     * A compression: empty for none, {@code lz4}, or {@code zstd} and its level. LevelDB's names
     * and numbers are taken too: snappy is LZ4 here.
     */
    public String compression(String key) {
        String name = find(key);
        if (name == null) {
            return "";
        }
        String value = properties.get(name).trim().toLowerCase(Locale.ROOT);
        Matcher zstd = ZSTD.matcher(value);
        if (zstd.matches()) {
            int level = zstd.group(1) == null ? 3 : Integer.parseInt(zstd.group(1));
            if (level >= 1 && level <= 19) {
                return "zstd" + level;
            }
        }
        return switch (value) {
            case "none", "0" -> "";
            case "lz4", "snappy", "1" -> "lz4";
            default -> throw new IllegalArgumentException(name + " is " + value
                    + "; give none, lz4, zstd, or zstd:LEVEL with a level from 1 to 19");
        };
    }

    /** Whether a key is set, for the store or globally. */
    public boolean has(String key) {
        return find(key) != null;
    }

    /** Warns of each property with the prefix that ends in none of the known keys. */
    public void warnOfUnknown(Collection<String> known, Consumer<String> warn) {
        for (String name : new TreeSet<>(properties.keySet())) {
            if (name.startsWith(prefix + ".") && known.stream().noneMatch(key ->
                    name.equals(prefix + "." + key) || name.endsWith("." + key))) {
                warn.accept(name + " is unknown and has no effect. Known keys: "
                        + String.join(", ", new TreeSet<>(known)));
            }
        }
    }

    private String find(String key) {
        String ofStore = prefix + "." + store + "." + key;
        if (properties.get(ofStore) != null) {
            return ofStore;
        }
        String global = prefix + "." + key;
        return properties.get(global) != null ? global : null;
    }
}
