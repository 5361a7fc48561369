/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.integration.connectors;

import org.odpi.openmetadata.frameworks.connectors.ffdc.ConnectorCheckedException;

/** What the integration daemon calls on a connector (signatures of Egeria 4.3). */
public interface IntegrationConnector {
    void setConnectorName(String connectorName);

    void refresh() throws ConnectorCheckedException;

    void engage() throws ConnectorCheckedException;

    void disconnect() throws ConnectorCheckedException;
}
