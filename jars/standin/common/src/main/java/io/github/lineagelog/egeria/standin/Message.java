/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import org.odpi.openmetadata.frameworks.auditlog.messagesets.AuditLogMessageDefinition;
import org.odpi.openmetadata.frameworks.auditlog.messagesets.AuditLogRecordSeverity;

/** What the daemon itself writes to the audit log. */
enum Message {
    PARSE_FAILED("OIF-CONNECTOR-0005", "An OpenLineage event could not be parsed: {0}"),
    LISTENER_FAILED("OIF-CONNECTOR-0006", "An OpenLineage listener {0} threw {1} with the message {2}"),
    CONNECTOR_FAILED("STAND-IN-0001", "The connector {0} failed to {1}: {2}");

    private final String id;
    private final String template;

    Message(String id, String template) {
        this.id = id;
        this.template = template;
    }

    AuditLogMessageDefinition with(String... parameters) {
        AuditLogMessageDefinition definition =
                new AuditLogMessageDefinition(id, new Failure(), template, "The daemon continues.", "Read the message.");
        definition.setMessageParameters(parameters);
        return definition;
    }

    /** Egeria's severity of an exception. */
    private static final class Failure implements AuditLogRecordSeverity {
        @Override
        public int getOrdinal() {
            return 6;
        }

        @Override
        public String getName() {
            return "Exception";
        }

        @Override
        public String getDescription() {
            return "An unexpected exception occurred.";
        }
    }
}
