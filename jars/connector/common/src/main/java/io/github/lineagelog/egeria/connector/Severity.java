/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import org.odpi.openmetadata.frameworks.auditlog.messagesets.AuditLogRecordSeverity;

/**
 * The severities that our messages use, with the codes and names of Egeria's own list, which audit log destinations
 * filter by. (Egeria's enum lies in different places in 4.3 and 6.0.)
 */
enum Severity implements AuditLogRecordSeverity {
    INFO(1, "Information", "The server is providing information about its normal operation."),
    ACTION(4, "Action", "Action is required by the administrator."),
    ERROR(5, "Error", "An error occurred. This may restrict some of the server's operations."),
    STARTUP(8, "Startup", "A new component is starting up."),
    SHUTDOWN(9, "Shutdown", "An existing component is shutting down.");

    private final int code;
    private final String severityName;
    private final String description;

    Severity(int code, String severityName, String description) {
        this.code = code;
        this.severityName = severityName;
        this.description = description;
    }

    @Override
    public int getOrdinal() {
        return code;
    }

    @Override
    public String getName() {
        return severityName;
    }

    @Override
    public String getDescription() {
        return description;
    }
}
