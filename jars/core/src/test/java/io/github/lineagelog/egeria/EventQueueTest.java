/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class EventQueueTest {
    private static final int MAX_BYTES = 1 << 20;

    private final EventQueue queue = new EventQueue("not yet");
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @BeforeEach
    void open() {
        queue.open();
    }

    @AfterEach
    void stop() {
        threads.shutdownNow();
    }

    /** A thread that delivers one event; the future holds the text of its BridgeException, or null. */
    private Future<String> deliver(String connector, String raw) {
        Callable<String> work = () -> {
            try {
                queue.deliver(connector, "run", raw);
                return null;
            } catch (BridgeException refused) {
                return refused.getMessage();
            }
        };
        return threads.submit(work);
    }

    private void awaitWaiting(int count) throws InterruptedException {
        while (queue.waiting() != count) {
            TimeUnit.MILLISECONDS.sleep(1);
        }
    }

    private static String body(Batch batch, int index) {
        int start = index == 0 ? 0 : batch.ends()[index - 1];
        return new String(batch.bodies(), start, batch.ends()[index] - start, StandardCharsets.UTF_8);
    }

    @Test
    void eachThreadWaitsForTheAnswerToItsOwnEvent() throws Exception {
        int count = 2_000;
        int senders = 16;
        Map<String, String> answers = new ConcurrentHashMap<>();
        List<Future<?>> running = new ArrayList<>();
        for (int sender = 0; sender < senders; sender++) {
            int mine = sender;
            running.add(threads.submit(() -> {
                for (int i = mine; i < count; i += senders) {
                    try {
                        queue.deliver("connector-" + mine % 3, "run", "event " + i);
                        answers.put("event " + i, "done");
                    } catch (BridgeException refused) {
                        answers.put("event " + i, refused.getMessage());
                    }
                }
                return null;
            }));
        }
        int seen = 0;
        int largest = 0;
        Set<String> connectors = ConcurrentHashMap.newKeySet();
        while (seen < count) {
            Batch batch = queue.take(100, MAX_BYTES, 1_000);
            seen += batch.size();
            largest = Math.max(largest, batch.size());
            connectors.addAll(List.of(batch.connectors()));
            finishOddsWithTheirText(batch);
            TimeUnit.MICROSECONDS.sleep(200);
        }
        for (Future<?> sender : running) {
            sender.get();
        }
        for (int i = 0; i < count; i++) {
            assertEquals(i % 2 == 0 ? "done" : "no: event " + i, answers.get("event " + i));
        }
        assertTrue(largest > 1, "batches form while Python is busy");
        assertEquals(Set.of("connector-0", "connector-1", "connector-2"), connectors);
    }

    private static void finishOddsWithTheirText(Batch batch) {
        List<Integer> odd = new ArrayList<>();
        List<String> texts = new ArrayList<>();
        for (int index = 0; index < batch.size(); index++) {
            String body = body(batch, index);
            if (Integer.parseInt(body.substring(6)) % 2 == 1) {
                odd.add(index);
                texts.add("no: " + body);
            }
        }
        batch.finish(odd.stream().mapToInt(Integer::intValue).toArray(), texts.toArray(new String[0]));
    }

    @Test
    void aBatchHoldsBodiesEndsAndConnectorsInTheOrderOfArrival() throws Exception {
        deliver("a", "one");
        awaitWaiting(1);
        deliver("b", "zw\u00f6lf");
        awaitWaiting(2);
        deliver("a", "three");
        awaitWaiting(3);
        Batch batch = queue.take(10, MAX_BYTES, 1_000);
        assertEquals(List.of("one", "zw\u00f6lf", "three"), List.of(body(batch, 0), body(batch, 1), body(batch, 2)));
        assertArrayEquals(new int[] {3, 9, 14}, batch.ends());
        assertArrayEquals(new String[] {"a", "b"}, batch.connectors());
        assertArrayEquals(new int[] {0, 1, 0}, batch.connectorOf());
        assertArrayEquals(new String[] {"run", "run", "run"}, batch.kinds());
    }

    @Test
    void aTakeIsBoundedByCountAndByBytesButAlwaysHoldsOne() throws Exception {
        for (int i = 0; i < 5; i++) {
            deliver("a", "x".repeat(100));
            awaitWaiting(i + 1);
        }
        assertEquals(2, queue.take(2, MAX_BYTES, 1_000).size());
        assertEquals(1, queue.take(10, 50, 1_000).size());
        assertEquals(2, queue.take(10, 200, 1_000).size());
    }

    @Test
    void nothingComesAndTheTakerGetsNullInTime() throws Exception {
        long start = System.nanoTime();
        assertNull(queue.take(10, MAX_BYTES, 50));
        assertTrue(System.nanoTime() - start >= 50_000_000L);
    }

    @Test
    void aFailedBatchFailsAllOfItsThreads() throws Exception {
        Future<String> one = deliver("a", "one");
        Future<String> two = deliver("a", "two");
        awaitWaiting(2);
        queue.take(10, MAX_BYTES, 1_000).fail("the disk is full");
        assertEquals("the disk is full", one.get());
        assertEquals("the disk is full", two.get());
    }

    @Test
    void theFirstAnswerCounts() throws Exception {
        Future<String> one = deliver("a", "one");
        Batch batch = queue.take(10, MAX_BYTES, 1_000);
        batch.complete();
        batch.fail("too late");
        assertNull(one.get());
    }

    @Test
    void detachAnswersTheWaitingTheTakenAndTheLater() throws Exception {
        Future<String> taken = deliver("a", "taken");
        Batch batch = queue.take(1, MAX_BYTES, 1_000);
        Future<String> waiting = deliver("a", "waiting");
        awaitWaiting(1);
        queue.close("stopping");
        batch.complete();
        assertEquals("stopping", taken.get());
        assertEquals("stopping", waiting.get());
        assertEquals("stopping", deliver("a", "later").get());
        assertEquals(0, queue.waiting());
        queue.open();
        Future<String> again = deliver("a", "again");
        queue.take(1, MAX_BYTES, 1_000).complete();
        assertNull(again.get());
    }

    @Test
    void detachWakesATakerThatWaits() throws Exception {
        Future<Batch> taker = threads.submit(() -> queue.take(1, MAX_BYTES, 20_000));
        TimeUnit.MILLISECONDS.sleep(50);
        queue.close("stopping");
        assertNull(taker.get(5, TimeUnit.SECONDS));
        assertNull(queue.take(1, MAX_BYTES, 20_000));
    }

    @Test
    void anInterruptedThreadWithdrawsAnEventThatNobodyTook() throws Exception {
        Throwable[] thrown = new Throwable[1];
        Thread sender = new Thread(() -> thrown[0] = thrownBy("lost"));
        sender.start();
        awaitWaiting(1);
        sender.interrupt();
        sender.join();
        assertSame(InterruptedException.class, thrown[0].getClass());
        assertEquals(0, queue.waiting());
        assertNull(queue.take(1, MAX_BYTES, 0));
    }

    @Test
    void anInterruptedThreadLeavesItsBatchWhole() throws Exception {
        Throwable[] thrown = new Throwable[1];
        Thread sender = new Thread(() -> thrown[0] = thrownBy("interrupted"));
        sender.start();
        awaitWaiting(1);
        Future<String> other = deliver("a", "other");
        awaitWaiting(2);
        Batch batch = queue.take(10, MAX_BYTES, 1_000);
        sender.interrupt();
        sender.join();
        assertSame(InterruptedException.class, thrown[0].getClass());
        assertEquals(2, batch.size());
        batch.complete();
        assertNull(other.get());
    }

    private Throwable thrownBy(String raw) {
        return assertThrows(Exception.class, () -> queue.deliver("a", "run", raw));
    }

    @Test
    void moreTextsThanFailuresIsAMistakeThatIsTold() throws Exception {
        deliver("a", "one");
        Batch batch = queue.take(1, MAX_BYTES, 1_000);
        assertThrows(IllegalArgumentException.class, () -> batch.finish(new int[] {0}, new String[0]));
    }

    @Test
    void halfASurrogatePairBecomesItsJsonEscape() {
        String whole = "\"\ud83d\ude00\"";
        assertArrayEquals(whole.getBytes(StandardCharsets.UTF_8), EventQueue.utf8(whole));
        assertArrayEquals(
                "\"a\\ud83db\\ude00\ud83d\ude00\\ud83d\"".getBytes(StandardCharsets.UTF_8),
                EventQueue.utf8("\"a\ud83db\ude00\ud83d\ude00\ud83d\""));
    }

    @Test
    void severalTakersShareTheWork() throws Exception {
        List<Future<Integer>> takers = new ArrayList<>();
        for (int taker = 0; taker < 4; taker++) {
            takers.add(threads.submit(this::takeUntilClosed));
        }
        List<Future<String>> sent = new ArrayList<>();
        for (int i = 0; i < 400; i++) {
            sent.add(deliver("a", "event " + i));
        }
        for (Future<String> one : sent) {
            assertNull(one.get());
        }
        queue.close("done");
        int total = 0;
        for (Future<Integer> taker : takers) {
            total += taker.get();
        }
        assertEquals(400, total);
    }

    private int takeUntilClosed() throws InterruptedException, ExecutionException {
        int total = 0;
        while (queue.isOpen()) {
            Batch batch = queue.take(3, MAX_BYTES, 1_000);
            if (batch != null) {
                total += batch.size();
                batch.complete();
            }
        }
        return total;
    }
}
