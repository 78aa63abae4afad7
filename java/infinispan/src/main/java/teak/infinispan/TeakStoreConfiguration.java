package teak.infinispan;

import org.infinispan.commons.configuration.BuiltBy;
import org.infinispan.commons.configuration.ConfigurationFor;
import org.infinispan.commons.configuration.attributes.AttributeDefinition;
import org.infinispan.commons.configuration.attributes.AttributeSet;
import org.infinispan.configuration.cache.AbstractStoreConfiguration;
import org.infinispan.configuration.cache.AsyncStoreConfiguration;

import teak.hosted.FileOptions;
import teak.hosted.StoreOptions;

/** Configuration of a {@link TeakStore}, built by {@link TeakStoreConfigurationBuilder}. */
@BuiltBy(TeakStoreConfigurationBuilder.class)
@ConfigurationFor(TeakStore.class)
public class TeakStoreConfiguration extends AbstractStoreConfiguration<TeakStoreConfiguration> {
    static final AttributeDefinition<String> PATH = AttributeDefinition
            .builder(Attribute.PATH, null, String.class).immutable().global(false).build();
    static final AttributeDefinition<Boolean> SYNC_WRITES = AttributeDefinition
            .builder(Attribute.SYNC_WRITES, false).immutable().build();
    static final AttributeDefinition<Integer> SCAN_CHUNK = AttributeDefinition
            .builder(Attribute.SCAN_CHUNK, StoreOptions.DEFAULT.scanChunk()).immutable().build();
    static final AttributeDefinition<Integer> PAGE_SIZE = AttributeDefinition
            .builder(Attribute.PAGE_SIZE, 0).immutable().build();
    static final AttributeDefinition<Boolean> VERIFY_ALWAYS = AttributeDefinition
            .builder(Attribute.VERIFY_ALWAYS, false).immutable().build();

    TeakStoreConfiguration(AttributeSet attributes, AsyncStoreConfiguration async) {
        super(Element.TEAK_STORE, attributes, async);
    }

    /** The attributes and their defaults. */
    public static AttributeSet attributeDefinitionSet() {
        return new AttributeSet(TeakStoreConfiguration.class,
                AbstractStoreConfiguration.attributeDefinitionSet(),
                PATH, SYNC_WRITES, SCAN_CHUNK, PAGE_SIZE, VERIFY_ALWAYS);
    }

    /** The directory below which the files of caches are, or null for the global location. */
    public String path() {
        return attributes.attribute(PATH).get();
    }

    /** Whether a write returns only when it is durable. */
    public boolean syncWrites() {
        return attributes.attribute(SYNC_WRITES).get();
    }

    /** How many records a scan reads from one snapshot. */
    public int scanChunk() {
        return attributes.attribute(SCAN_CHUNK).get();
    }

    /** The page size of new files in bytes; 0 for the default. */
    public int pageSize() {
        return attributes.attribute(PAGE_SIZE).get();
    }

    /** Whether a page is compared with its checksum at every read. */
    public boolean verifyAlways() {
        return attributes.attribute(VERIFY_ALWAYS).get();
    }

    StoreOptions options() {
        StoreOptions otherwise = StoreOptions.DEFAULT;
        return new StoreOptions(otherwise.stripes(), otherwise.poolSize(), syncWrites(),
                scanChunk(), otherwise.lockTimeout(), true,
                new FileOptions(true, false, verifyAlways(), pageSize(), "", 0));
    }

    /** The name of the element in a configuration file. */
    enum Element {
        TEAK_STORE("teak-store");

        private final String name;

        Element(String name) {
            this.name = name;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /** The names of the attributes in a configuration file. */
    enum Attribute {
        PATH("path"),
        SYNC_WRITES("sync-writes"),
        SCAN_CHUNK("scan-chunk"),
        PAGE_SIZE("page-size"),
        VERIFY_ALWAYS("verify-always");

        private final String name;

        Attribute(String name) {
            this.name = name;
        }

        static Attribute of(String name) {
            for (Attribute attribute : values()) {
                if (attribute.name.equals(name)) {
                    return attribute;
                }
            }
            return null;
        }

        @Override
        public String toString() {
            return name;
        }
    }
}
