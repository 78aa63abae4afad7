package teak.infinispan;

import static org.testng.AssertJUnit.assertEquals;
import static org.testng.AssertJUnit.assertFalse;
import static org.testng.AssertJUnit.assertTrue;
import static org.testng.Assert.expectThrows;

import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import javax.xml.parsers.DocumentBuilderFactory;

import org.infinispan.commons.CacheConfigurationException;
import org.infinispan.configuration.cache.ConfigurationBuilder;
import org.infinispan.configuration.cache.StoreConfiguration;
import org.infinispan.configuration.parsing.ConfigurationBuilderHolder;
import org.infinispan.configuration.parsing.ParserRegistry;
import org.testng.annotations.Test;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** The store is configured by a file or by a program. */
@Test(groups = "unit", testName = "teak.infinispan.TeakStoreConfigurationTest")
public class TeakStoreConfigurationTest {
    private static TeakStoreConfiguration parse(String store) {
        String text = """
                <infinispan>
                  <cache-container>
                    <global-state>
                      <persistent-location path="data"/>
                    </global-state>
                    <local-cache name="orders">
                      <persistence>%s</persistence>
                    </local-cache>
                  </cache-container>
                </infinispan>
                """.formatted(store);
        ConfigurationBuilderHolder holder = new ParserRegistry().parse(text);
        StoreConfiguration configuration = holder.getNamedConfigurationBuilders().get("orders")
                .build().persistence().stores().get(0);
        return (TeakStoreConfiguration) configuration;
    }

    public void everyAttributeIsReadFromAFile() {
        TeakStoreConfiguration configuration = parse("""
                <teak-store xmlns="urn:infinispan:config:store:teak:16.0" path="orders"
                    sync-writes="true" scan-chunk="10" page-size="16384" verify-always="true"
                    preload="true" segmented="false"/>""");
        assertEquals("orders", configuration.path());
        assertTrue(configuration.syncWrites());
        assertEquals(10, configuration.scanChunk());
        assertEquals(16384, configuration.pageSize());
        assertTrue(configuration.verifyAlways());
        assertTrue(configuration.preload());
        assertFalse(configuration.segmented());
    }

    public void everyAttributeHasADefault() {
        TeakStoreConfiguration configuration = parse("<teak-store/>");
        assertEquals(null, configuration.path());
        assertFalse(configuration.syncWrites());
        assertEquals(256, configuration.scanChunk());
        assertTrue(configuration.segmented());
    }

    public void theSchemaHasTheAttributesThatAreRead() throws Exception {
        try (InputStream schema = TeakStore.class.getResourceAsStream(
                "/schema/teak-store-config-16.0.xsd")) {
            NodeList attributes = DocumentBuilderFactory.newInstance().newDocumentBuilder()
                    .parse(schema).getElementsByTagName("xs:attribute");
            List<String> names = new ArrayList<>();
            for (int i = 0; i < attributes.getLength(); i++) {
                names.add(((Element) attributes.item(i)).getAttribute("name"));
            }
            assertEquals(Stream.of(TeakStoreConfiguration.Attribute.values())
                    .map(Object::toString).toList(), names);
        }
    }

    public void anUnknownAttributeIsRefused() {
        expectThrows(RuntimeException.class, () -> parse("<teak-store pth=\"orders\"/>"));
    }

    public void impossibleValuesAreRefusedByName() {
        assertRefused("scan-chunk is 0", new ConfigurationBuilder().persistence()
                .addStore(TeakStoreConfigurationBuilder.class).path("data").scanChunk(0));
        assertRefused("page-size is 5000", new ConfigurationBuilder().persistence()
                .addStore(TeakStoreConfigurationBuilder.class).path("data").pageSize(5000));
    }

    private static void assertRefused(String expected, TeakStoreConfigurationBuilder builder) {
        String message =
                expectThrows(CacheConfigurationException.class, builder::build).getMessage();
        assertTrue(message, message.contains(expected));
    }
}
