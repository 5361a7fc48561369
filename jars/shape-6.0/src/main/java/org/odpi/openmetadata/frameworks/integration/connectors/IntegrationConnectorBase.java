/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.integration.connectors;

import org.odpi.openmetadata.frameworks.auditlog.AuditLog;
import org.odpi.openmetadata.frameworks.auditlog.AuditLoggingComponent;
import org.odpi.openmetadata.frameworks.auditlog.ComponentDescription;
import org.odpi.openmetadata.frameworks.connectors.ConnectorBase;
import org.odpi.openmetadata.frameworks.connectors.ffdc.ConnectorCheckedException;
import org.odpi.openmetadata.frameworks.integration.context.IntegrationContext;

/** Base class of the integration connectors (signatures of Egeria 6.0). */
public abstract class IntegrationConnectorBase extends ConnectorBase
        implements IntegrationConnector, AuditLoggingComponent {
    protected AuditLog auditLog = null;
    protected String connectorName = null;
    protected IntegrationContext integrationContext = null;

    @Override
    public void setAuditLog(AuditLog auditLog) {
        this.auditLog = auditLog;
    }

    @Override
    public ComponentDescription getConnectorComponentDescription() {
        return auditLog == null ? null : auditLog.getReport().getReportingComponent();
    }

    @Override
    public void setConnectorName(String connectorName) {
        this.connectorName = connectorName;
    }

    @Override
    public void setContext(IntegrationContext integrationContext) {
        this.integrationContext = integrationContext;
    }

    @Override
    public void engage() throws ConnectorCheckedException {
        throw new UnsupportedOperationException("engage");
    }
}
