/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.integration.openlineage;

/** Receives the events published in the daemon (signatures of Egeria 6.0). */
public interface OpenLineageEventListener {
    void processOpenLineageRunEvent(OpenLineageRunEvent event, String rawEvent);

    default void processOpenLineageJobEvent(OpenLineageJobEvent event, String rawEvent) {}

    default void processOpenLineageDataSetEvent(OpenLineageDataSetEvent event, String rawEvent) {}
}
