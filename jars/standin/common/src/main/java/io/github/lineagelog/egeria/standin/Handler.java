/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;
import org.odpi.openmetadata.frameworks.auditlog.AuditLog;

/** One connector of the daemon and its state, as Egeria's IntegrationConnectorHandler has them (commits 04abfee1, 3636c7f1). */
final class Handler {
    private enum State {
        INITIALIZED,
        RUNNING,
        WAITING,
        FAILED,
        STOPPED
    }

    private final Era era;
    private final Dispatch dispatch;
    private final AuditLog auditLog;
    private final String name;
    private final ObjectNode connection;
    private Era.Connected connector = null;
    private State state = null;
    private String error = null;
    private int instances = 0;

    Handler(Era era, Dispatch dispatch, AuditLog auditLog, JsonNode configured) {
        this.era = era;
        this.dispatch = dispatch;
        this.auditLog = auditLog;
        name = configured.path("name").asText("connector");
        connection = configured.get("connection").deepCopy();
    }

    String name() {
        return name;
    }

    /** Makes a new instance, starts it, and refreshes it at once. The old one is disconnected in some states only. */
    synchronized void reinitialize() {
        disconnect();
        error = null;
        connector = null;
        run("connect", () -> connector = era.connect(name, connection, dispatch, auditLog));
        if (connector == null) {
            return;
        }
        instances++;
        state = State.INITIALIZED;
        if (run("start", connector::start)) {
            state = era.disconnectsWhatWaits() ? State.RUNNING : State.WAITING;
            refresh();
        }
    }

    /** Refreshes a connector that has not failed. */
    synchronized void refresh() {
        if (state == State.RUNNING || state == State.WAITING) {
            run("refresh", connector::refresh);
        }
    }

    /** Merges into the configuration properties, and makes a new instance. */
    synchronized void setProperties(JsonNode properties) {
        connection.withObject("/configurationProperties").setAll((ObjectNode) properties);
        reinitialize();
    }

    /** Sets the address of the endpoint, and makes a new instance. */
    synchronized void setEndpoint(String address) {
        ObjectNode endpoint = connection.withObject("/endpoint");
        endpoint.put("class", "Endpoint").put("address", address).put("networkAddress", address);
        reinitialize();
    }

    synchronized void disconnect() {
        if (state == State.RUNNING || state == State.FAILED) {
            run("disconnect", connector::disconnect);
            state = State.STOPPED;
        }
    }

    synchronized Map<String, Object> status() {
        Map<String, Object> one = new LinkedHashMap<>();
        one.put("name", name);
        one.put("state", state == null ? null : state.name().toLowerCase(java.util.Locale.ROOT));
        one.put("error", error);
        one.put("instances", instances);
        one.put("connectorType", connector == null ? null : connector.connectorType());
        return one;
    }

    private interface Step {
        void run() throws Exception;
    }

    /** Errors are not caught, as the daemon does not catch them. */
    private boolean run(String what, Step step) {
        try {
            step.run();
            return true;
        } catch (Exception failed) {
            state = State.FAILED;
            error = failed.getMessage();
            String text = String.valueOf(failed.getMessage());
            auditLog.logException(what, Message.CONNECTOR_FAILED.with(name, what, text), failed);
            return false;
        }
    }
}
