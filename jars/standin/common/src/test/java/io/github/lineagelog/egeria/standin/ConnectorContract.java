/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.lineagelog.egeria.Bridge;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the connector does in a daemon, for every version of Egeria. */
@Timeout(60)
public abstract class ConnectorContract {
    protected static final ObjectMapper MAPPER = new ObjectMapper();
    private static final String EVENT = """
            {"eventType":"COMPLETE","eventTime":"2026-11-20T08:00:00Z","run":{"runId":"r1"},\
            "job":{"namespace":"n","name":"j"},"unknown":true}""";

    private final Era era;
    private final String provider;
    /** What earlier tests have left in this JVM is another server's. */
    private final String server = UUID.randomUUID().toString();
    private Daemon daemon = null;
    private FakePython python = null;

    protected ConnectorContract(Era era, String provider) {
        this.era = era;
        this.provider = provider;
    }

    @BeforeEach
    void attach() {
        python = new FakePython();
    }

    @AfterEach
    void stop() throws InterruptedException {
        if (daemon != null) {
            daemon.stop();
        }
        python.close();
    }

    private void start(Map<String, Object> extra) {
        Map<String, Object> connection = Map.of(
                "class", "Connection",
                "displayName", "log store",
                "connectorType", Map.of("class", "ConnectorType", "connectorProviderClassName", provider),
                "endpoint", Map.of(
                        "class", "Endpoint",
                        "address", "postgresql://ann:hidden1@db/lineage",
                        "networkAddress", "postgresql://ann:hidden1@db/lineage"),
                "userId", "ann",
                "clearPassword", "hidden2",
                "securedProperties", Map.of("key", "hidden3"),
                "configurationProperties", Map.of("schema", "s", "databaseWaitSeconds", 5, "strict", true));
        Map<String, Object> config = new java.util.HashMap<>(Map.of(
                "connectors", List.of(Map.of("name", "log", "connection", connection)),
                "secondListener", "last",
                "serverName", server));
        config.putAll(extra);
        daemon = new Daemon(era, MAPPER.valueToTree(config));
        daemon.start();
    }

    private List<String> messages(String id) {
        return daemon.records().stream()
                .filter(each -> each.get("messageId").equals(id))
                .map(each -> (String) each.get("text"))
                .toList();
    }

    private JsonNode status() {
        return MAPPER.valueToTree(daemon.status()).get(0);
    }

    @Test
    void withoutPythonItSaysHowToStartTheDaemon() throws Exception {
        python.close();
        Bridge.detach(Bridge.NOT_ATTACHED);
        start(Map.of());
        assertEquals("failed", status().get("state").asText());
        assertTrue(status().get("error").asText().contains("lineagelog daemon"));
        assertTrue(messages("LINEAGELOG-CONNECTOR-0009").get(0).contains("lineagelog daemon"));
        daemon.dispatch().publish(EVENT);
        assertEquals(0, daemon.dispatch().failures());
    }

    @Test
    void theConnectionReachesPythonAndTheStoreIsNamed() throws Exception {
        start(Map.of());
        assertEquals(List.of("initialize", "start", "refresh"), python.operations);
        JsonNode argument = MAPPER.readTree(python.arguments.get("initialize"));
        JsonNode expected = MAPPER.readTree("""
                {"name":"log","era":"%s","address":"postgresql://ann:hidden1@db/lineage","userId":"ann",
                 "clearPassword":"hidden2","securedProperties":{"key":"hidden3"},
                 "properties":{"schema":"s","databaseWaitSeconds":5,"strict":true}}""".formatted(era.name()));
        assertEquals(expected, argument);
        assertEquals(
                List.of("The log integration connector has started to log OpenLineage events in database lineage, schema"
                        + " openlineage; 3 events from an earlier run are waiting in its spool"),
                messages("LINEAGELOG-CONNECTOR-0001"));
    }

    @Test
    void metricsGoToTheAuditLog() {
        start(Map.of());
        String healthy = "The log integration connector is logging: stored 7, duplicate 2, expired 0, dead 1, refused 0,"
                + " in the spool 3, waiting 0, database up; the last event was unknown seconds old when it was stored";
        assertEquals(List.of(healthy), messages("LINEAGELOG-CONNECTOR-0002"));
        daemon.refresh();
        assertEquals(List.of(healthy, healthy), messages("LINEAGELOG-CONNECTOR-0002"));
        python.answers.put(
                "refresh", "{\"stored\":7,\"database\":\"away: connection refused\",\"last_event_age_seconds\":1.5}");
        daemon.refresh();
        assertTrue(messages("LINEAGELOG-CONNECTOR-0003").get(0).contains("(away: connection refused): stored 7"));
        python.refusals.put("refresh", "out of order");
        daemon.refresh();
        assertTrue(messages("LINEAGELOG-CONNECTOR-0004").get(0).endsWith("out of order"));
        daemon.stop();
        int told = era.disconnectsWhatWaits() ? 1 : 0;
        assertEquals(told, messages("LINEAGELOG-CONNECTOR-0007").size());
    }

