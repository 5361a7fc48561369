/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.connectors.properties.beans;

import java.util.List;

/** What a provider says of its connectors (signatures of Egeria 6.0). */
public class ConnectorType {
    private String guid;
    private String qualifiedName;
    private String displayName;
    private String description;
    private String versionIdentifier;
    private String connectorProviderClassName;
    private String supportedAssetTypeName;
    private List<String> recognizedConfigurationProperties;

    public String getGUID() {
        return guid;
    }

    public void setGUID(String guid) {
        this.guid = guid;
    }

    public String getQualifiedName() {
        return qualifiedName;
    }

    public void setQualifiedName(String qualifiedName) {
        this.qualifiedName = qualifiedName;
    }

    public String getDisplayName() {
        return displayName;
    }

    public void setDisplayName(String displayName) {
        this.displayName = displayName;
    }

    public String getDescription() {
        return description;
    }

    public void setDescription(String description) {
        this.description = description;
    }

    public String getVersionIdentifier() {
        return versionIdentifier;
    }

    public void setVersionIdentifier(String versionIdentifier) {
        this.versionIdentifier = versionIdentifier;
    }

    public String getConnectorProviderClassName() {
        return connectorProviderClassName;
    }

    public void setConnectorProviderClassName(String connectorProviderClassName) {
        this.connectorProviderClassName = connectorProviderClassName;
    }

    public String getSupportedAssetTypeName() {
        return supportedAssetTypeName;
    }

    public void setSupportedAssetTypeName(String supportedAssetTypeName) {
        this.supportedAssetTypeName = supportedAssetTypeName;
    }

    public List<String> getRecognizedConfigurationProperties() {
        return recognizedConfigurationProperties;
    }

    public void setRecognizedConfigurationProperties(List<String> recognizedConfigurationProperties) {
        this.recognizedConfigurationProperties = recognizedConfigurationProperties;
    }
}
