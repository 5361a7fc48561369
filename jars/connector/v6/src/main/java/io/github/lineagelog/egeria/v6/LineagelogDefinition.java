/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.v6;

import io.github.lineagelog.egeria.connector.ConnectorDescription;
import org.odpi.openmetadata.frameworks.auditlog.AuditLogReportingComponent;
import org.odpi.openmetadata.frameworks.auditlog.ComponentDevelopmentStatus;
import org.odpi.openmetadata.frameworks.connectors.OpenConnectorDefinition;

/** The definition of the connector for Egeria 6, from which its provider sets up the connector type. */
enum LineagelogDefinition implements OpenConnectorDefinition {
    LOG_STORE;

    private static final String CONNECTOR_TYPE_GUID = "9430969c-4a0c-4926-acbb-01e2749c569a";

    @Override
    public int getConnectorComponentId() {
        return ConnectorDescription.COMPONENT_ID;
    }

    @Override
    public String getConnectorTypeGUID() {
        return CONNECTOR_TYPE_GUID;
    }

    @Override
    public String getConnectorQualifiedName() {
        return ConnectorDescription.QUALIFIED_NAME;
    }

    @Override
    public String getConnectorDisplayName() {
        return ConnectorDescription.DISPLAY_NAME;
    }

    @Override
    public String getConnectorDescription() {
        return ConnectorDescription.DESCRIPTION;
    }

    @Override
    public String getConnectorWikiPage() {
        return ConnectorDescription.WIKI_PAGE;
    }

    @Override
    public String getConnectorProviderClassName() {
        return LineagelogProvider.class.getName();
    }

    @Override
    public ComponentDevelopmentStatus getConnectorDevelopmentStatus() {
        return ComponentDevelopmentStatus.TECHNICAL_PREVIEW;
    }

    @Override
    public String getSupportedAssetTypeName() {
        return ConnectorDescription.SUPPORTED_ASSET_TYPE;
    }

    @Override
    public String getSupportedDeployedImplementationType() {
        return "PostgreSQL Database Schema";
    }

    @Override
    public String getVersionIdentifier() {
        return ConnectorDescription.VERSION;
    }

    @Override
    public AuditLogReportingComponent getComponentDescription() {
        return ConnectorDescription.component();
    }
}
