/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class InstancesTest {
    private final Instances instances = new Instances();

    @Test
    void aSuccessorTakesTheEvents() {
        assertTrue(instances.mayTake("c", "1"), "the first has registered and has not entered yet");
        assertNull(instances.enter("c", "1"));
        assertNull(instances.enter("c", "1"));
        assertEquals("1", instances.enter("c", "2"));
        assertFalse(instances.mayTake("c", "1"));
        assertTrue(instances.mayTake("c", "2"));
        assertTrue(instances.mayTake("d", "1"));
    }

    @Test
    void whoLeavesLateTakesNothingFromItsSuccessor() {
        instances.enter("c", "1");
        instances.enter("c", "2");
        instances.leave("c", "1");
        assertFalse(instances.mayTake("c", "1"));
        instances.leave("c", "2");
        assertTrue(instances.mayTake("c", "3"));
    }
}
