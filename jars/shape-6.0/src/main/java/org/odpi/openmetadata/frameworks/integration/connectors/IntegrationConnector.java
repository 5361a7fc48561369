/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.integration.connectors;

import org.odpi.openmetadata.frameworks.connectors.ffdc.ConnectorCheckedException;
import org.odpi.openmetadata.frameworks.integration.context.IntegrationContext;
import org.odpi.openmetadata.frameworks.openmetadata.ffdc.UserNotAuthorizedException;

/** What the integration daemon calls on a connector (signatures of Egeria 6). */
public interface IntegrationConnector {
    void setConnectorName(String connectorName);

    void setContext(IntegrationContext integrationContext);

    void start() throws ConnectorCheckedException, UserNotAuthorizedException;

    void engage() throws ConnectorCheckedException;

    void refresh() throws ConnectorCheckedException, UserNotAuthorizedException;

    void disconnect() throws ConnectorCheckedException;
}
