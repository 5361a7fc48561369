import io.github.lineagelog.egeria.Bridge;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A platform that delivers events while it takes all memory of the JVM for a while, again and again.
 *
 * <p>Arguments: the JSON for initialize, and how often. Prints how many deliveries have returned, and ends by exit code 7.
 */
public final class Hungry {
    private static final String EVENT = "{\"eventType\":\"COMPLETE\",\"eventTime\":\"2026-03-01T08:00:00Z\","
            + "\"producer\":\"https://example.invalid/tests\",\"run\":{\"runId\":\"run-%d\"},"
            + "\"job\":{\"namespace\":\"tests\",\"name\":\"hungry\"}}";
    private static final long HELD_MILLIS = 500;
    private static final AtomicBoolean OVER = new AtomicBoolean();
    private static final AtomicInteger DONE = new AtomicInteger();

    /** A list that needs no memory of its own beside its links. */
    private record Link(Object[] content, Link next) {}

    public static void main(String[] arguments) throws Exception {
        Bridge.calls().call("c", "initialize", arguments[0], 60_000);
        Bridge.calls().call("c", "start", "{}", 60_000);
        Thread worker = new Thread(Hungry::deliver);
        worker.start();
        await(20); // all classes are there: what is initialized without memory is broken for good
        for (int time = Integer.parseInt(arguments[1]); time > 0; time--) {
            hold();
            await(DONE.get() + 1); // fed again, events must go on
        }
        OVER.set(true);
        worker.join();
        System.out.println("delivered " + DONE);
        System.exit(7);
    }

    private static void await(int count) throws InterruptedException {
        while (DONE.get() < count) {
            Thread.sleep(1);
        }
    }

    private static void hold() throws InterruptedException {
        Link all = null;
        for (int size = 1 << 18; size >= 1; size /= 8) {
            try {
                while (true) {
                    all = new Link(new Object[size], all);
                }
            } catch (OutOfMemoryError full) {
                continue; // smaller ones may still fit
            }
        }
        long until = System.nanoTime() + HELD_MILLIS * 1_000_000;
        while (System.nanoTime() < until) {
            Thread.onSpinWait();
        }
        if (all != null && all.content.length == 0) {
            throw new IllegalStateException("the list must live until here");
        }
    }

    private static void deliver() {
        while (!OVER.get()) {
            try {
                Bridge.events().deliver("c", "run", EVENT.replace("%d", DONE.toString()));
                DONE.incrementAndGet();
            } catch (Exception | OutOfMemoryError hungry) {
                Thread.yield();
            }
        }
    }
}
