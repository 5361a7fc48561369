/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria;

/** What the Python side said about an event or a call that it could not take; the message is its text. */
public final class BridgeException extends Exception {
    private static final long serialVersionUID = 1L;

    public BridgeException(String message) {
        super(message);
    }
}
