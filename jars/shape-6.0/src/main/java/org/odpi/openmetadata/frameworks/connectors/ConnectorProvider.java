/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.connectors;

import org.odpi.openmetadata.frameworks.connectors.ffdc.ConnectorCheckedException;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.Connection;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.ConnectorType;

/** Makes connectors (signatures of Egeria 6.0). */
public abstract class ConnectorProvider {
    public abstract ConnectorType getConnectorType();

    public abstract Connector getConnector(Connection connection) throws ConnectorCheckedException;
}
