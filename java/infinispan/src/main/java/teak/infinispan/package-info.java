/** A store for Infinispan. Begin with {@link teak.infinispan.TeakStoreConfigurationBuilder}. */
package teak.infinispan;
