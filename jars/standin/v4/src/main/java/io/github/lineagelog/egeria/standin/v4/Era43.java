/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin.v4;

import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.lineagelog.egeria.standin.Dispatch;
import io.github.lineagelog.egeria.standin.Era;
import io.github.lineagelog.egeria.standin.RunEvent;
import java.util.regex.Pattern;
import org.odpi.openmetadata.frameworks.auditlog.AuditLog;
import org.odpi.openmetadata.frameworks.connectors.Connector;
import org.odpi.openmetadata.frameworks.connectors.ConnectorBroker;
import org.odpi.openmetadata.frameworks.connectors.ConnectorProvider;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.Connection;
import org.odpi.openmetadata.frameworks.integration.connectors.IntegrationConnectorBase;
import org.odpi.openmetadata.integrationservices.lineage.connector.LineageIntegratorConnector;
import org.odpi.openmetadata.integrationservices.lineage.connector.LineageIntegratorContext;
import org.odpi.openmetadata.integrationservices.lineage.connector.OpenLineageEventListener;
import org.odpi.openmetadata.integrationservices.lineage.connector.OpenLineageListenerManager;
import org.odpi.openmetadata.integrationservices.lineage.properties.OpenLineageRunEvent;

/** Egeria 4.3: the real ConnectorBroker makes the connectors of the lineage integrator service. */
public final class Era43 implements Era {
    private static final Pattern PUBLISH = Pattern.compile(
            "/servers/[^/]+/open-metadata/integration-services/lineage-integrator/users/[^/]+/api/v1/lineage");
    private static final ObjectMapper MAPPER =
            new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);

    @Override
    public String name() {
        return "4.3";
    }

    @Override
    public Pattern publishPath() {
        return PUBLISH;
    }

    @Override
    public boolean knowsStaticEvents() {
        return false;
    }

    @Override
    public boolean disconnectsWhatWaits() {
        return true;
    }

    @Override
    public Connected connect(String name, JsonNode json, Dispatch dispatch, AuditLog auditLog) throws Exception {
        Connection connection = MAPPER.treeToValue(json, Connection.class);
        Connector made = new ConnectorBroker(auditLog).getConnector(connection);
        LineageIntegratorConnector connector = (LineageIntegratorConnector) made;
        connector.setConnectorName(name);
        connector.setContext(new LineageIntegratorContext(new Manager(dispatch)));
        String provider = connection.getConnectorType().getConnectorProviderClassName();
        Class<?> providerClass = Class.forName(provider, true, Era43.class.getClassLoader());
        return new Made(connector, (ConnectorProvider) providerClass.getDeclaredConstructor().newInstance());
    }

    @Override
    public void listen(Dispatch dispatch, Dispatch.Listener listener) {
        new Manager(dispatch).registerListener((event, raw) ->
                listener.accept("run", event == null ? null : ((Bean) event).content, raw));
    }

    private record Made(IntegrationConnectorBase connector, ConnectorProvider provider) implements Connected {
        @Override
        public void start() throws Exception {
            connector.start();
        }

        @Override
        public void refresh() throws Exception {
            connector.refresh();
        }

        @Override
        public void disconnect() throws Exception {
            connector.disconnect();
        }

        @Override
        public Object connectorType() {
            return provider.getConnectorType();
        }
    }

    /** The daemon's bean of a run event. */
    private static final class Bean extends OpenLineageRunEvent {
        @JsonValue
        private final RunEvent content;

        private Bean(RunEvent content) {
            this.content = content;
        }
    }

    private record Manager(Dispatch dispatch) implements OpenLineageListenerManager {
        @Override
        public void registerListener(OpenLineageEventListener listener) {
            dispatch.register((kind, bean, raw) ->
                    listener.processOpenLineageRunEvent(bean == null ? null : new Bean(bean), raw));
        }

        @Override
        public void publishOpenLineageRunEvent(String rawEvent) {
            dispatch.publish(rawEvent);
        }

        @Override
        public void publishOpenLineageRunEvent(OpenLineageRunEvent event) {
            dispatch.publish(((Bean) event).content);
        }
    }
}
