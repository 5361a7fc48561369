/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import org.odpi.openmetadata.frameworks.auditlog.AuditLogReportingComponent;
import org.odpi.openmetadata.frameworks.auditlog.ComponentDevelopmentStatus;

/** What both providers tell Egeria's catalog and audit log about the connector. */
public final class ConnectorDescription {
    /** Identifies our records in the audit log; outside the range that Egeria's own components use. */
    public static final int COMPONENT_ID = 56001;

    public static final String QUALIFIED_NAME = "Lineagelog::IntegrationConnector::Lineage::PostgreSQLOpenLineageLogStore";
    public static final String DISPLAY_NAME = "PostgreSQL OpenLineage Log Store Integration Connector";
    public static final String DESCRIPTION = "Connector that logs each OpenLineage event received by the integration daemon"
            + " in a PostgreSQL database, as received, and keeps a digest of the runs, data sets and data quality results"
            + " up to date. It is implemented in Python and runs in a daemon that is started with lineagelog daemon.";
    public static final String WIKI_PAGE = "https://openlineage.io/docs/";
    /** The version of lineagelog; newer versions of Egeria would else show their own. */
    public static final String VERSION = "0.1.0";
    public static final String SUPPORTED_ASSET_TYPE = "IntegrationConnector";

    /** Minutes between two refreshes, each of which writes the health metrics to the audit log. */
    public static final long REFRESH_MINUTES = 60;

    private ConnectorDescription() {}

    public static AuditLogReportingComponent component() {
        AuditLogReportingComponent component = new AuditLogReportingComponent();
        component.setComponentId(COMPONENT_ID);
        component.setComponentDevelopmentStatus(ComponentDevelopmentStatus.TECHNICAL_PREVIEW);
        component.setComponentName(QUALIFIED_NAME);
        component.setComponentDescription(DESCRIPTION);
        component.setComponentWikiURL(WIKI_PAGE);
        return component;
    }
}
