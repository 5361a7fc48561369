/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.connectors;

import java.util.List;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.ConnectorType;

/** A provider set up from a definition (signatures of Egeria 6.0). */
public class OpenConnectorProviderBase extends ConnectorProviderBase {
    public OpenConnectorProviderBase() {
        super();
    }

    public OpenConnectorProviderBase(
            OpenConnectorDefinition definition, String connectorClassName, List<String> recognizedProperties) {
        this.connectorClassName = connectorClassName;
        ConnectorType type = new ConnectorType();
        type.setGUID(definition.getConnectorTypeGUID());
        type.setQualifiedName(definition.getConnectorQualifiedName());
        type.setDisplayName(definition.getConnectorDisplayName());
        type.setDescription(definition.getConnectorDescription());
        type.setVersionIdentifier(definition.getVersionIdentifier());
        type.setConnectorProviderClassName(getClass().getName());
        type.setSupportedAssetTypeName(definition.getSupportedAssetTypeName());
        type.setRecognizedConfigurationProperties(recognizedProperties);
        connectorTypeBean = type;
        connectorComponentDescription = definition.getComponentDescription();
    }
}
