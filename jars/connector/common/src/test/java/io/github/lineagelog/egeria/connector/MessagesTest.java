/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.odpi.openmetadata.frameworks.auditlog.MessageFormatter;
import org.odpi.openmetadata.frameworks.auditlog.messagesets.MessageDefinition;

class MessagesTest {
    private static final String[] PARAMETERS = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"};

    private static List<MessageDefinition> all() {
        List<MessageDefinition> all = new ArrayList<>();
        for (AuditCode code : AuditCode.values()) {
            all.add(code.getMessageDefinition(PARAMETERS));
        }
        for (ErrorCode code : ErrorCode.values()) {
            all.add(code.getMessageDefinition(PARAMETERS));
        }
        return all;
    }

    @Test
    void identifiersAreOursAndUnique() {
        HashSet<String> seen = new HashSet<>();
        for (MessageDefinition message : all()) {
            assertTrue(message.getMessageId().matches("LINEAGELOG-CONNECTOR-(\\d{4}|\\d{3}-\\d{3})"), message.getMessageId());
            assertTrue(seen.add(message.getMessageId()));
        }
    }

    @Test
    void everyMessageFormatsAndSaysWhatHappensAndWhatToDo() {
        for (MessageDefinition message : all()) {
            String text = new MessageFormatter().getFormattedMessage(message);
            assertFalse(text.contains("{"), text);
            assertTrue(text.contains("p0"), "every message names the connector: " + text);
            assertTrue(message.getSystemAction().endsWith("."));
            assertFalse(message.getUserAction().isBlank());
        }
    }

    @Test
    void severitiesHaveEgeriasCodesAndNames() {
        List<String> severities = new ArrayList<>();
        for (Severity severity : Severity.values()) {
            severities.add(severity.getOrdinal() + " " + severity.getName());
            assertFalse(severity.getDescription().isBlank());
        }
        assertEquals(List.of("1 Information", "4 Action", "5 Error", "8 Startup", "9 Shutdown"), severities);
    }

    @Test
    void theRecognisedPropertiesAreThoseOfTheContractWithPython() {
        assertEquals(
                List.of("schema", "secretsFile", "spoolFolder", "spoolMaxMegabytes", "databaseWaitSeconds", "strict",
                        "maxEventMegabytes"),
                ConfigurationProperty.names());
        for (ConfigurationProperty property : ConfigurationProperty.values()) {
            assertTrue(property.getDescription().endsWith("."));
        }
    }
}
