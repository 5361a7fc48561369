/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import org.odpi.openmetadata.frameworks.auditlog.messagesets.ExceptionMessageDefinition;

/** Why a life cycle call failed; the connector turns it into the ConnectorCheckedException of its version of Egeria. */
public final class LinkException extends Exception {
    private static final long serialVersionUID = 1L;

    private final transient ExceptionMessageDefinition definition;

    LinkException(ExceptionMessageDefinition definition, Throwable cause) {
        super(definition.getMessageId(), cause);
        this.definition = definition;
    }

    public ExceptionMessageDefinition definition() {
        return definition;
    }
}
