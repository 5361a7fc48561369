/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import org.odpi.openmetadata.frameworks.auditlog.messagesets.ExceptionMessageDefinition;
import org.odpi.openmetadata.frameworks.auditlog.messagesets.ExceptionMessageSet;

/** The exceptions that the connector throws to the integration daemon. */
public enum ErrorCode implements ExceptionMessageSet {
    PYTHON_ABSENT(
            503,
            "LINEAGELOG-CONNECTOR-503-001",
            "The {0} integration connector cannot start: {1}",
            "The connector is not started. Events are not logged by it.",
            "Start the integration daemon with the command: lineagelog daemon --platform PATH --config daemon.toml. It runs the platform together with the Python side of the connector."),

    CORE_ABSENT(
            503,
            "LINEAGELOG-CONNECTOR-503-002",
            "The {0} integration connector cannot start, because lineagelog-egeria-core.jar is not on the class path of the Java virtual machine: {1}",
            "The connector is not started. Events are not logged by it.",
            "Start the integration daemon with the command: lineagelog daemon --platform PATH --config daemon.toml. It puts the jar where it belongs. A copy of it inside the platform is not needed."),

    REFUSED(
            400,
            "LINEAGELOG-CONNECTOR-400-003",
            "The {0} integration connector could not {1}: {2}",
            "The connector is not started. Events are not logged by it.",
            "Correct the cause named in the message, which is usually a value in the connection of the connector, then restart the connector."),

    NO_LISTENER(
            500,
            "LINEAGELOG-CONNECTOR-500-004",
            "The {0} integration connector cannot receive OpenLineage events: {1}",
            "The connector is not started. Events are not logged by it.",
            "Check that this version of Egeria is one that the connector supports and that the connector class is the one for it: package v4 for Egeria 4.3, package v6 for Egeria 6.");

    private final int httpErrorCode;
    private final String messageId;
    private final String template;
    private final String systemAction;
    private final String userAction;

    ErrorCode(int httpErrorCode, String messageId, String template, String systemAction, String userAction) {
        this.httpErrorCode = httpErrorCode;
        this.messageId = messageId;
        this.template = template;
        this.systemAction = systemAction;
        this.userAction = userAction;
    }

    @Override
    public ExceptionMessageDefinition getMessageDefinition() {
        return new ExceptionMessageDefinition(httpErrorCode, messageId, template, systemAction, userAction);
    }

    @Override
    public ExceptionMessageDefinition getMessageDefinition(String... params) {
        ExceptionMessageDefinition definition = getMessageDefinition();
        definition.setMessageParameters(params);
        return definition;
    }
}
