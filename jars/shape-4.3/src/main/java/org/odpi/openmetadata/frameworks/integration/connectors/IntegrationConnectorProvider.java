/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.integration.connectors;

import org.odpi.openmetadata.frameworks.connectors.ConnectorProviderBase;

/** Base class of the providers of integration connectors (signatures of Egeria 4.3). */
public class IntegrationConnectorProvider extends ConnectorProviderBase {
    private long refreshTimeInterval = 60L;

    public long getRefreshTimeInterval() {
        return refreshTimeInterval;
    }

    protected void setRefreshTimeInterval(long refreshTimeInterval) {
        this.refreshTimeInterval = refreshTimeInterval;
    }
}
