/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ListenerTest {
    /** A listener of the shape of Egeria's. */
    public interface Events {
        void processOpenLineageRunEvent(Object event, String rawEvent);

        default void processOpenLineageJobEvent(Object event, String rawEvent) {}

        default void processOpenLineageDataSetEvent(Object event, String rawEvent) {}
    }

    /** A bean that the platform's Jackson can write. */
    public static class Bean {
        public final String eventType = "START";
    }

    /** The context of a version that overloads registerListener. */
    public static class Overloaded {
        Events registered = null;

        public void registerListener(Runnable other) {
            throw new AssertionError("the wrong overload");
        }

        public void registerListener(Events listener) {
            registered = listener;
        }
    }

    /** The context of a version that has another name for it, and another kind of listener by the old name. */
    public static class Renamed {
        Events registered = null;

        public void registerListener(Runnable other) {
            throw new AssertionError("the wrong listener");
        }

        public void registerOpenLineageListener(Events listener) {
            registered = listener;
        }
    }

    private final List<String> seen = new ArrayList<>();

    private void sink(String kind, String raw) {
        seen.add(kind + " " + raw);
    }

    @Test
    void eventsOfAllKindsArriveWithTheirRawText() throws Exception {
        Overloaded context = new Overloaded();
        Listener.register(context, Events.class.getName(), this::sink);
        context.registered.processOpenLineageRunEvent(null, "{1}");
        context.registered.processOpenLineageJobEvent("bean", "{2}");
        context.registered.processOpenLineageDataSetEvent("bean", "{3}");
        assertEquals(List.of("run {1}", "job {2}", "dataset {3}"), seen);
    }

    @Test
    void theMethodIsFoundByItsParameterTypeUnderEitherName() throws Exception {
        Renamed context = new Renamed();
        Listener.register(context, Events.class.getName(), this::sink);
        context.registered.processOpenLineageRunEvent(null, "{}");
        assertEquals(List.of("run {}"), seen);
    }

    @Test
    void theListenerCanLiveInCollections() throws Exception {
        Overloaded one = new Overloaded();
        Overloaded two = new Overloaded();
        Listener.register(one, Events.class.getName(), this::sink);
        Listener.register(two, Events.class.getName(), this::sink);
        assertTrue(List.of(one.registered).contains(one.registered));
        assertNotEquals(one.registered, two.registered);
        assertEquals("lineagelog's OpenLineage listener", one.registered.toString());
        assertEquals(one.registered.hashCode(), one.registered.hashCode());
    }

    @Test
    void withoutRawTextAndWithoutAWayToMakeItTheSinkGetsNull() throws Exception {
        Overloaded context = new Overloaded();
        Listener.register(context, Events.class.getName(), this::sink);
        context.registered.processOpenLineageRunEvent(null, null);
        assertEquals(List.of("run null"), seen);
    }

    @Test
    void withoutRawTextTheBeanIsWrittenAsJson() throws Exception {
        Overloaded context = new Overloaded();
        Listener.register(context, Events.class.getName(), this::sink);
        context.registered.processOpenLineageRunEvent(new Bean(), null);
        context.registered.processOpenLineageRunEvent(this, null);
        assertEquals(List.of("run {\"eventType\":\"START\"}", "run null"), seen);
    }

    @Test
    void whatTheSinkThrowsReachesTheDaemon() throws Exception {
        Overloaded context = new Overloaded();
        Listener.register(context, Events.class.getName(), (kind, raw) -> {
            throw new EventNotKeptException("the disk is full", null);
        });
        EventNotKeptException thrown = assertThrows(
                EventNotKeptException.class, () -> context.registered.processOpenLineageRunEvent(null, "{}"));
        assertEquals("the disk is full", thrown.getMessage());
    }

    @Test
    void aContextThatCannotRegisterIsNamed() {
        NoSuchMethodException missing = assertThrows(
                NoSuchMethodException.class, () -> Listener.register(this, Events.class.getName(), this::sink));
        assertTrue(missing.getMessage().contains("ListenerTest has no method that registers a"));
        assertThrows(ClassNotFoundException.class, () -> Listener.register(this, "no.such.Listener", this::sink));
    }
}
