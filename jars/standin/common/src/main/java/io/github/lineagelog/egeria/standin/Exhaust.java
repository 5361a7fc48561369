/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import java.util.LinkedHashMap;
import java.util.Map;

/** Takes all memory of the JVM for a while, again and again: what a platform with too small a heap does to those in it. */
final class Exhaust {
    private static final int LARGE = 1 << 20;
    private static final int SMALL = 16;
    private static final long HELD_MILLIS = 300;

    private Exhaust() {}

    /** A list without a class that must be loaded, or an array that must grow, while there is no memory. */
    private static final class Link {
        private final Object[] content;
        private final Link next;

        private Link(Object[] content, Link next) {
            this.content = content;
            this.next = next;
        }
    }

    static Map<String, Object> run(int times) throws InterruptedException {
        long links = 0;
        for (int time = 0; time < times; time++) {
            Link all = fill();
            Thread.sleep(HELD_MILLIS);
            for (Link link = all; link != null; link = link.next) {
                links += link.content.length > 0 ? 1 : 0;
            }
            all = null;
        }
        Map<String, Object> done = new LinkedHashMap<>();
        done.put("links", links);
        return done;
    }

    private static Link fill() {
        Link all = null;
        for (int size = LARGE; size >= SMALL; size /= 4) {
            try {
                while (true) {
                    all = new Link(new Object[size], all);
                }
            } catch (OutOfMemoryError full) {
                continue; // smaller ones may still fit
            }
        }
        return all;
    }
}
