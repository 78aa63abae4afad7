/** A storage engine for Voldemort. Begin with {@link teak.voldemort.TeakStorageConfiguration}. */
package teak.voldemort;