    @Test
    void aRefreshThatFailsIsNotTheLast() {
        start(Map.of());
        python.refusals.put("refresh", "no answer");
        daemon.refresh();
        python.answers.put("refresh", "no JSON");
        python.refusals.clear();
        daemon.refresh();
        assertEquals(2, messages("LINEAGELOG-CONNECTOR-0004").size());
        assertEquals(List.of(), messages("STAND-IN-0001"));
        python.answers.put("refresh", "{\"stored\":8}");
        daemon.refresh();
        assertTrue(messages("LINEAGELOG-CONNECTOR-0002").get(1).contains("stored 8"));
    }

    @Test
    void anEventArrivesExactlyAsItWasReceived() {
        start(Map.of());
        daemon.dispatch().publish(EVENT);
        daemon.dispatch().publish("{not JSON");
        assertEquals(List.of(EVENT, "{not JSON"), python.events);
        assertEquals(List.of("run", "run"), python.kinds);
        assertEquals(1, messages("OIF-CONNECTOR-0005").size());
        assertEquals(1L, daemon.second().state().get("nullBeans"));
    }

    @Test
    void anEventPublishedAsABeanArrivesAsItsJson() throws Exception {
        start(Map.of());
        daemon.dispatch().publish(MAPPER.readValue("""
                {"eventType":"COMPLETE","run":{"runId":"r"},"lost":1,"outputs":[{"namespace":"n","name":"o",
                 "outputFacets":{"outputStatistics":{"rowCount":5}}}]}""", RunEvent.class));
        assertEquals(
                MAPPER.readTree("""
                        {"eventType":"COMPLETE","run":{"runId":"r"},"outputs":[{"namespace":"n","name":"o",
                         "outputFacets":{"outputStatistics":{"rowCount":5,"size":0}}}]}"""),
                MAPPER.readTree(python.events.get(0)));
    }

    @Test
    void pythonsTextReachesTheDaemonAndTheOtherListenersGoOn() {
        start(Map.of());
        python.eventRefusal = "the spool is full: 100 MB";
        for (int number = 0; number < 50; number++) {
            daemon.dispatch().publish(EVENT);
        }
        assertTrue(messages("OIF-CONNECTOR-0006").get(0).endsWith("the spool is full: 100 MB"));
        assertEquals(
                List.of("The log integration connector could not keep an OpenLineage run event: the spool is full: 100 MB;"
                        + " 0 others were refused since the record before"),
                messages("LINEAGELOG-CONNECTOR-0005"));
        assertEquals(50L, daemon.second().state().get("run"));
        daemon.refresh();
        assertTrue(messages("LINEAGELOG-CONNECTOR-0002").get(1).contains(", refused 50, "));
    }

    @Test
    void anotherListenersFailureIsNotOurs() {
        start(Map.of("secondListener", "first"));
        daemon.second().setThrowing(true);
        daemon.dispatch().publish(EVENT);
        assertEquals(List.of(EVENT), python.events);
        assertEquals(1, daemon.dispatch().failures());
    }

    @Test
    void whatPythonRefusesAtTheStartIsToldAndNoSecretIsLogged() throws Exception {
        python.refusals.put("initialize", "maxEventMegabytes: not a number");
        start(Map.of());
        assertTrue(status().get("error").asText().contains("could not initialize: maxEventMegabytes: not a number"));
        daemon.dispatch().publish(EVENT);
        assertEquals(List.of(), python.events);
        python.refusals.clear();
        daemon.restart();
        daemon.dispatch().publish(EVENT);
        daemon.refresh();
        assertEquals(List.of(EVENT), python.events);
        assertFalse(MAPPER.writeValueAsString(daemon.records()).contains("hidden"));
    }

    @Test
    void aRestartedConnectorStoresAnEventOnce() {
        start(Map.of());
        for (int number = 0; number < 5; number++) {
            daemon.restart();
        }
        daemon.setProperties("log", MAPPER.createObjectNode().put("strict", false));
        daemon.setEndpoint("log", "postgresql://h/other");
        daemon.dispatch().publish(EVENT);
        assertEquals(List.of(EVENT), python.events);
        long ended = python.operations.stream().filter(List.of("disconnect", "replace")::contains).count();
        assertEquals(7, ended);
        assertEquals(era.disconnectsWhatWaits(), python.operations.contains("disconnect"));
        assertTrue(python.arguments.get("initialize").contains("postgresql://h/other"));
        assertEquals(List.of(), messages("STAND-IN-0001"));
    }

