/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.odpi.openmetadata.frameworks.auditlog.AuditLog;
import org.odpi.openmetadata.frameworks.auditlog.ComponentDevelopmentStatus;

/** The connectors of the daemon and their life: started in order, refreshed by the clock, disconnected at the end. */
final class Daemon {
    private final Era era;
    private final JsonNode config;
    private final MemoryLog memory;
    private final AuditLog auditLog;
    private final Dispatch dispatch;
    private final SecondListener second = new SecondListener();
    private final Map<String, Era.Connected> connectors = new LinkedHashMap<>();
    private final Map<String, String> errors = new LinkedHashMap<>();
    private ScheduledExecutorService clock = null;

    Daemon(Era era, JsonNode config) {
        this.era = era;
        this.config = config;
        memory = new MemoryLog(serverName());
        auditLog = new AuditLog(
                memory, 1, ComponentDevelopmentStatus.SAMPLE, "Stand-in daemon", "An integration daemon for tests", null);
        boolean serial = config.path("synchronized").asBoolean(true);
        dispatch = new Dispatch(serial, era.knowsStaticEvents(), auditLog);
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
            String name = connector.path("name").asText("connector");
            errors.remove(name);
            run(name, "start", () -> {
                Era.Connected connected = era.connect(name, connector.get("connection"), dispatch, auditLog);
                connectors.put(name, connected);
                connected.start();
            });
        }
    }

    /** Refreshes the connectors that run. */
    synchronized void refresh() {
        connectors.forEach((name, connector) -> {
            if (!errors.containsKey(name)) {
                run(name, "refresh", connector::refresh);
            }
        });
    }

    /** Disconnects the connectors and makes them anew, as the daemon's restart command does. */
    synchronized void restart() {
        disconnect();
        connect();
    }

    private void disconnect() {
        connectors.forEach((name, connector) -> run(name, "disconnect", connector::disconnect));
        connectors.clear();
    }

    synchronized void stop() {
        if (clock != null) {
            clock.shutdownNow();
        }
        disconnect();
    }

    synchronized List<Map<String, Object>> status() {
        List<Map<String, Object>> all = new ArrayList<>();
        connectors.forEach((name, connector) -> {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("name", name);
            one.put("state", errors.containsKey(name) ? "failed" : "running");
            one.put("error", errors.get(name));
            one.put("connectorType", connector.connectorType());
            all.add(one);
        });
        return all;
    }

    private interface Step {
        void run() throws Exception;
    }

    private void run(String name, String what, Step step) {
        try {
            step.run();
        } catch (Exception failed) {
            if (what.equals("start")) {
                errors.put(name, failed.getMessage());
            }
            String text = String.valueOf(failed.getMessage());
            auditLog.logException(what, Message.CONNECTOR_FAILED.with(name, what, text), failed);
        }
    }
}
