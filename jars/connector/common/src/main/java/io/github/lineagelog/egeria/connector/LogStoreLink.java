/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import io.github.lineagelog.egeria.Bridge;
import io.github.lineagelog.egeria.BridgeException;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.odpi.openmetadata.frameworks.auditlog.AuditLog;
import org.odpi.openmetadata.frameworks.auditlog.messagesets.AuditLogMessageDefinition;

/** The life of a connector and the way of its events, whatever the version of Egeria. */
public final class LogStoreLink {
    private static final long START_MILLIS = 60_000;
    private static final long REFRESH_MILLIS = 30_000;
    /** Less than the ten seconds in which a daemon should stop. */
    private static final long DISCONNECT_MILLIS = 5_000;
    private static final long RECORD_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final List<String> METRICS = List.of(
            "stored", "duplicate", "expired", "dead", "spooled", "waiting", "last_event_age_seconds", "database");
    private static final AtomicLong COUNTER = new AtomicLong();

    private final String name;
    private final String id;
    /** What this instance has in common with those before and after it: a platform may run several daemons. */
    private final String connector;
    private final AuditLog auditLog;
    private final AtomicLong refused = new AtomicLong();
    private final Limiter refusals = new Limiter(RECORD_NANOS, System::nanoTime);
    private final Limiter empties = new Limiter(RECORD_NANOS, System::nanoTime);
    private volatile boolean listening = false;

    /**
     * @param name the connector's name in the daemon
     * @param instanceId the id that the connector provider gave to this instance, or null
     * @param auditLog the daemon's, or null
     */
    public LogStoreLink(String name, String instanceId, AuditLog auditLog) {
        this.name = name == null ? ConnectorDescription.DISPLAY_NAME : name;
        this.id = instanceId == null ? this.name + "-" + COUNTER.incrementAndGet() : instanceId;
        this.connector = server(auditLog) + "/" + this.name;
        this.auditLog = auditLog;
    }

    private static String server(AuditLog auditLog) {
        Map<String, String> originator = auditLog == null ? null : auditLog.getOriginatorProperties();
        return originator == null ? "" : String.valueOf(originator.get("serverName"));
    }

    /**
     * Initializes and starts the Python side, registers for the events, and takes the place of the instance before.
     *
     * <p>A daemon never tries a start again that has failed; it catches exceptions and no errors.
     *
     * @param settings what the connection says: address, properties, userId, clearPassword, securedProperties, era
     * @param context the object the daemon gave to the connector
     * @param listenerClass the listener interface of this version of Egeria
     */
    public void start(Map<String, Object> settings, Object context, String listenerClass) throws LinkException {
        try {
            begin(settings, context, listenerClass);
        } catch (LinkException failed) {
            throw notStarted(failed);
        } catch (RuntimeException | LinkageError | VirtualMachineError broken) {
            throw notStarted(refused("start", broken.toString(), broken));
        }
    }

    private void begin(Map<String, Object> settings, Object context, String listenerClass) throws LinkException {
        requirePython();
        Map<String, Object> argument = new HashMap<>(settings);
        argument.put("name", name);
        Map<String, Object> initialized = ask("initialize", Json.write(argument));
        Map<String, Object> answer = ask("start", "{}");
        listening = true;
        register(context, listenerClass); // until the next line, events are still those of the instance before
        String before = Bridge.instances().enter(connector, id);
        log("start", AuditCode.STARTED.getMessageDefinition(name, text(answer, "store"), text(answer, "spooled")));
        if (initialized.get("unknown") instanceof List<?> unknown && !unknown.isEmpty()) {
            String known = String.join(", ", ConfigurationProperty.names());
            log("start", AuditCode.UNKNOWN_PROPERTIES.getMessageDefinition(name, listed(unknown), known));
        }
        if (before != null) {
            replace(before);
        }
    }

    /** This version of Egeria has not what the connector was made for. */
    public LinkException misfit(LinkageError missing) {
        return notStarted(new LinkException(ErrorCode.NO_LISTENER.getMessageDefinition(name, missing.toString()), missing));
    }

    private LinkException notStarted(LinkException failed) {
        listening = false;
        log("start", AuditCode.NOT_STARTED.getMessageDefinition(name, reason(failed)));
        return failed;
    }

    private void requirePython() throws LinkException {
        try {
            if (!Bridge.attached()) {
                throw new LinkException(ErrorCode.PYTHON_ABSENT.getMessageDefinition(name, Bridge.NOT_ATTACHED), null);
            }
        } catch (LinkageError absent) {
            throw new LinkException(ErrorCode.CORE_ABSENT.getMessageDefinition(name, absent.toString()), absent);
        }
    }

    private void register(Object context, String listenerClass) throws LinkException {
        try {
            if (context == null) {
                throw new NoSuchMethodException("the daemon has not given a context to the connector");
            }
            Listener.register(context, listenerClass, this::accept);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError unknown) {
            listening = false;
            quietlyDisconnect();
            Throwable cause = unknown instanceof InvocationTargetException && unknown.getCause() != null
                    ? unknown.getCause()
                    : unknown;
            throw new LinkException(ErrorCode.NO_LISTENER.getMessageDefinition(name, cause.toString()), cause);
        }
    }

