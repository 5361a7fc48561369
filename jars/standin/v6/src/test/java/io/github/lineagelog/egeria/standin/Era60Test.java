/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.lineagelog.egeria.connector.ConnectorDescription;
import io.github.lineagelog.egeria.standin.v6.Era60;
import io.github.lineagelog.egeria.v6.LineagelogConnector;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.odpi.openmetadata.frameworks.connectors.ffdc.ConnectorCheckedException;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.Connection;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.ConnectorType;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.Endpoint;

/** The connector in the shape of Egeria 6. */
class Era60Test extends ConnectorContract {
    Era60Test() {
        super(new Era60(), "io.github.lineagelog.egeria.v6.LineagelogProvider");
    }

    @Test
    void whatAnotherVersionHasNotIsTold() throws Exception {
        LineagelogConnector connector = new LineagelogConnector();
        connector.setConnectorName("log");
        connector.initialize("1", new Connection() {
            @Override
            public Endpoint getEndpoint() {
                throw new NoSuchMethodError("Endpoint.getNetworkAddress");
            }
        });
        ConnectorCheckedException told = assertThrows(ConnectorCheckedException.class, connector::start);
        assertTrue(told.getMessage().contains("NoSuchMethodError: Endpoint.getNetworkAddress"), told.getMessage());
        assertEquals("LINEAGELOG-CONNECTOR-500-004", told.getReportedErrorMessageId());
    }

    @Test
    void theVersionIsOurs() {
        startDaemon();
        ConnectorType type = (ConnectorType) daemon().status().get(0).get("connectorType");
        assertEquals(ConnectorDescription.VERSION, type.getVersionIdentifier());
    }

    @Test
    void jobAndDatasetEventsHaveMethodsOfTheirOwn() {
        startDaemon();
        daemon().dispatch().publish("{\"job\":{\"name\":\"j\"}}");
        daemon().dispatch().publish("{\"dataset\":{\"name\":\"d\"}}");
        assertEquals(List.of("job", "dataset"), python().kinds);
    }
}
