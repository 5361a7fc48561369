/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import java.util.LinkedHashMap;
import java.util.Map;

/** Another connector's listener beside ours: counts what it gets and throws when it is told to. */
final class SecondListener implements Dispatch.Listener {
    private final Map<String, Long> counts = new LinkedHashMap<>();
    private long nullBeans = 0;
    private String last = null;
    private boolean throwing = false;

    @Override
    public synchronized void accept(String kind, RunEvent bean, String raw) {
        counts.merge(kind, 1L, Long::sum);
        nullBeans += bean == null ? 1 : 0;
        last = raw;
        if (throwing) {
            throw new IllegalStateException("the second listener was told to throw");
        }
    }

    synchronized void setThrowing(boolean throwing) {
        this.throwing = throwing;
    }

    synchronized Map<String, Object> state() {
        Map<String, Object> state = new LinkedHashMap<>(counts);
        state.put("nullBeans", nullBeans);
        state.put("last", last);
        state.put("throwing", throwing);
        return state;
    }
}
