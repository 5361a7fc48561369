/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Which instance of each connector is the present one.
 *
 * <p>A newer daemon makes a new instance at each restart and tells the old one nothing; its listener stays registered for
 * ever. An instance that has a successor finds out here.
 */
public final class Instances {
    private final Map<String, String> present = new ConcurrentHashMap<>();

    Instances() {}

    /**
     * From now on this instance is the present one.
     *
     * @param connector what the instances of a connector have in common
     * @param id the instance
     * @return the instance whose place it takes, or null
     */
    public String enter(String connector, String id) {
        String before = present.put(connector, id);
        return id.equals(before) ? null : before;
    }

    /** Whether events are this instance's: as long as no other one is present. */
    public boolean mayTake(String connector, String id) {
        String now = present.get(connector);
        return now == null || now.equals(id);
    }

    /** The instance is no more; a successor stays. */
    public void leave(String connector, String id) {
        present.remove(connector, id);
    }
}
