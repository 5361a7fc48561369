/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.integrationservices.lineage.connector;

import org.odpi.openmetadata.frameworks.connectors.ffdc.ConnectorCheckedException;
import org.odpi.openmetadata.frameworks.integration.connectors.IntegrationConnectorBase;

/** Base class of the lineage connectors (signatures of Egeria 4.3). */
public abstract class LineageIntegratorConnector extends IntegrationConnectorBase {
    private LineageIntegratorContext context = null;

    public synchronized void setContext(LineageIntegratorContext context) {
        this.context = context;
    }

    public synchronized LineageIntegratorContext getContext() throws ConnectorCheckedException {
        if (context == null) {
            throw new IllegalStateException("the stand-in gave no context");
        }
        return context;
    }
}
