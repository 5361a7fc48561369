/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** Publishes many events inside the process: what throughput and memory are measured by. */
final class Load {
    private static final String TEMPLATE = """
            {"eventType":"COMPLETE","eventTime":"2026-11-20T08:00:00.000Z","producer":"https://example.org/load",\
            "schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/definitions/RunEvent",\
            "run":{"runId":"load-{{i}}"},"job":{"namespace":"load","name":"job-{{i}}"},\
            "inputs":[{"namespace":"load","name":"in"}],\
            "outputs":[{"namespace":"load","name":"out","outputFacets":{"outputStatistics":{"rowCount":{{i}}}}}]}""";

    private Load() {}

    /**
     * Publishes copies of an event from some threads and waits for all.
     *
     * @param template the event, {{i}} in it becomes the number of the copy; empty for one of our own
     * @param first the number of the first copy
     */
    static Map<String, Object> run(Dispatch dispatch, String template, int first, int copies, int threads)
            throws InterruptedException {
        String[] parts = (template.isEmpty() ? TEMPLATE : template).split("\\{\\{i}}", -1);
        AtomicInteger next = new AtomicInteger(first);
        long failures = dispatch.failures();
        long start = System.nanoTime();
        Thread[] workers = new Thread[threads];
        for (int worker = 0; worker < threads; worker++) {
            workers[worker] = new Thread(() -> {
                for (int i = next.getAndIncrement(); i < first + copies; i = next.getAndIncrement()) {
                    dispatch.publish(String.join(Integer.toString(i), parts));
                }
            });
            workers[worker].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        Map<String, Object> metrics = new LinkedHashMap<>();
        metrics.put("published", copies);
        metrics.put("threads", threads);
        metrics.put("seconds", seconds);
        metrics.put("perSecond", copies / seconds);
        metrics.put("failures", dispatch.failures() - failures);
        return metrics;
    }
}
