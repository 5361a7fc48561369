/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.integration.openlineage;

/** Registers listeners and publishes events to them (signatures of Egeria 6.0). */
public interface OpenLineageListenerManager {
    void registerListener(OpenLineageEventListener listener);

    void publishOpenLineageRunEvent(String rawEvent);

    void publishOpenLineageRunEvent(OpenLineageRunEvent event);

    void publishOpenLineageJobEvent(OpenLineageJobEvent event);

    void publishOpenLineageDataSetEvent(OpenLineageDataSetEvent event);
}
