/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class BridgeTest {
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void detach() {
        Bridge.detach("the test is over");
        threads.shutdownNow();
    }

    private static String textOf(Future<?> failing) throws InterruptedException {
        Throwable cause = assertThrowsExecution(failing).getCause();
        assertEquals(BridgeException.class, cause.getClass());
        return cause.getMessage();
    }

    private static ExecutionException assertThrowsExecution(Future<?> failing) {
        return assertThrows(ExecutionException.class, failing::get);
    }

    private Future<String> call(String operation, long millis) {
        return threads.submit(() -> Bridge.calls().call("a", operation, "{}", millis));
    }

    @Test
    void aCallIsAnsweredWithJson() throws Exception {
        Bridge.attach();
        assertTrue(Bridge.attached());
        Future<String> started = call("start", 10_000);
        Call call = Bridge.calls().take(5_000);
        assertEquals("a start {}", call.connector() + " " + call.operation() + " " + call.argument());
        call.answer("{\"store\":\"x\"}");
        assertEquals("{\"store\":\"x\"}", started.get());
    }

    @Test
    void aCallThatFailsThrowsPythonsText() throws Exception {
        Bridge.attach();
        Future<String> started = call("start", 10_000);
        Bridge.calls().take(5_000).fail("schema: not a name");
        assertEquals("schema: not a name", textOf(started));
    }

    @Test
    void aCallWithoutAnAnswerEndsInTimeAndIsWithdrawn() throws Exception {
        Bridge.attach();
        assertEquals("no answer to refresh within 0.1 seconds", textOf(call("refresh", 100)));
        assertNull(Bridge.calls().take(0));
    }

    @Test
    void detachEndsCallsAndEvents() throws Exception {
        Bridge.attach();
        Future<String> started = call("start", 10_000);
        Bridge.calls().take(5_000);
        Bridge.detach("the daemon stops");
        assertEquals("the daemon stops", textOf(started));
        assertFalse(Bridge.attached());
        BridgeException refused = assertThrows(BridgeException.class, () -> Bridge.events().deliver("a", "run", "{}"));
        assertEquals("the daemon stops", refused.getMessage());
    }

    @Test
    void withoutAReasonThereIsStillAText() throws Exception {
        Bridge.attach();
        Bridge.detach(null);
        BridgeException refused = assertThrows(BridgeException.class, () -> Bridge.calls().call("a", "start", "{}", 1));
        assertEquals("no reason was given", refused.getMessage());
    }
}
