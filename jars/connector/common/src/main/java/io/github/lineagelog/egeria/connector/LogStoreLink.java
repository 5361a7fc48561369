/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import io.github.lineagelog.egeria.Bridge;
import io.github.lineagelog.egeria.BridgeException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.odpi.openmetadata.frameworks.auditlog.AuditLog;
import org.odpi.openmetadata.frameworks.auditlog.messagesets.AuditLogMessageDefinition;

/** The life of a connector and the way of its events, whatever the version of Egeria. */
public final class LogStoreLink {
    private static final long START_MILLIS = 60_000;
    private static final long REFRESH_MILLIS = 30_000;
    /** Less than the ten seconds in which a daemon should stop. */
    private static final long DISCONNECT_MILLIS = 5_000;

    private static final List<String> FIGURES = List.of(
            "stored", "duplicate", "expired", "dead", "spooled", "waiting", "lag_seconds", "database");
    private static final AtomicLong COUNTER = new AtomicLong();

    private final String name;
    private final String id;
    private final AuditLog auditLog;
    private volatile boolean listening = false;

    /**
     * @param name the connector's name in the daemon
     * @param instanceId the id that the connector provider gave to this instance, or null
     * @param auditLog the daemon's, or null
     */
    public LogStoreLink(String name, String instanceId, AuditLog auditLog) {
        this.name = name == null ? ConnectorDescription.DISPLAY_NAME : name;
        this.id = instanceId == null ? this.name + "-" + COUNTER.incrementAndGet() : instanceId;
        this.auditLog = auditLog;
    }

    /**
     * Initializes and starts the Python side, then registers for the events.
     *
     * @param settings what the connection says: address, properties, userId, clearPassword, securedProperties, era
     * @param context the object the daemon gave to the connector
     * @param listenerClass the listener interface of this version of Egeria
     */
    public void start(Map<String, Object> settings, Object context, String listenerClass) throws LinkException {
        try {
            requirePython();
            Map<String, Object> argument = new HashMap<>(settings);
            argument.put("name", name);
            ask("initialize", Json.write(argument));
            Map<String, Object> answer = ask("start", "{}");
            listening = true;
            register(context, listenerClass);
            log("start", AuditCode.STARTED.getMessageDefinition(name, text(answer, "store"), text(answer, "spooled")));
        } catch (LinkException failed) {
            listening = false;
            log("start", AuditCode.NOT_STARTED.getMessageDefinition(name, reason(failed)));
            throw failed;
        }
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
        } catch (ReflectiveOperationException unknown) {
            quietlyDisconnect();
            String reason = unknown.getClass().getSimpleName() + ": " + unknown.getMessage();
            throw new LinkException(ErrorCode.NO_LISTENER.getMessageDefinition(name, reason), unknown);
        }
    }

    private void quietlyDisconnect() {
        try {
            ask("disconnect", "{}");
        } catch (LinkException ignored) {
            log("start", AuditCode.STOPPED_WITHOUT_FIGURES.getMessageDefinition(name, reason(ignored)));
        }
    }

    /** Writes the health figures to the audit log. */
    public void refresh() throws LinkException {
        try {
            Map<String, Object> answer = ask("refresh", "{}");
            boolean away = answer.get("database") instanceof String state && state.startsWith("away");
            AuditCode code = away ? AuditCode.DATABASE_AWAY : AuditCode.HEALTH;
            log("refresh", code.getMessageDefinition(figures(answer)));
        } catch (LinkException failed) {
            log("refresh", AuditCode.NOT_REFRESHED.getMessageDefinition(name, reason(failed)));
            String[] parameters = {name, reason(failed)};
            throw new LinkException(ErrorCode.NOT_REFRESHED.getMessageDefinition(parameters), failed);
        }
    }

    /** Takes no more events and writes the final figures to the audit log; it never fails. */
    public void disconnect() {
        listening = false;
        try {
            Map<String, Object> answer = ask("disconnect", "{}");
            log("disconnect", AuditCode.STOPPED.getMessageDefinition(figures(answer)));
        } catch (LinkException failed) {
            log("disconnect", AuditCode.STOPPED_WITHOUT_FIGURES.getMessageDefinition(name, reason(failed)));
        }
    }

    /** One event: returns when it is stored or spooled. A daemon keeps the listeners of stopped connectors: ignored. */
    private void accept(String kind, String raw) {
        if (!listening) {
            return;
        }
        if (raw == null) {
            log("processOpenLineageEvent", AuditCode.NO_EVENT.getMessageDefinition(name, kind));
            return;
        }
        try {
            Bridge.events().deliver(id, kind, raw);
        } catch (BridgeException refused) {
            throw notKept(kind, refused.getMessage(), refused);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw notKept(kind, "the thread was interrupted while the event waited for the log store", interrupted);
        }
    }

    private EventNotKeptException notKept(String kind, String reason, Exception cause) {
        log("processOpenLineageEvent", AuditCode.EVENT_NOT_KEPT.getMessageDefinition(name, kind, reason));
        return new EventNotKeptException(reason, cause);
    }

    private Map<String, Object> ask(String operation, String argument) throws LinkException {
        long millis = switch (operation) {
            case "refresh" -> REFRESH_MILLIS;
            case "disconnect" -> DISCONNECT_MILLIS;
            default -> START_MILLIS;
        };
        try {
            return Json.read(Bridge.calls().call(id, operation, argument, millis));
        } catch (BridgeException | IllegalArgumentException refused) {
            throw refused(operation, refused.getMessage(), refused);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw refused(operation, "the thread was interrupted", interrupted);
        }
    }

    private LinkException refused(String operation, String reason, Exception cause) {
        return new LinkException(ErrorCode.REFUSED.getMessageDefinition(name, operation, reason), cause);
    }

    /** The last parameter of each of our messages is the reason. */
    private static String reason(LinkException failed) {
        String[] parameters = failed.definition().getMessageParams();
        return parameters[parameters.length - 1];
    }

    private String[] figures(Map<String, Object> answer) {
        List<String> parameters = new ArrayList<>(List.of(name));
        FIGURES.forEach(figure -> parameters.add(text(answer, figure)));
        return parameters.toArray(new String[0]);
    }

    private static String text(Map<String, Object> answer, String key) {
        Object value = answer.get(key);
        return value == null ? "unknown" : value.toString();
    }

    private void log(String action, AuditLogMessageDefinition message) {
        if (auditLog != null) {
            auditLog.logMessage(action, message);
        }
    }
}
