/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.integration.connectors;

import java.util.List;
import org.odpi.openmetadata.frameworks.connectors.OpenConnectorDefinition;
import org.odpi.openmetadata.frameworks.connectors.OpenConnectorProviderBase;

/** Base class of the providers of integration connectors (signatures of Egeria 6.0). */
public class IntegrationConnectorProvider extends OpenConnectorProviderBase {
    private long refreshTimeInterval = 60L;

    public IntegrationConnectorProvider() {
        super();
    }

    public IntegrationConnectorProvider(
            OpenConnectorDefinition definition, String connectorClassName, List<String> recognizedProperties) {
        super(definition, connectorClassName, recognizedProperties);
    }

    public long getRefreshTimeInterval() {
        return refreshTimeInterval;
    }

    protected void setRefreshTimeInterval(long refreshTimeInterval) {
        this.refreshTimeInterval = refreshTimeInterval;
    }
}
