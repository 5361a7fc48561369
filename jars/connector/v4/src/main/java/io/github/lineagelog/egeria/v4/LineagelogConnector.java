/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.v4;

import io.github.lineagelog.egeria.connector.LinkException;
import io.github.lineagelog.egeria.connector.LogStoreLink;
import java.util.HashMap;
import java.util.Map;
import org.odpi.openmetadata.frameworks.connectors.ffdc.ConnectorCheckedException;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.Endpoint;
import org.odpi.openmetadata.integrationservices.lineage.connector.LineageIntegratorConnector;

/** Logs the OpenLineage events of a lineage integrator service (Egeria 4.3) in PostgreSQL. */
public class LineagelogConnector extends LineageIntegratorConnector {
    private static final String LISTENER =
            "org.odpi.openmetadata.integrationservices.lineage.connector.OpenLineageEventListener";

    private volatile LogStoreLink link = null;

    /** Starts the Python side with what the connection says and registers for the OpenLineage events. */
    @Override
    public synchronized void start() throws ConnectorCheckedException {
        super.start();
        LogStoreLink started = new LogStoreLink(connectorName, connectorInstanceId, auditLog);
        try {
            started.start(settings(), getContext(), LISTENER);
        } catch (LinkException failed) {
            throw told(failed);
        } catch (LinkageError missing) { // the daemon catches exceptions, and no errors
            throw told(started.misfit(missing));
        }
        link = started;
    }

    /** The constructors with a cause take a Throwable in Egeria 4.3 and an Exception later; this one is in all. */
    private ConnectorCheckedException told(LinkException failed) {
        ConnectorCheckedException told = new ConnectorCheckedException(failed.definition(), getClass().getName(), "start");
        told.addSuppressed(failed);
        return told;
    }

    private Map<String, Object> settings() {
        Endpoint endpoint = connectionBean.getEndpoint();
        Map<String, Object> settings = new HashMap<>();
        settings.put("era", "4.3");
        settings.put("address", endpoint == null ? null : endpoint.getAddress());
        settings.put("properties", orEmpty(connectionBean.getConfigurationProperties()));
        settings.put("userId", connectionBean.getUserId());
        settings.put("clearPassword", connectionBean.getClearPassword());
        settings.put("securedProperties", orEmpty(connectionBean.getSecuredProperties()));
        return settings;
    }

    private static Map<String, ?> orEmpty(Map<String, ?> properties) {
        return properties == null ? Map.of() : properties;
    }

    /** Writes the health metrics to the audit log. */
    @Override
    public void refresh() throws ConnectorCheckedException {
        LogStoreLink running = link;
        if (running != null) {
            running.refresh();
        }
    }

    /** Takes no more events and writes the final metrics to the audit log. */
    @Override
    public synchronized void disconnect() throws ConnectorCheckedException {
        if (link != null) {
            link.disconnect();
            link = null;
        }
        super.disconnect();
    }
}
