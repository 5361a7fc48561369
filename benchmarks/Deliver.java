import io.github.lineagelog.egeria.Bridge;
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A platform that only delivers events: for measurements, and for tests that need to know what was acknowledged.
 *
 * <p>Arguments: the JSON for initialize, how many threads, the events (a file of NDJSON, or a number of small ones), and
 * what comes at the end: the exit code of System.exit; without one main returns. Instead of it "asked": each line of the
 * standard input says how many events are to be delivered next; or "hang": the shutdown never ends. In the working
 * directory, each line of the file "acknowledged" names a small event whose delivery has returned.
 */
public final class Deliver {
    private static final String EVENT =
            "{\"eventType\":\"COMPLETE\",\"eventTime\":\"2026-03-01T08:00:00Z\",\"producer\":\"https://example.invalid/tests\","
                    + "\"run\":{\"runId\":\"run-%d\"},\"job\":{\"namespace\":\"tests\",\"name\":\"deliver\"}}";

    private interface Source {
        String next() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Bridge.calls().call("c", "initialize", arguments[0], 60_000);
        System.out.println("started " + Bridge.calls().call("c", "start", "{}", 60_000));
        int threads = Integer.parseInt(arguments[1]);
        boolean numbered = arguments[2].chars().allMatch(Character::isDigit);
        FileOutputStream acknowledged = numbered ? new FileOutputStream("acknowledged", true) : null;
        Source source = numbered ? numbers(Long.parseLong(arguments[2])) : lines(Path.of(arguments[2]));
        String end = arguments.length > 3 ? arguments[3] : "";
        if (end.equals("hang")) {
            Runtime.getRuntime().addShutdownHook(new Thread(Deliver::hang));
        }
        if (end.equals("asked")) {
            BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
            for (String count = questions.readLine(); count != null; count = questions.readLine()) {
                deliver(atMost(Long.parseLong(count), source), acknowledged, threads);
            }
            return;
        }
        deliver(source, acknowledged, threads);
        System.out.println("figures " + Bridge.calls().call("c", "refresh", "{}", 60_000));
        if (!end.isEmpty()) {
            System.exit(Integer.parseInt(end));
        }
    }

    private static void hang() {
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    private static void deliver(Source source, FileOutputStream acknowledged, int threads) throws Exception {
        AtomicLong done = new AtomicLong();
        Thread[] workers = new Thread[threads];
        long begin = System.nanoTime();
        for (int at = 0; at < threads; at++) {
            workers[at] = new Thread(() -> work(source, acknowledged, done));
            workers[at].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        System.out.printf("delivered %d %.6f%n", done.get(), (System.nanoTime() - begin) / 1e9);
    }

    private static void work(Source source, FileOutputStream acknowledged, AtomicLong done) {
        try {
            for (String event = source.next(); event != null; event = source.next()) {
                Bridge.events().deliver("c", "run", event);
                done.incrementAndGet();
                if (acknowledged != null) {
                    int from = event.indexOf("run-");
                    String line = event.substring(from, event.indexOf('"', from)) + "\n";
                    acknowledged.write(line.getBytes(StandardCharsets.US_ASCII));
                }
            }
        } catch (Exception refused) {
            System.out.println("refused " + refused.getMessage());
        }
    }

    private static Source numbers(long count) {
        AtomicLong next = new AtomicLong();
        return () -> {
            long number = next.getAndIncrement();
            return number < count ? String.format(EVENT, number) : null;
        };
    }

    private static Source atMost(long count, Source source) {
        AtomicLong left = new AtomicLong(count);
        return () -> left.getAndDecrement() > 0 ? source.next() : null;
    }

    private static Source lines(Path file) throws Exception {
        BufferedReader reader = Files.newBufferedReader(file);
        return () -> {
            synchronized (reader) {
                return reader.readLine();
            }
        };
    }
}
