/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.lineagelog.egeria.standin.v4.Era43;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The connector in the shape of Egeria 4.3, made by the real ConnectorBroker. */
class Era43Test extends ConnectorContract {
    Era43Test() {
        super(new Era43(), "io.github.lineagelog.egeria.v4.LineagelogProvider");
    }

    @Test
    void aJobEventComesAsARunEvent() {
        startDaemon();
        daemon().dispatch().publish("{\"job\":{\"name\":\"j\"}}");
        assertEquals(List.of("run"), python().kinds);
    }
}
