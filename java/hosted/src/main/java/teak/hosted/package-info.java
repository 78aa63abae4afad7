/**
 * What distributed stores need from Teak, and none of them owns. Begin with
 * {@link teak.hosted.HostedStore}.
 */
package teak.hosted;
