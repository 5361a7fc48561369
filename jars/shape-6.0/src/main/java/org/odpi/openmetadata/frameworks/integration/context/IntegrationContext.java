/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.integration.context;

import org.odpi.openmetadata.frameworks.integration.openlineage.OpenLineageEventListener;
import org.odpi.openmetadata.frameworks.integration.openlineage.OpenLineageListenerManager;
import org.odpi.openmetadata.frameworks.integration.openlineage.OpenLineageRunEvent;

/** What an integration connector is given (signatures of Egeria 6.0). */
public class IntegrationContext {
    private final OpenLineageListenerManager manager;

    public IntegrationContext(OpenLineageListenerManager manager) {
        this.manager = manager;
    }

    public void registerListener(Runnable openMetadataEventListener) {
        throw new UnsupportedOperationException("registerListener for open metadata events");
    }

    public void registerListener(OpenLineageEventListener listener) {
        manager.registerListener(listener);
    }

    public void publishOpenLineageRunEvent(String rawEvent) {
        manager.publishOpenLineageRunEvent(rawEvent);
    }

    public void publishOpenLineageRunEvent(OpenLineageRunEvent event) {
        manager.publishOpenLineageRunEvent(event);
    }
}
