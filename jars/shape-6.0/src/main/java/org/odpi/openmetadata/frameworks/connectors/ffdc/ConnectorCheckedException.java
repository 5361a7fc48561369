/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.connectors.ffdc;

import org.odpi.openmetadata.frameworks.auditlog.MessageFormatter;
import org.odpi.openmetadata.frameworks.auditlog.messagesets.ExceptionMessageDefinition;

/** A connector cannot do its work (signatures of Egeria 6.0). */
public class ConnectorCheckedException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String messageId;

    public ConnectorCheckedException(ExceptionMessageDefinition message, String className, String actionDescription) {
        super(new MessageFormatter().getFormattedMessage(message));
        messageId = message.getMessageId();
    }

    public ConnectorCheckedException(
            ExceptionMessageDefinition message, String className, String actionDescription, Exception caught) {
        super(new MessageFormatter().getFormattedMessage(message), caught);
        messageId = message.getMessageId();
        caught.getClass(); // the real one asks it for its name, too
    }

    public String getReportedErrorMessageId() {
        return messageId;
    }
}
