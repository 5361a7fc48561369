/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LimiterTest {
    @Test
    void theFirstGoesThroughAndThenOneInAWhileWithTheNumberOfTheOthers() {
        AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5); // System.nanoTime may be anything, and overflow
        Limiter limiter = new Limiter(10, clock::get);
        assertEquals(OptionalLong.of(0), limiter.admit());
        clock.addAndGet(9);
        assertEquals(OptionalLong.empty(), limiter.admit());
        assertEquals(OptionalLong.empty(), limiter.admit());
        clock.addAndGet(1);
        assertEquals(OptionalLong.of(2), limiter.admit());
        clock.addAndGet(10);
        assertEquals(OptionalLong.of(0), limiter.admit());
    }
}
