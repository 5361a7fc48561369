/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import java.util.OptionalLong;
import java.util.function.LongSupplier;

/** Lets the first of many like records through, then one in a while that says how many there were in between. */
final class Limiter {
    private final long pauseNanos;
    private final LongSupplier clock;
    private boolean begun = false;
    private long last = 0;
    private long heldBack = 0;

    Limiter(long pauseNanos, LongSupplier clock) {
        this.pauseNanos = pauseNanos;
        this.clock = clock;
    }

    /** One more: how many were held back since the last that went through, or nothing if this one is held back. */
    synchronized OptionalLong admit() {
        long now = clock.getAsLong();
        if (begun && now - last < pauseNanos) {
            heldBack++;
            return OptionalLong.empty();
        }
        long before = heldBack;
        begun = true;
        last = now;
        heldBack = 0;
        return OptionalLong.of(before);
    }
}
