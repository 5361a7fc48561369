/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.integration.context;

import org.odpi.openmetadata.frameworks.integration.openlineage.OpenLineageDataSetEvent;
import org.odpi.openmetadata.frameworks.integration.openlineage.OpenLineageEventListener;
import org.odpi.openmetadata.frameworks.integration.openlineage.OpenLineageJobEvent;
import org.odpi.openmetadata.frameworks.integration.openlineage.OpenLineageListenerManager;
import org.odpi.openmetadata.frameworks.integration.openlineage.OpenLineageRunEvent;

/** What an integration connector is given (signatures of the newest Egeria 6; the first had registerListener). */
public class IntegrationContext {
    private final OpenLineageListenerManager manager;

    public IntegrationContext(OpenLineageListenerManager manager) {
        this.manager = manager;
    }

    public void registerListener(Runnable openMetadataEventListener) {
        throw new UnsupportedOperationException("registerListener for open metadata events");
    }

    public void registerOpenLineageListener(OpenLineageEventListener listener) {
        manager.registerListener(listener);
    }

    public void publishOpenLineageRunEvent(String rawEvent) {
        manager.publishOpenLineageRunEvent(rawEvent);
    }

    public void publishOpenLineageRunEvent(OpenLineageRunEvent event) {
        manager.publishOpenLineageRunEvent(event);
    }

    public void publishOpenLineageJobEvent(OpenLineageJobEvent event) {
        manager.publishOpenLineageJobEvent(event);
    }

    public void publishOpenLineageDataSetEvent(OpenLineageDataSetEvent event) {
        manager.publishOpenLineageDataSetEvent(event);
    }
}
