/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.v6;

import io.github.lineagelog.egeria.connector.ConfigurationProperty;
import io.github.lineagelog.egeria.connector.ConnectorDescription;
import org.odpi.openmetadata.frameworks.integration.connectors.IntegrationConnectorProvider;

/** The provider of the connector for Egeria 6. */
public class LineagelogProvider extends IntegrationConnectorProvider {
    public LineagelogProvider() {
        super(LineagelogDefinition.LOG_STORE, LineagelogConnector.class.getName(), ConfigurationProperty.names());
        super.setRefreshTimeInterval(ConnectorDescription.REFRESH_MINUTES);
    }
}
