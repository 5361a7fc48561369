/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import org.odpi.openmetadata.frameworks.auditlog.messagesets.AuditLogMessageDefinition;
import org.odpi.openmetadata.frameworks.auditlog.messagesets.AuditLogMessageSet;

/** What the connector writes to the audit log of the integration daemon. */
public enum AuditCode implements AuditLogMessageSet {
    STARTED(
            "LINEAGELOG-CONNECTOR-0001",
            Severity.STARTUP,
            "The {0} integration connector has started to log OpenLineage events in {1}; {2} events from an earlier run are waiting in its spool",
            "The connector is registered for the OpenLineage events of this integration daemon. Each event is acknowledged when it is committed to the log store or written to the spool.",
            "No action is needed. If the number of events in the spool is not zero, check with the next refresh that it falls."),

    HEALTH(
            "LINEAGELOG-CONNECTOR-0002",
            Severity.INFO,
            "The {0} integration connector is logging: stored {1}, duplicate {2}, expired {3}, dead {4}, refused {9}, in the spool {5}, waiting {6}, database {8}; the last event was {7} seconds old when it was stored",
            "The connector continues to log OpenLineage events. The metrics count from its start.",
            "If events are dead, list the dead letters of the log store to see why they could not be read; they are kept. If events were refused, look for the records LINEAGELOG-CONNECTOR-0005: those events are lost unless their producers send them again."),

    DATABASE_AWAY(
            "LINEAGELOG-CONNECTOR-0003",
            Severity.ACTION,
            "The {0} integration connector cannot reach its log store ({8}): stored {1}, duplicate {2}, expired {3}, dead {4}, refused {9}, in the spool {5}, waiting {6}; the last event was {7} seconds old when it was stored",
            "The connector writes the events that arrive to its spool on disk. They are moved to the log store when it can be reached again. No event is lost unless the spool is full.",
            "Restore the connection to the database. Watch the size of the spool."),

    NOT_REFRESHED(
            "LINEAGELOG-CONNECTOR-0004",
            Severity.ERROR,
            "The {0} integration connector could not be asked for its metrics: {1}",
            "The refresh is not reported as failed to the integration daemon, because it would never refresh the connector again. Events continue to be received if the Python side of the connector is running.",
            "Read the reason in the message. If the Python side has ended, restart the integration daemon with the command: lineagelog daemon"),

    EVENT_NOT_KEPT(
            "LINEAGELOG-CONNECTOR-0005",
            Severity.ERROR,
            "The {0} integration connector could not keep an OpenLineage {1} event: {2}; {3} others were refused since the record before",
            "The event is neither in the log store nor in the spool. The exception is passed to the integration daemon, which records each such event and passes it to the other listeners. This record is written once a minute at most.",
            "Remove the cause named in the message, then have the event sent again by its producer. Sending an event twice is harmless, because the log store keeps it once."),

    NO_EVENT(
            "LINEAGELOG-CONNECTOR-0006",
            Severity.ERROR,
            "The {0} integration connector was called with an OpenLineage {1} event that had neither a raw event nor a bean that can be written as JSON; {2} others since the record before",
            "The call is ignored, because there is nothing to store. This record is written once a minute at most.",
            "Look for the record of the integration daemon that precedes this one. It tells where the event came from."),

    STOPPED(
            "LINEAGELOG-CONNECTOR-0007",
            Severity.SHUTDOWN,
            "The {0} integration connector has stopped logging OpenLineage events: stored {1}, duplicate {2}, expired {3}, dead {4}, refused {9}, in the spool {5}, waiting {6}, database {8}; the last event was {7} seconds old when it was stored",
            "The connector ignores the events that are published from now on. The events in the spool are moved to the log store while the process of the integration daemon runs, else by the next start.",
            "No action is needed if the connector was stopped on purpose."),

    STOPPED_WITHOUT_METRICS(
            "LINEAGELOG-CONNECTOR-0008",
            Severity.SHUTDOWN,
            "The {0} integration connector has stopped logging OpenLineage events; its final metrics are not known: {1}",
            "The connector ignores the events that are published from now on.",
            "No action is needed if the integration daemon is shutting down."),

    NOT_STARTED(
            "LINEAGELOG-CONNECTOR-0009",
            Severity.ERROR,
            "The {0} integration connector could not start: {1}",
            "This instance of the connector receives no OpenLineage events. An instance that is running in this integration daemon goes on with the settings that it was started with.",
            "Correct the cause named in the message, then restart the connector: the integration daemon does not try again by itself."),

    REPLACED(
            "LINEAGELOG-CONNECTOR-0010",
            Severity.INFO,
            "The {0} integration connector has taken the place of its instance before, which stored {1}, duplicate {2}, expired {3}, dead {4}, in the spool {5}, database {8}",
            "The instance before ignores the events that are published from now on. What is in its spool is moved to the log store that it was started with, while that can be reached.",
            "No action is needed. If events stay in that spool, restore the connection to the database that the connector had before."),

    NOT_REPLACED(
            "LINEAGELOG-CONNECTOR-0011",
            Severity.ERROR,
            "The {0} integration connector has taken the place of its instance before, whose resources could not be given back: {1}",
            "The instance before ignores the events that are published from now on. It may hold connections to its database until the process ends.",
            "No action is needed unless it happens often; then restart the integration daemon with the command: lineagelog daemon"),

    UNKNOWN_PROPERTIES(
            "LINEAGELOG-CONNECTOR-0012",
            Severity.ACTION,
            "The {0} integration connector does not know these configuration properties of its connection, which are most likely misspelt: {1}",
            "The properties are ignored. The connector works with the others.",
            "Correct the names; those that the connector knows are: {2}");

    private final String messageId;
    private final Severity severity;
    private final String template;
    private final String systemAction;
    private final String userAction;

    AuditCode(String messageId, Severity severity, String template, String systemAction, String userAction) {
        this.messageId = messageId;
        this.severity = severity;
        this.template = template;
        this.systemAction = systemAction;
        this.userAction = userAction;
    }

    @Override
    public AuditLogMessageDefinition getMessageDefinition() {
        return new AuditLogMessageDefinition(messageId, severity, template, systemAction, userAction);
    }

    @Override
    public AuditLogMessageDefinition getMessageDefinition(String... params) {
        AuditLogMessageDefinition definition = getMessageDefinition();
        definition.setMessageParameters(params);
        return definition;
    }
}
