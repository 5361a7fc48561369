/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria;

/**
 * The one meeting point of Java and Python in a JVM.
 *
 * <p>It is static and exists once because this jar is on the JVM's own class path, whatever class loader the platform
 * gives to the connectors. Java never calls Python: events and life cycle calls wait in queues that Python empties.
 */
public final class Bridge {
    /** Why nothing is delivered before {@link #attach()}. */
    public static final String NOT_ATTACHED =
            "the Python side of lineagelog is not running in this JVM: start the integration daemon with `lineagelog daemon`";

    private static final EventQueue EVENTS = new EventQueue(NOT_ATTACHED);
    private static final CallQueue CALLS = new CallQueue(NOT_ATTACHED);
    private static final Instances INSTANCES = new Instances();

    private Bridge() {}

    public static EventQueue events() {
        return EVENTS;
    }

    public static CallQueue calls() {
        return CALLS;
    }

    public static Instances instances() {
        return INSTANCES;
    }

    /** Whether Python listens. */
    public static boolean attached() {
        return CALLS.isOpen() && EVENTS.isOpen();
    }

    /** Python listens from now on. */
    public static void attach() {
        CALLS.open();
        EVENTS.open();
    }

    /** Python listens no more: whoever waits, and whoever comes later, gets a BridgeException with this reason. */
    public static void detach(String reason) {
        EVENTS.close(reason);
        CALLS.close(reason);
    }
}
