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
    void whatIsPutBackComesFirstAndInOrder() throws Exception {
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
        List<Word> taken = mailbox.take(3, 0, 1000);
        assertEquals(sent.subList(0, 3), taken);
        taken.get(1).accept("");
        mailbox.putBack(taken);
        assertEquals(List.of(sent.get(0), sent.get(2), sent.get(3)), mailbox.take(9, 0, 1000));
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
