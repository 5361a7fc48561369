/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.connectors;

import org.odpi.openmetadata.frameworks.connectors.ffdc.ConnectorCheckedException;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.Connection;
import org.odpi.openmetadata.frameworks.openmetadata.ffdc.UserNotAuthorizedException;

/** A connector (signatures of Egeria 6.0). */
public abstract class Connector {
    public abstract void initialize(String connectorInstanceId, Connection connectionDetails)
            throws ConnectorCheckedException;

    public abstract String getConnectorInstanceId();

    public abstract void start() throws ConnectorCheckedException, UserNotAuthorizedException;

    public abstract void disconnect() throws ConnectorCheckedException;
}
