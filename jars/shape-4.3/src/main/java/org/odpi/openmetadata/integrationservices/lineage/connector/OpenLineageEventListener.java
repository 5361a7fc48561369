/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.integrationservices.lineage.connector;

import org.odpi.openmetadata.integrationservices.lineage.properties.OpenLineageRunEvent;

/** Receives the run events published in the daemon (signatures of Egeria 4.3). */
public interface OpenLineageEventListener {
    void processOpenLineageRunEvent(OpenLineageRunEvent event, String rawEvent);
}
