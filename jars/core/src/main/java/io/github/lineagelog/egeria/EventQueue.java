/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria;

import java.nio.charset.StandardCharsets;
import java.util.List;

/** Events on their way to the store: the thread that brings one waits until it is stored or spooled. */
public final class EventQueue {
    /** One event and the thread that waits for it. */
    static final class Event extends Mailbox.Item {
        final String connector;
        final String kind;
        final byte[] body;

        Event(String connector, String kind, byte[] body) {
            this.connector = connector;
            this.kind = kind;
            this.body = body;
        }

        @Override
        int weight() {
            return body.length;
        }
    }

    private final Mailbox<Event> mailbox;

    EventQueue(String reason) {
        mailbox = new Mailbox<>(reason);
    }

    /**
     * Java side: hands an event to Python and returns when it is safe, stored or spooled.
     *
     * <p>An interrupt ends the wait: an event that Python has not taken yet is withdrawn, one that it has may be stored.
     *
     * @param connector the id of the connector instance
     * @param kind {@code run}, {@code job} or {@code dataset}
     * @param raw the event as it was received
     * @throws BridgeException with Python's text when the event could not be kept, or with the reason why Python is away
     */
    public void deliver(String connector, String kind, String raw) throws BridgeException, InterruptedException {
        mailbox.post(new Event(connector, kind, utf8(raw)));
    }

    /**
     * Python side: waits for the first event, then takes all that wait.
     *
     * @param max at most so many events
     * @param maxBytes at most so many bytes, but always one event
     * @param waitMillis how long to wait for the first
     * @return null when none came in this time or the bridge was detached
     */
    public Batch take(int max, int maxBytes, long waitMillis) throws InterruptedException {
        List<Event> events = mailbox.take(max, maxBytes, waitMillis);
        return events.isEmpty() ? null : new Batch(events);
    }

    /** Python side, when a take has failed: what it took and could not hand over is to be taken again. */
    public void recover() {
        mailbox.recover();
    }

    /** How many events nobody has taken yet. */
    public int waiting() {
        return mailbox.waiting();
    }

    void open() {
        mailbox.open();
    }

    void close(String reason) {
        mailbox.close(reason);
    }

    boolean isOpen() {
        return mailbox.isOpen();
    }

    /** UTF-8 that loses nothing: half a surrogate pair, which UTF-8 cannot say, becomes its JSON escape. */
    static byte[] utf8(String raw) {
        int lone = loneSurrogate(raw, 0);
        if (lone < 0) {
            return raw.getBytes(StandardCharsets.UTF_8);
        }
        StringBuilder escaped = new StringBuilder(raw.length() + 16);
        int from = 0;
        while (lone >= 0) {
            escaped.append(raw, from, lone).append(String.format("\\u%04x", (int) raw.charAt(lone)));
            from = lone + 1;
            lone = loneSurrogate(raw, from);
        }
        return escaped.append(raw, from, raw.length()).toString().getBytes(StandardCharsets.UTF_8);
    }

    private static int loneSurrogate(String raw, int from) {
        for (int at = from; at < raw.length(); at++) {
            char unit = raw.charAt(at);
            if (!Character.isSurrogate(unit)) {
                continue;
            }
            if (at + 1 == raw.length() || !Character.isSurrogatePair(unit, raw.charAt(at + 1))) {
                return at;
            }
            at++;
        }
        return -1;
    }
}
