/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.regex.Pattern;
import org.odpi.openmetadata.frameworks.auditlog.AuditLog;

/** One version of Egeria: how its connectors are made and what its listeners look like. */
public interface Era {
    String name();

    /** The path of the daemon's REST call that publishes an event. */
    Pattern publishPath();

    /** Whether the daemon tells job and dataset events from run events. */
    boolean knowsStaticEvents();

    /**
     * Whether a daemon disconnects a connector that it has started. Newer ones do so in the states RUNNING and FAILED only,
     * and a connector without a thread of its own is WAITING between its refreshes.
     */
    boolean disconnectsWhatWaits();

    /**
     * Makes a connector by its provider, as the daemon does, ready to start.
     *
     * @param connection as in the configuration of the daemon
     */
    Connected connect(String name, JsonNode connection, Dispatch dispatch, AuditLog auditLog) throws Exception;

    /** Registers a listener of this version that passes on what it gets. */
    void listen(Dispatch dispatch, Dispatch.Listener listener);

    /** A connector of this version. */
    interface Connected {
        void start() throws Exception;

        void refresh() throws Exception;

        void disconnect() throws Exception;

        /** What the catalog shows of the connector's type. */
        Object connectorType();
    }
}
