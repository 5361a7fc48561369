/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin.v6;

import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.lineagelog.egeria.standin.Dispatch;
import io.github.lineagelog.egeria.standin.Era;
import io.github.lineagelog.egeria.standin.RunEvent;
import java.util.regex.Pattern;
import org.odpi.openmetadata.frameworks.auditlog.AuditLog;
import org.odpi.openmetadata.frameworks.auditlog.AuditLoggingComponent;
import org.odpi.openmetadata.frameworks.connectors.ConnectorProvider;
import org.odpi.openmetadata.frameworks.connectors.properties.beans.Connection;
import org.odpi.openmetadata.frameworks.integration.connectors.IntegrationConnectorBase;
import org.odpi.openmetadata.frameworks.integration.context.IntegrationContext;
import org.odpi.openmetadata.frameworks.integration.openlineage.OpenLineageDataSetEvent;
import org.odpi.openmetadata.frameworks.integration.openlineage.OpenLineageEventListener;
import org.odpi.openmetadata.frameworks.integration.openlineage.OpenLineageJobEvent;
import org.odpi.openmetadata.frameworks.integration.openlineage.OpenLineageListenerManager;
import org.odpi.openmetadata.frameworks.integration.openlineage.OpenLineageRunEvent;

/** Egeria 6: one dispatch for the whole daemon, job and dataset events have methods of their own. */
public final class Era60 implements Era {
    private static final Pattern PUBLISH =
            Pattern.compile("/servers/[^/]+/open-metadata/integration-daemon/publish-open-lineage-event");
    private static final ObjectMapper MAPPER =
            new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);

    @Override
    public String name() {
        return "6.0";
    }

    @Override
    public Pattern publishPath() {
        return PUBLISH;
    }

    @Override
    public boolean knowsStaticEvents() {
        return true;
    }

    @Override
    public boolean disconnectsWhatWaits() {
        return false;
    }

    @Override
    public Connected connect(String name, JsonNode json, Dispatch dispatch, AuditLog auditLog) throws Exception {
        Connection connection = MAPPER.treeToValue(json, Connection.class);
        String className = connection.getConnectorType().getConnectorProviderClassName();
        Class<?> providerClass = Class.forName(className, true, Era60.class.getClassLoader());
        ConnectorProvider provider = (ConnectorProvider) providerClass.getDeclaredConstructor().newInstance();
        ((AuditLoggingComponent) provider).setAuditLog(auditLog);
        IntegrationConnectorBase connector = (IntegrationConnectorBase) provider.getConnector(connection);
        connector.setConnectorName(name);
        connector.setContext(new IntegrationContext(new Manager(dispatch)));
        return new Made(connector, provider);
    }

    @Override
    public void listen(Dispatch dispatch, Dispatch.Listener listener) {
        new IntegrationContext(new Manager(dispatch)).registerOpenLineageListener(new Second(listener));
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
    private static final class RunBean extends OpenLineageRunEvent {
        @JsonValue
        private final RunEvent content;

        private RunBean(RunEvent content) {
            this.content = content;
        }
    }

    /** The daemon's bean of a job event. */
    private static final class JobBean extends OpenLineageJobEvent {
        @JsonValue
        private final RunEvent content;

        private JobBean(RunEvent content) {
            this.content = content;
        }
    }

    /** The daemon's bean of a dataset event. */
    private static final class DataSetBean extends OpenLineageDataSetEvent {
        @JsonValue
        private final RunEvent content;

        private DataSetBean(RunEvent content) {
            this.content = content;
        }
    }

    private record Second(Dispatch.Listener listener) implements OpenLineageEventListener {
        @Override
        public void processOpenLineageRunEvent(OpenLineageRunEvent event, String raw) {
            listener.accept("run", event == null ? null : ((RunBean) event).content, raw);
        }

        @Override
        public void processOpenLineageJobEvent(OpenLineageJobEvent event, String raw) {
            listener.accept("job", ((JobBean) event).content, raw);
        }

        @Override
        public void processOpenLineageDataSetEvent(OpenLineageDataSetEvent event, String raw) {
            listener.accept("dataset", ((DataSetBean) event).content, raw);
        }
    }

    private record Manager(Dispatch dispatch) implements OpenLineageListenerManager {
        @Override
        public void registerListener(OpenLineageEventListener listener) {
            dispatch.register((kind, bean, raw) -> {
                switch (kind) {
                    case "job" -> listener.processOpenLineageJobEvent(new JobBean(bean), raw);
                    case "dataset" -> listener.processOpenLineageDataSetEvent(new DataSetBean(bean), raw);
                    default -> listener.processOpenLineageRunEvent(bean == null ? null : new RunBean(bean), raw);
                }
            });
        }

        @Override
        public void publishOpenLineageRunEvent(String rawEvent) {
            dispatch.publish(rawEvent);
        }

        @Override
        public void publishOpenLineageRunEvent(OpenLineageRunEvent event) {
            dispatch.publish(((RunBean) event).content);
        }

        @Override
        public void publishOpenLineageJobEvent(OpenLineageJobEvent event) {
            dispatch.publish(((JobBean) event).content);
        }

        @Override
        public void publishOpenLineageDataSetEvent(OpenLineageDataSetEvent event) {
            dispatch.publish(((DataSetBean) event).content);
        }
    }
}
