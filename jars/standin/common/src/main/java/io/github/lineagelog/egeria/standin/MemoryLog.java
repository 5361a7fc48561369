/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.odpi.openmetadata.frameworks.auditlog.AuditLogDestination;
import org.odpi.openmetadata.frameworks.auditlog.AuditLogRecord;

/** An audit log destination that tests can read: the last ten thousand records. */
final class MemoryLog extends AuditLogDestination {
    private static final int KEPT = 10_000;

    private final Deque<Map<String, Object>> records = new ArrayDeque<>();

    MemoryLog(String serverName) {
        super(Map.of("serverName", serverName));
    }

    @Override
    public synchronized void addLogRecord(AuditLogRecord logRecord) {
        Map<String, Object> record = new LinkedHashMap<>();
        record.put("messageId", logRecord.getMessageId());
        record.put("severity", logRecord.getSeverity());
        record.put("severityCode", logRecord.getSeverityCode());
        record.put("text", logRecord.getMessageText());
        record.put("parameters", logRecord.getMessageParameters());
        record.put("systemAction", logRecord.getSystemAction());
        record.put("userAction", logRecord.getUserAction());
        record.put("action", logRecord.getActionDescription());
        record.put("component", logRecord.getOriginatorComponent().getComponentName());
        record.put("exception", logRecord.getExceptionMessage());
        records.addLast(record);
        if (records.size() > KEPT) {
            records.removeFirst();
        }
    }

    synchronized List<Map<String, Object>> records() {
        return List.copyOf(records);
    }
}
