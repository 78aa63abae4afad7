package teak.infinispan;

import org.infinispan.commons.configuration.io.ConfigurationReader;
import org.infinispan.configuration.parsing.CacheParser;
import org.infinispan.configuration.parsing.ConfigurationBuilderHolder;
import org.infinispan.configuration.parsing.ConfigurationParser;
import org.infinispan.configuration.parsing.Namespace;
import org.infinispan.configuration.parsing.ParseUtils;
import org.infinispan.configuration.parsing.Parser;

/** Reads {@code <teak-store>} in a configuration file. */
@Namespace(root = "teak-store")
@Namespace(uri = TeakStoreConfigurationParser.NAMESPACE + "*", root = "teak-store", since = "16.0")
public class TeakStoreConfigurationParser implements ConfigurationParser {
    static final String NAMESPACE = Parser.NAMESPACE + "store:teak:";

    @Override
    public void readElement(ConfigurationReader reader, ConfigurationBuilderHolder holder) {
        if (!TeakStoreConfiguration.Element.TEAK_STORE.toString().equals(reader.getLocalName())) {
            throw ParseUtils.unexpectedElement(reader);
        }
        TeakStoreConfigurationBuilder builder = holder.getCurrentConfigurationBuilder()
                .persistence().addStore(TeakStoreConfigurationBuilder.class);
        for (int i = 0; i < reader.getAttributeCount(); i++) {
            ParseUtils.requireNoNamespaceAttribute(reader, i);
            readAttribute(reader, i, builder);
        }
        while (reader.inTag()) {
            CacheParser.parseStoreElement(reader, builder);
        }
    }

    private static void readAttribute(
            ConfigurationReader reader, int index, TeakStoreConfigurationBuilder builder) {
        String name = reader.getAttributeName(index);
        String value = reader.getAttributeValue(index);
        var attribute = TeakStoreConfiguration.Attribute.of(name);
        if (attribute == null) {
            CacheParser.parseStoreAttribute(reader, index, builder);
            return;
        }
        switch (attribute) {
            case PATH -> builder.path(value);
            case SYNC_WRITES -> builder.syncWrites(ParseUtils.parseBoolean(reader, index, value));
            case SCAN_CHUNK -> builder.scanChunk(ParseUtils.parseInt(reader, index, value));
            case PAGE_SIZE -> builder.pageSize(ParseUtils.parseInt(reader, index, value));
            case VERIFY_ALWAYS ->
                    builder.verifyAlways(ParseUtils.parseBoolean(reader, index, value));
        }
    }

    @Override
    public Namespace[] getNamespaces() {
        return ParseUtils.getNamespaceAnnotations(getClass());
    }
}
