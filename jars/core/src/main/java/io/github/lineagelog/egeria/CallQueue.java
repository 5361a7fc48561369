/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria;

import java.util.List;
import java.util.concurrent.TimeoutException;

/** Life cycle calls of the connectors: rare, each answered by Python with a JSON text. */
public final class CallQueue {
    private final Mailbox<Call> mailbox;

    CallQueue(String reason) {
        mailbox = new Mailbox<>(reason);
    }

    /**
     * Java side: asks Python and waits for the answer.
     *
     * @param connector the id of the connector instance
     * @param operation {@code initialize}, {@code start}, {@code replace}, {@code refresh} or {@code disconnect}
     * @param argument JSON
     * @param timeoutMillis how long to wait
     * @return JSON
     * @throws BridgeException with Python's text, or that Python is away or did not answer in time
     */
    public String call(String connector, String operation, String argument, long timeoutMillis)
            throws BridgeException, InterruptedException {
        try {
            return mailbox.post(new Call(connector, operation, argument), timeoutMillis);
        } catch (TimeoutException late) {
            throw new BridgeException("no answer to " + operation + " within " + timeoutMillis / 1000.0 + " seconds");
        }
    }

    /**
     * Python side: waits for the next call.
     *
     * @return null when none came in this time or the bridge was detached
     */
    public Call take(long waitMillis) throws InterruptedException {
        List<Call> calls = mailbox.take(1, 0, waitMillis);
        return calls.isEmpty() ? null : calls.get(0);
    }

    /** Python side, when a take has failed: the call that it took and could not hand over is to be taken again. */
    public void recover() {
        mailbox.recover();
    }

    void open() {
        mailbox.open();
    }

    void close(String reason) {
        mailbox.close(reason);
    }

    boolean isOpen() {
        return mailbox.isOpen();
    }
}
