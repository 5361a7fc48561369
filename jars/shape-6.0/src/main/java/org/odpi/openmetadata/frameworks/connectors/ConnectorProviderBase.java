/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.connectors;

import java.util.UUID;
import org.odpi.openmetadata.frameworks.auditlog.AuditLog;
import org.odpi.openmetadata.frameworks.auditlog.AuditLoggingComponent;
import org.odpi.openmetadata.frameworks.auditlog.ComponentDescription;
import org.odpi.openmetadata.frameworks.connectors.ffdc.ConnectorCheckedException;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.Connection;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.ConnectorType;

/** Makes connectors of one class (signatures of Egeria 6.0). */
public abstract class ConnectorProviderBase extends ConnectorProvider implements AuditLoggingComponent {
    protected String connectorClassName = null;
    protected ConnectorType connectorTypeBean = null;
    protected ComponentDescription connectorComponentDescription = null;
    protected AuditLog auditLog = null;

    @Override
    public void setAuditLog(AuditLog auditLog) {
        this.auditLog = auditLog;
    }

    @Override
    public ComponentDescription getConnectorComponentDescription() {
        return connectorComponentDescription;
    }

    @Override
    public ConnectorType getConnectorType() {
        return connectorTypeBean;
    }

    @Override
    public Connector getConnector(Connection connection) throws ConnectorCheckedException {
        Connector connector;
        try {
            Class<?> type = Class.forName(connectorClassName, true, getClass().getClassLoader());
            connector = (Connector) type.getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException broken) {
            throw new IllegalArgumentException("no connector of class " + connectorClassName, broken);
        }
        if (connector instanceof AuditLoggingComponent component && auditLog != null) {
            component.setAuditLog(auditLog.createNewAuditLog(connectorComponentDescription));
        }
        connector.initialize(UUID.randomUUID().toString(), connection);
        return connector;
    }
}
