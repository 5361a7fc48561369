/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria;

import java.util.ArrayList;
import java.util.List;

/** Events that Python took at once and answers at once; everything it reads comes as one array each. */
public final class Batch {
    private final List<EventQueue.Event> events;
    private final byte[] bodies;
    private final int[] ends;
    private final String[] connectors;
    private final int[] connectorOf;

    Batch(List<EventQueue.Event> events) {
        this.events = events;
        ends = new int[events.size()];
        connectorOf = new int[events.size()];
        List<String> distinct = new ArrayList<>(1);
        int end = 0;
        for (int at = 0; at < ends.length; at++) {
            EventQueue.Event event = events.get(at);
            end = Math.addExact(end, event.body.length);
            ends[at] = end;
            int known = distinct.indexOf(event.connector);
            if (known < 0) {
                known = distinct.size();
                distinct.add(event.connector);
            }
            connectorOf[at] = known;
        }
        connectors = distinct.toArray(new String[0]);
        bodies = join(events, end);
    }

    private static byte[] join(List<EventQueue.Event> events, int size) {
        if (events.size() == 1) {
            return events.get(0).body;
        }
        byte[] all = new byte[size];
        int at = 0;
        for (EventQueue.Event event : events) {
            System.arraycopy(event.body, 0, all, at, event.body.length);
            at += event.body.length;
        }
        return all;
    }

    /** Asked first: from here on Python has the events, and answers for them. */
    public int size() {
        events.forEach(EventQueue.Event::receive);
        return ends.length;
    }

    /** UTF-8 of all events, one after the other. */
    public byte[] bodies() {
        return bodies;
    }

    /** The end of each event in {@link #bodies()}. */
    public int[] ends() {
        return ends;
    }

    /** The distinct ids of the connectors that brought these events. */
    public String[] connectors() {
        return connectors;
    }

    /** For each event, the index of its connector in {@link #connectors()}. */
    public int[] connectorOf() {
        return connectorOf;
    }

    /** For each event, {@code run}, {@code job} or {@code dataset}: which method of the listener brought it. */
    public String[] kinds() {
        return events.stream().map(event -> event.kind).toArray(String[]::new);
    }

    /** All are stored or spooled: the waiting threads return. */
    public void complete() {
        events.forEach(event -> event.accept(""));
    }

    /**
     * Some failed, all others are done.
     *
     * @param failed indexes of those that failed
     * @param texts why, one for each
     */
    public void finish(int[] failed, String[] texts) {
        if (failed.length != texts.length) {
            throw new IllegalArgumentException(failed.length + " events failed, but " + texts.length + " texts say why");
        }
        for (int at = 0; at < failed.length; at++) {
            events.get(failed[at]).refuse(texts[at]);
        }
        complete();
    }

    /** All failed for the same reason. */
    public void fail(String text) {
        events.forEach(event -> event.refuse(text));
    }
}
