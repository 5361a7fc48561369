/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.odpi.openmetadata.frameworks.auditlog.AuditLog;

/**
 * How a daemon passes an OpenLineage event on: one event after the other, to one listener after the other, on the thread
 * that publishes it. What cannot be parsed is audited and passed on without a bean; what a listener throws is audited, too.
 */
public final class Dispatch {
    /** Takes an event; the bean is null when the event could not be parsed. */
    public interface Listener {
        void accept(String kind, RunEvent bean, String raw);
    }

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final List<Listener> listeners = new CopyOnWriteArrayList<>();
    private final Object turn = new Object();
    private final AtomicLong failures = new AtomicLong();
    private final boolean serial;
    private final boolean staticEvents;
    private final AuditLog auditLog;

    private final String failRegister;

    /**
     * @param failRegister a text to throw when a listener is registered, or null
     */
    Dispatch(boolean serial, boolean staticEvents, String failRegister, AuditLog auditLog) {
        this.failRegister = failRegister;
        this.serial = serial;
        this.staticEvents = staticEvents;
        this.auditLog = auditLog;
    }

    public void register(Listener listener) {
        inTurn(() -> {
            if (failRegister != null) {
                throw new IllegalStateException(failRegister);
            }
            listeners.add(listener);
        });
    }

    /** How often a listener threw. */
    public long failures() {
        return failures.get();
    }

    /** An event as it came. */
    public void publish(String raw) {
        inTurn(() -> {
            String kind = "run";
            RunEvent bean = null;
            try {
                JsonNode tree = MAPPER.readTree(raw);
                kind = kind(tree);
                bean = MAPPER.treeToValue(tree, RunEvent.class);
            } catch (JsonProcessingException | IllegalArgumentException notAnEvent) {
                auditLog.logException("publishOpenLineageRunEvent", Message.PARSE_FAILED.with(raw), notAnEvent);
            }
            toAll(kind, bean, raw);
        });
    }

    /** An event as a bean: the raw event is made from it. */
    public void publish(RunEvent bean) {
        inTurn(() -> {
            try {
                JsonNode tree = MAPPER.valueToTree(bean);
                toAll(kind(tree), bean, MAPPER.writeValueAsString(bean));
            } catch (JsonProcessingException impossible) {
                throw new IllegalStateException(impossible);
            }
        });
    }

    private String kind(JsonNode tree) {
        if (!staticEvents || tree.has("run")) {
            return "run";
        }
        return tree.has("dataset") ? "dataset" : tree.has("job") ? "job" : "run";
    }

    private void inTurn(Runnable work) {
        if (!serial) {
            work.run();
            return;
        }
        synchronized (turn) {
            work.run();
        }
    }

    private void toAll(String kind, RunEvent bean, String raw) {
        for (Listener listener : listeners) {
            try {
                listener.accept(kind, bean, raw);
            } catch (Exception thrown) {
                failures.incrementAndGet();
                String name = listener.getClass().getName();
                String text = String.valueOf(thrown.getMessage());
                auditLog.logException(
                        "publishOpenLineageRunEvent",
                        Message.LISTENER_FAILED.with(name, thrown.getClass().getName(), text),
                        thrown);
            }
        }
    }
}
