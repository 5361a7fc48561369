/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.integrationservices.lineage.connector;

import org.odpi.openmetadata.accessservices.assetmanager.api.AssetManagerEventListener;
import org.odpi.openmetadata.integrationservices.lineage.properties.OpenLineageRunEvent;

/** What a lineage connector is given (signatures of Egeria 4.3): registerListener is overloaded there, too. */
public class LineageIntegratorContext implements OpenLineageListenerManager {
    private final OpenLineageListenerManager manager;

    public LineageIntegratorContext(OpenLineageListenerManager manager) {
        this.manager = manager;
    }

    public void registerListener(AssetManagerEventListener listener) {
        throw new UnsupportedOperationException("registerListener(AssetManagerEventListener)");
    }

    @Override
    public void registerListener(OpenLineageEventListener listener) {
        manager.registerListener(listener);
    }

    @Override
    public void publishOpenLineageRunEvent(String rawEvent) {
        manager.publishOpenLineageRunEvent(rawEvent);
    }

    @Override
    public void publishOpenLineageRunEvent(OpenLineageRunEvent event) {
        manager.publishOpenLineageRunEvent(event);
    }
}