    private void quietlyDisconnect() {
        try {
            ask("disconnect", "{}");
        } catch (LinkException ignored) {
            log("start", AuditCode.STOPPED_WITHOUT_METRICS.getMessageDefinition(name, reason(ignored)));
        }
    }

    /** Newer daemons do not disconnect an instance that waits for its next refresh: its successor does. */
    private void replace(String before) {
        try {
            Map<String, Object> answer = ask("replace", Json.write(Map.of("id", before)));
            log("start", AuditCode.REPLACED.getMessageDefinition(metrics(answer)));
        } catch (LinkException failed) {
            log("start", AuditCode.NOT_REPLACED.getMessageDefinition(name, reason(failed)));
        }
    }

    /** Writes the health metrics to the audit log; it never fails, because a daemon would never refresh again. */
    public void refresh() {
        try {
            Map<String, Object> answer = ask("refresh", "{}");
            boolean away = answer.get("database") instanceof String state && state.startsWith("away");
            AuditCode code = away ? AuditCode.DATABASE_AWAY : AuditCode.HEALTH;
            log("refresh", code.getMessageDefinition(metrics(answer)));
        } catch (LinkException failed) {
            log("refresh", AuditCode.NOT_REFRESHED.getMessageDefinition(name, reason(failed)));
        } catch (RuntimeException | LinkageError | VirtualMachineError broken) {
            log("refresh", AuditCode.NOT_REFRESHED.getMessageDefinition(name, broken.toString()));
        }
    }

    /** Takes no more events and writes the final metrics to the audit log; it never fails. */
    public void disconnect() {
        listening = false;
        Bridge.instances().leave(connector, id);
        try {
            Map<String, Object> answer = ask("disconnect", "{}");
            log("disconnect", AuditCode.STOPPED.getMessageDefinition(metrics(answer)));
        } catch (LinkException failed) {
            log("disconnect", AuditCode.STOPPED_WITHOUT_METRICS.getMessageDefinition(name, reason(failed)));
        }
    }

    /** One event: returns when it is stored or spooled. Daemons keep the listeners of former instances: ignored. */
    private void accept(String kind, String raw) {
        if (!listening || !Bridge.instances().mayTake(connector, id)) {
            return;
        }
        if (raw == null) {
            empties.admit().ifPresent(others -> log(
                    "processOpenLineageEvent",
                    AuditCode.NO_EVENT.getMessageDefinition(name, kind, Long.toString(others))));
            return;
        }
        try {
            Bridge.events().deliver(id, kind, raw);
        } catch (BridgeException failed) {
            throw notKept(kind, failed.getMessage(), failed);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw notKept(kind, "the thread was interrupted while the event waited for the log store", interrupted);
        } catch (VirtualMachineError | LinkageError exhausted) { // an error would keep the event from the other listeners, too
            throw notKept(kind, exhausted.toString(), exhausted);
        }
    }

    private EventNotKeptException notKept(String kind, String reason, Throwable cause) {
        refused.incrementAndGet();
        refusals.admit().ifPresent(others -> log(
                "processOpenLineageEvent",
                AuditCode.EVENT_NOT_KEPT.getMessageDefinition(name, kind, reason, Long.toString(others))));
        return new EventNotKeptException(reason, cause);
    }

    private Map<String, Object> ask(String operation, String argument) throws LinkException {
        long millis = switch (operation) {
            case "refresh", "replace" -> REFRESH_MILLIS;
            case "disconnect" -> DISCONNECT_MILLIS;
            default -> START_MILLIS;
        };
        try {
            return Json.read(Bridge.calls().call(id, operation, argument, millis));
        } catch (BridgeException | IllegalArgumentException failed) {
            throw refused(operation, failed.getMessage(), failed);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw refused(operation, "the thread was interrupted", interrupted);
        }
    }

    private LinkException refused(String operation, String reason, Throwable cause) {
        return new LinkException(ErrorCode.REFUSED.getMessageDefinition(name, operation, reason), cause);
    }

    /** The last parameter of each of our messages is the reason. */
    private static String reason(LinkException failed) {
        String[] parameters = failed.definition().getMessageParams();
        return parameters[parameters.length - 1];
    }

    private String[] metrics(Map<String, Object> answer) {
        List<String> parameters = new ArrayList<>(List.of(name));
        METRICS.forEach(metric -> parameters.add(text(answer, metric)));
        parameters.add(refused.toString());
        return parameters.toArray(new String[0]);
    }

    private static String listed(List<?> names) {
        return String.join(", ", names.stream().map(String::valueOf).toList());
    }

    private static String text(Map<String, Object> answer, String key) {
        Object value = answer.get(key);
        return value == null ? "unknown" : value.toString();
    }

    /** An audit log that fails must cost no event, and no connector its start. */
    private void log(String action, AuditLogMessageDefinition message) {
        try {
            if (auditLog != null) {
                auditLog.logMessage(action, message);
            }
        } catch (RuntimeException | VirtualMachineError unable) {
            return;
        }
    }
}
