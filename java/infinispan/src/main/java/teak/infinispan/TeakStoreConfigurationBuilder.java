package teak.infinispan;

import static teak.infinispan.TeakStoreConfiguration.PAGE_SIZE;
import static teak.infinispan.TeakStoreConfiguration.PATH;
import static teak.infinispan.TeakStoreConfiguration.SCAN_CHUNK;
import static teak.infinispan.TeakStoreConfiguration.SYNC_WRITES;
import static teak.infinispan.TeakStoreConfiguration.VERIFY_ALWAYS;

import org.infinispan.commons.CacheConfigurationException;
import org.infinispan.commons.configuration.Builder;
import org.infinispan.commons.configuration.Combine;
import org.infinispan.commons.configuration.attributes.AttributeSet;
import org.infinispan.configuration.cache.AbstractStoreConfigurationBuilder;
import org.infinispan.configuration.cache.PersistenceConfigurationBuilder;
import org.infinispan.configuration.global.GlobalConfiguration;
import org.infinispan.persistence.PersistenceUtil;

/**
 * Builds the configuration of a {@link TeakStore}.
 *
 * <pre>{@code
 * builder.persistence().addStore(TeakStoreConfigurationBuilder.class).path("data");
 * }</pre>
 */
public class TeakStoreConfigurationBuilder extends AbstractStoreConfigurationBuilder<
        TeakStoreConfiguration, TeakStoreConfigurationBuilder> {

    /** Called by {@link PersistenceConfigurationBuilder#addStore(Class)}. */
    public TeakStoreConfigurationBuilder(PersistenceConfigurationBuilder builder) {
        this(builder, TeakStoreConfiguration.attributeDefinitionSet());
    }

    /** Called when a configuration is copied. */
    public TeakStoreConfigurationBuilder(
            PersistenceConfigurationBuilder builder, AttributeSet attributes) {
        super(builder, attributes);
    }

    @Override
    public TeakStoreConfigurationBuilder self() {
        return this;
    }

    /**
     * The directory below which the files of caches are. If the global state is enabled, a relative
     * one is below its persistent location, which is also the default.
     */
    public TeakStoreConfigurationBuilder path(String path) {
        attributes.attribute(PATH).set(path);
        return this;
    }

    /** Whether a write returns only when it is durable. */
    public TeakStoreConfigurationBuilder syncWrites(boolean sync) {
        attributes.attribute(SYNC_WRITES).set(sync);
        return this;
    }

    /** How many records a scan reads from one snapshot. */
    public TeakStoreConfigurationBuilder scanChunk(int records) {
        attributes.attribute(SCAN_CHUNK).set(records);
        return this;
    }

    /** The page size of new files in bytes: a power of two from 4,096 to 65,536. */
    public TeakStoreConfigurationBuilder pageSize(int bytes) {
        attributes.attribute(PAGE_SIZE).set(bytes);
        return this;
    }

    /** Whether a page is compared with its checksum at every read. */
    public TeakStoreConfigurationBuilder verifyAlways(boolean always) {
        attributes.attribute(VERIFY_ALWAYS).set(always);
        return this;
    }

    @Override
    public void validate() {
        super.validate();
        int chunk = attributes.attribute(SCAN_CHUNK).get();
        if (chunk < 1) {
            throw new CacheConfigurationException(
                    SCAN_CHUNK.name() + " is " + chunk + "; give at least 1");
        }
        int page = attributes.attribute(PAGE_SIZE).get();
        if (page != 0 && (page < 4096 || page > 65536 || Integer.bitCount(page) > 1)) {
            throw new CacheConfigurationException(PAGE_SIZE.name() + " is " + page
                    + "; give a power of two from 4096 to 65536");
        }
    }

    @Override
    public void validate(GlobalConfiguration global) {
        PersistenceUtil.validateGlobalStateStoreLocation(
                global, TeakStore.class.getSimpleName(), attributes.attribute(PATH));
        super.validate(global);
    }

    @Override
    public TeakStoreConfiguration create() {
        return new TeakStoreConfiguration(attributes.protect(), async.create());
    }

    @Override
    public Builder<?> read(TeakStoreConfiguration template, Combine combine) {
        super.read(template, combine);
        return this;
    }
}
