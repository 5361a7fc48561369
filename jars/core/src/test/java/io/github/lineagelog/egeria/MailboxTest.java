/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MailboxTest {
    private static final class Word extends Mailbox.Item {}

    @Test
    void whatIsLostOnTheWayIsTakenAgainFirstAndInOrder() throws Exception {
        Mailbox<Word> mailbox = new Mailbox<>("closed");
        mailbox.open();
        List<Word> sent = new ArrayList<>();
        List<Thread> senders = new ArrayList<>();
        for (int number = 0; number < 4; number++) {
            Word word = new Word();
            sent.add(word);
            senders.add(new Thread(() -> post(mailbox, word)));
            senders.get(number).start();
            while (mailbox.waiting() <= number) {
                Thread.sleep(1);
            }
        }
        mailbox.take(1, 0, 1000).get(0).receive();
        assertEquals(sent.subList(1, 3), mailbox.take(2, 0, 1000));
        mailbox.recover();
        assertEquals(sent.subList(1, 4), mailbox.take(9, 0, 1000));
        sent.get(2).accept("");
        mailbox.recover();
        assertEquals(List.of(sent.get(1), sent.get(3)), mailbox.take(9, 0, 1000));
        mailbox.close("over");
        for (Thread sender : senders) {
            sender.join();
        }
    }

    private static void post(Mailbox<Word> mailbox, Word word) {
        try {
            mailbox.post(word);
        } catch (BridgeException | InterruptedException over) {
            return;
        }
    }
}
