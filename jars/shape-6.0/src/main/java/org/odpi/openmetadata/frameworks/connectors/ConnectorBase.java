/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.connectors;

import org.odpi.openmetadata.frameworks.auditlog.AuditLog;
import org.odpi.openmetadata.frameworks.connectors.ffdc.ConnectorCheckedException;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.Connection;
import org.odpi.openmetadata.frameworks.openmetadata.ffdc.UserNotAuthorizedException;

/** Base class of all connectors (signatures of Egeria 6.0). */
public abstract class ConnectorBase extends Connector {
    protected String connectorInstanceId = null;
    protected Connection connectionBean = null;
    protected AuditLog auditLog = null;

    private volatile boolean active = false;

    @Override
    public void initialize(String connectorInstanceId, Connection connectionDetails) throws ConnectorCheckedException {
        this.connectorInstanceId = connectorInstanceId;
        this.connectionBean = connectionDetails;
    }

    @Override
    public String getConnectorInstanceId() {
        return connectorInstanceId;
    }

    @Override
    public void start() throws ConnectorCheckedException, UserNotAuthorizedException {
        active = true;
    }

    @Override
    public void disconnect() throws ConnectorCheckedException {
        active = false;
    }

    public boolean isActive() {
        return active;
    }
}
