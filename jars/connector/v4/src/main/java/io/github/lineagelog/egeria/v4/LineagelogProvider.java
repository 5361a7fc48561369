/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.v4;

import io.github.lineagelog.egeria.connector.ConfigurationProperty;
import io.github.lineagelog.egeria.connector.ConnectorDescription;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.ConnectorType;
import org.odpi.openmetadata.frameworks.integration.connectors.IntegrationConnectorProvider;

/** The provider of the connector for Egeria 4.3. */
public class LineagelogProvider extends IntegrationConnectorProvider {
    private static final String CONNECTOR_TYPE_GUID = "0b2df094-9786-46fa-b7bc-2d0e72160f9b";

    public LineagelogProvider() {
        super();
        super.setConnectorClassName(LineagelogConnector.class.getName());
        super.setRefreshTimeInterval(ConnectorDescription.REFRESH_MINUTES);

        ConnectorType connectorType = new ConnectorType();
        connectorType.setType(ConnectorType.getConnectorTypeType());
        connectorType.setGUID(CONNECTOR_TYPE_GUID);
        connectorType.setQualifiedName(ConnectorDescription.QUALIFIED_NAME);
        connectorType.setDisplayName(ConnectorDescription.DISPLAY_NAME);
        connectorType.setDescription(ConnectorDescription.DESCRIPTION);
        connectorType.setConnectorProviderClassName(getClass().getName());
        connectorType.setSupportedAssetTypeName(ConnectorDescription.SUPPORTED_ASSET_TYPE);
        connectorType.setRecognizedConfigurationProperties(ConfigurationProperty.names());
        super.connectorTypeBean = connectorType;

        super.setConnectorComponentDescription(ConnectorDescription.component());
    }
}
