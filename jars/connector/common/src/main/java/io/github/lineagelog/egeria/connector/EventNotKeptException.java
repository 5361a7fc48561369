/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

/** An event is neither in the log store nor in the spool; the message says why. The daemon audits it. */
public final class EventNotKeptException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    EventNotKeptException(String message, Throwable cause) {
        super(message, cause);
    }
}
