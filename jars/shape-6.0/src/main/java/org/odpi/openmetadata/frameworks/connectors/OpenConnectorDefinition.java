/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.connectors;

import org.odpi.openmetadata.frameworks.auditlog.AuditLogReportingComponent;
import org.odpi.openmetadata.frameworks.auditlog.ComponentDevelopmentStatus;

/** What is fixed about a connector (signatures of Egeria 6.0). */
public interface OpenConnectorDefinition {
    int getConnectorComponentId();

    String getConnectorTypeGUID();

    String getConnectorQualifiedName();

    String getConnectorDisplayName();

    String getConnectorDescription();

    String getConnectorWikiPage();

    String getConnectorProviderClassName();

    ComponentDevelopmentStatus getConnectorDevelopmentStatus();

    default String getVersionIdentifier() {
        return "6.2-SNAPSHOT";
    }

    String getSupportedAssetTypeName();

    String getSupportedDeployedImplementationType();

    AuditLogReportingComponent getComponentDescription();
}