    @Test
    void theInstanceBeforeIsNamedToPythonAndItsMetricsAreTold() throws Exception {
        start(Map.of());
        daemon.dispatch().publish(EVENT);
        String first = python.connectors.get(0);
        daemon.restart();
        daemon.dispatch().publish(EVENT);
        String second = python.connectors.get(1);
        assertFalse(second.equals(first));
        if (!era.disconnectsWhatWaits()) {
            assertEquals(first, MAPPER.readTree(python.arguments.get("replace")).get("id").asText());
            assertTrue(messages("LINEAGELOG-CONNECTOR-0010").get(0).contains("which stored 7, duplicate 2"));
        }
    }

    @Test
    void aStartThatFailsLeavesTheInstanceBeforeAtWorkWhereItIs() {
        start(Map.of());
        python.refusals.put("initialize", "strict: 'maybe' is neither true nor false");
        daemon.restart();
        daemon.dispatch().publish(EVENT);
        assertEquals("failed", status().get("state").asText());
        assertEquals(era.disconnectsWhatWaits() ? 0 : 1, python.events.size());
        python.refusals.clear();
        daemon.restart();
        python.events.clear();
        daemon.dispatch().publish(EVENT);
        assertEquals(List.of(EVENT), python.events);
    }

    @Test
    void daemonsOfOnePlatformDoNotTakeEachOthersConnectors() {
        start(Map.of());
        Daemon first = daemon;
        start(Map.of("serverName", server + " 2"));
        first.dispatch().publish(EVENT);
        daemon.dispatch().publish(EVENT);
        assertEquals(2, python.events.size());
        assertFalse(python.operations.contains("replace"));
        first.stop();
    }

    @Test
    void aContextThatThrowsIsToldWithItsCause() {
        start(Map.of("failRegister", "no more listeners", "secondListener", "none"));
        assertEquals("failed", status().get("state").asText());
        String told = status().get("error").asText();
        assertTrue(told.contains("IllegalStateException: no more listeners"), told);
        assertTrue(messages("LINEAGELOG-CONNECTOR-0009").get(0).endsWith("no more listeners"));
        assertEquals(List.of("initialize", "start", "disconnect"), python.operations);
    }

    @Test
    void misspeltPropertiesAreInTheAuditLog() {
        python.answers.put("initialize", "{\"unknown\":[\"shema\",\"x y\"]}");
        start(Map.of());
        assertTrue(messages("LINEAGELOG-CONNECTOR-0012").get(0).endsWith("most likely misspelt: shema, x y"));
        assertEquals(1, messages("LINEAGELOG-CONNECTOR-0001").size());
    }

    @Test
    void detachFreesTheThreadThatWaits() throws Exception {
        start(Map.of());
        python.takeNoMoreEvents();
        Thread publisher = new Thread(() -> daemon.dispatch().publish(EVENT));
        publisher.start();
        while (Bridge.events().waiting() == 0) {
            Thread.sleep(1);
        }
        Bridge.detach("the daemon stops");
        publisher.join();
        assertTrue(messages("OIF-CONNECTOR-0006").get(0).endsWith("the daemon stops"));
    }

    @Test
    void anInterruptedPublisherIsToldAndStaysInterrupted() throws Exception {
        start(Map.of());
        python.takeNoMoreEvents();
        AtomicReference<Boolean> interrupted = new AtomicReference<>();
        Thread publisher = new Thread(() -> {
            daemon.dispatch().publish(EVENT);
            interrupted.set(Thread.currentThread().isInterrupted());
        });
        publisher.start();
        while (Bridge.events().waiting() == 0) {
            Thread.sleep(1);
        }
        publisher.interrupt();
        publisher.join();
        assertTrue(interrupted.get());
        assertTrue(messages("LINEAGELOG-CONNECTOR-0005").get(0).contains("interrupted"));
    }

    @Test
    void batchesFormOnlyWhereTheDaemonIsNotSerial() throws Exception {
        start(Map.of("synchronized", false));
        Map<String, Object> metrics = Load.run(daemon.dispatch(), "", 0, 300, 8);
        assertEquals(0L, metrics.get("failures"));
        assertEquals(300, python.events.stream().distinct().count());
        assertTrue(python.batches.stream().anyMatch(size -> size > 1));
        daemon.stop();
        python.batches.clear();
        start(Map.of());
        Load.run(daemon.dispatch(), "", 0, 50, 8);
        assertTrue(python.batches.stream().allMatch(size -> size == 1));
    }

    @Test
    void theCatalogCanShowTheConnector() {
        start(Map.of());
        JsonNode type = status().get("connectorType");
        assertEquals(provider, type.get("connectorProviderClassName").asText());
        assertEquals("IntegrationConnector", type.get("supportedAssetTypeName").asText());
        assertEquals(7, type.get("recognizedConfigurationProperties").size());
        assertNotNull(UUID.fromString(type.get("guid").asText()));
        assertFalse(type.get("description").asText().isBlank());
    }

    protected final Daemon daemon() {
        return daemon;
    }

    protected final FakePython python() {
        return python;
    }

    protected final void startDaemon() {
        start(Map.of());
    }
}
