/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import io.github.lineagelog.egeria.Batch;
import io.github.lineagelog.egeria.Bridge;
import io.github.lineagelog.egeria.Call;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** The Python side in Java: empties both queues, keeps what came, answers as it is told to. */
final class FakePython implements AutoCloseable {
    private static final String METRICS = """
            {"stored":7,"duplicate":2,"expired":0,"dead":1,"spooled":3,"waiting":0,"last_event_age_seconds":null,"database":"up"}""";

    final List<String> events = new CopyOnWriteArrayList<>();
    final List<String> connectors = new CopyOnWriteArrayList<>();
    final List<String> kinds = new CopyOnWriteArrayList<>();
    final List<Integer> batches = new CopyOnWriteArrayList<>();
    final List<String> operations = new CopyOnWriteArrayList<>();
    final Map<String, String> arguments = new ConcurrentHashMap<>();
    final Map<String, String> answers = new ConcurrentHashMap<>(Map.of(
            "initialize", "{}",
            "start", "{\"store\":\"database lineage, schema openlineage\",\"spooled\":3}",
            "replace", METRICS,
            "refresh", METRICS,
            "disconnect", METRICS));
    final Map<String, String> refusals = new ConcurrentHashMap<>();
    volatile String eventRefusal = null;

    private volatile boolean takesEvents = true;
    private volatile boolean idle = false;
    private final List<Thread> pumps = new ArrayList<>();

    FakePython() {
        Bridge.attach();
        pumps.add(new Thread(this::answerCalls));
        pumps.add(new Thread(this::takeEvents));
        pumps.forEach(Thread::start);
    }

    /** Leaves the events that come from now on in the queue. */
    void takeNoMoreEvents() throws InterruptedException {
        takesEvents = false;
        while (!idle) {
            Thread.sleep(1);
        }
    }

    private void answerCalls() {
        try {
            while (Bridge.attached()) {
                Call call = Bridge.calls().take(100);
                if (call == null) {
                    continue;
                }
                operations.add(call.operation());
                arguments.put(call.operation(), call.argument());
                String refusal = refusals.get(call.operation());
                if (refusal == null) {
                    call.answer(answers.get(call.operation()));
                } else {
                    call.fail(refusal);
                }
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    private void takeEvents() {
        try {
            while (Bridge.attached()) {
                idle = !takesEvents;
                Batch batch = takesEvents ? Bridge.events().take(100, 1 << 20, 20) : null;
                if (batch == null) {
                    Thread.sleep(1);
                    continue;
                }
                keep(batch);
                Thread.sleep(2);
                answer(batch);
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    private void keep(Batch batch) {
        batches.add(batch.size());
        for (int connector : batch.connectorOf()) {
            connectors.add(batch.connectors()[connector]);
        }
        kinds.addAll(List.of(batch.kinds()));
        int start = 0;
        for (int end : batch.ends()) {
            events.add(new String(batch.bodies(), start, end - start, StandardCharsets.UTF_8));
            start = end;
        }
    }

    private void answer(Batch batch) {
        if (eventRefusal == null) {
            batch.complete();
        } else {
            batch.fail(eventRefusal);
        }
    }

    @Override
    public void close() throws InterruptedException {
        Bridge.detach("the fake is closed");
        for (Thread pump : pumps) {
            pump.join();
        }
    }
}
