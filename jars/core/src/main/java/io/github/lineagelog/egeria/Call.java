/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria;

/** One question of a connector to Python, which answers or fails it. */
public final class Call extends Mailbox.Item {
    private final String connector;
    private final String operation;
    private final String argument;

    Call(String connector, String operation, String argument) {
        this.connector = connector;
        this.operation = operation;
        this.argument = argument;
    }

    public String connector() {
        receive();
        return connector;
    }

    public String operation() {
        return operation;
    }

    /** JSON. */
    public String argument() {
        return argument;
    }

    /** Done; the answer is JSON. */
    public void answer(String json) {
        accept(json);
    }

    /** It could not be done; the text says why. */
    public void fail(String text) {
        refuse(text);
    }
}
