/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.odpi.openmetadata.frameworks.auditlog.AuditLog;
import org.odpi.openmetadata.frameworks.auditlog.ComponentDevelopmentStatus;

/** The connectors of the daemon and their life: started in order, refreshed by the clock, disconnected at the end where the daemon does so. */
final class Daemon {
    private final Era era;
    private final JsonNode config;
    private final MemoryLog memory;
    private final AuditLog auditLog;
    private final Dispatch dispatch;
    private final SecondListener second = new SecondListener();
    private final Map<String, Handler> handlers = new LinkedHashMap<>();
    private ScheduledExecutorService clock = null;

    Daemon(Era era, JsonNode config) {
        this.era = era;
        this.config = config;
        memory = new MemoryLog(serverName());
        auditLog = new AuditLog(
                memory, 1, ComponentDevelopmentStatus.SAMPLE, "Stand-in daemon", "An integration daemon for tests", null);
        boolean serial = config.path("synchronized").asBoolean(true);
        dispatch = new Dispatch(
                serial, era.knowsStaticEvents(), config.path("failRegister").asText(null), auditLog);
    }

    String serverName() {
        return config.path("serverName").asText("standin");
    }

    Era era() {
        return era;
    }

    Dispatch dispatch() {
        return dispatch;
    }

    SecondListener second() {
        return second;
    }

    List<Map<String, Object>> records() {
        return memory.records();
    }

    /** Starts the second listener, before or after the connectors, and the connectors. */
    synchronized void start() {
        String place = config.path("secondListener").asText("none");
        if (place.equals("first")) {
            era.listen(dispatch, second);
        }
        connect();
        if (place.equals("last")) {
            era.listen(dispatch, second);
        }
        long seconds = config.path("refreshSeconds").asLong(0);
        if (seconds > 0) {
            clock = Executors.newSingleThreadScheduledExecutor();
            clock.scheduleWithFixedDelay(this::refresh, seconds, seconds, TimeUnit.SECONDS);
        }
    }

    private void connect() {
        for (JsonNode connector : config.path("connectors")) {
            Handler handler = new Handler(era, dispatch, auditLog, connector);
            handlers.put(handler.name(), handler);
            handler.reinitialize();
        }
    }

    /** Refreshes the connectors that have not failed. */
    synchronized void refresh() {
        handlers.values().forEach(Handler::refresh);
    }

    /** Makes the connectors anew, as the daemon's restart command does. */
    synchronized void restart() {
        handlers.values().forEach(Handler::reinitialize);
    }

    /** As the daemon's commands for a connector's properties and its endpoint do. */
    synchronized void setProperties(String name, JsonNode properties) {
        handlers.get(name).setProperties(properties);
    }

    synchronized void setEndpoint(String name, String address) {
        handlers.get(name).setEndpoint(address);
    }

    synchronized void stop() {
        if (clock != null) {
            clock.shutdownNow();
        }
        handlers.values().forEach(Handler::disconnect);
        handlers.clear();
    }

    synchronized List<Map<String, Object>> status() {
        return handlers.values().stream().map(Handler::status).toList();
    }
}
