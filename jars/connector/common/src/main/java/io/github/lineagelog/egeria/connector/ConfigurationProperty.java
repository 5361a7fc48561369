/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import java.util.Arrays;
import java.util.List;

/** The configuration properties of the connection that the connector understands; the Python side reads them. */
public enum ConfigurationProperty {
    SCHEMA("schema", "Name of the database schema that holds the log store. Default: openlineage."),
    SECRETS_FILE("secretsFile", "File on the daemon's machine with the database password, kept out of the connection."),
    SPOOL_FOLDER("spoolFolder", "Folder for the events that arrive while the database is away."),
    SPOOL_MAX_MEGABYTES("spoolMaxMegabytes", "How much the spool may hold before events are refused."),
    DATABASE_WAIT_SECONDS("databaseWaitSeconds", "How long an event waits for the database before it goes to the spool."),
    STRICT("strict", "Whether events must also be valid by the OpenLineage JSON schemas."),
    MAX_EVENT_MEGABYTES("maxEventMegabytes", "The largest event that is accepted.");

    private final String propertyName;
    private final String description;

    ConfigurationProperty(String propertyName, String description) {
        this.propertyName = propertyName;
        this.description = description;
    }

    public String getName() {
        return propertyName;
    }

    public String getDescription() {
        return description;
    }

    /** The names, as a provider declares them in its connector type. */
    public static List<String> names() {
        return Arrays.stream(values()).map(ConfigurationProperty::getName).toList();
    }
}
