/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.integrationservices.lineage.connector;

import org.odpi.openmetadata.integrationservices.lineage.properties.OpenLineageRunEvent;

/** Registers listeners and publishes events to them (signatures of Egeria 4.3). */
public interface OpenLineageListenerManager {
    void registerListener(OpenLineageEventListener listener);

    void publishOpenLineageRunEvent(String rawEvent);

    void publishOpenLineageRunEvent(OpenLineageRunEvent event);
}
