/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What both queues are made of: Java threads put an item in and wait for its answer, Python takes items and answers.
 *
 * @param <T> the item
 */
final class Mailbox<T extends Mailbox.Item> {
    /** Something that one thread waits for; the first answer counts, later ones change nothing. */
    static class Item {
        final CompletableFuture<String> reply = new CompletableFuture<>();
        /** Whether whoever took it has shown that it has it. */
        volatile boolean received = false;

        void receive() {
            received = true;
        }

        void accept(String text) {
            reply.complete(text);
        }

        void refuse(String text) {
            reply.completeExceptionally(new BridgeException(text == null ? "no reason was given" : text));
        }

        /** What the item counts for in a bounded take. */
        int weight() {
            return 0;
        }
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition arrived = lock.newCondition();
    private final Deque<T> queue = new ArrayDeque<>();
    /** Waiting or in Python's hands: those that a close must answer. */
    private final Set<T> unanswered = new LinkedHashSet<>();
    /** Why nothing is taken in, or null while it is. */
    private String closed;

    Mailbox(String reason) {
        closed = reason;
    }

    void open() {
        lock.lock();
        try {
            closed = null;
        } finally {
            lock.unlock();
        }
    }

    void close(String reason) {
        lock.lock();
        try {
            closed = reason == null ? "no reason was given" : reason;
            queue.clear();
            unanswered.forEach(item -> item.refuse(closed));
            arrived.signalAll();
        } finally {
            lock.unlock();
        }
    }

    boolean isOpen() {
        lock.lock();
        try {
            return closed == null;
        } finally {
            lock.unlock();
        }
    }

    int waiting() {
        lock.lock();
        try {
            return queue.size();
        } finally {
            lock.unlock();
        }
    }

    /** Puts the item in and waits for its answer, without end. */
    String post(T item) throws BridgeException, InterruptedException {
        enqueue(item);
        try {
            return item.reply.get();
        } catch (ExecutionException refused) {
            throw new BridgeException(refused.getCause().getMessage());
        } finally {
            withdraw(item);
        }
    }

    /** Puts the item in and waits so long for its answer; an item that nobody took is withdrawn. */
    String post(T item, long timeoutMillis) throws BridgeException, InterruptedException, TimeoutException {
        enqueue(item);
        try {
            return item.reply.get(timeoutMillis, TimeUnit.MILLISECONDS);
        } catch (ExecutionException refused) {
            throw new BridgeException(refused.getCause().getMessage());
        } finally {
            withdraw(item);
        }
    }

    private void enqueue(T item) throws BridgeException, InterruptedException {
        lock.lockInterruptibly();
        try {
            if (closed != null) {
                throw new BridgeException(closed);
            }
            queue.addLast(item);
            unanswered.add(item);
            arrived.signal();
        } finally {
            lock.unlock();
        }
    }

    private void withdraw(T item) {
        lock.lock();
        try {
            unanswered.remove(item);
            if (!item.reply.isDone()) {
                queue.remove(item);
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for the first item and takes all that wait, at least one, up to so many and so heavy.
     *
     * @return the items in the order of their arrival; none when none came in time or the mailbox is closed
     */
    List<T> take(int max, long maxWeight, long waitMillis) throws InterruptedException {
        List<T> taken;
        long left = TimeUnit.MILLISECONDS.toNanos(waitMillis);
        lock.lockInterruptibly();
        try {
            while (queue.isEmpty() && closed == null && left > 0) {
                left = arrived.awaitNanos(left);
            }
            long weight = 0;
            taken = new ArrayList<>(Math.min(max, queue.size()) + 1); // no memory is needed once the first is taken
            while (!queue.isEmpty() && (taken.isEmpty() || taken.size() < max)) {
                weight += queue.peekFirst().weight();
                if (!taken.isEmpty() && weight > maxWeight) {
                    break;
                }
                taken.add(queue.pollFirst());
            }
            if (!queue.isEmpty()) {
                arrived.signal(); // what was left is another taker's
            }
        } finally {
            lock.unlock();
        }
        return taken;
    }

    /**
     * Items that were taken and got lost on the way to the taker come first again, in their order: there was no memory to
     * hand them on, here or in what calls us. For the one taker, when its call has failed.
     */
    void recover() {
        lock.lock();
        try {
            List<T> lost = new ArrayList<>();
            for (T item : unanswered) {
                if (!item.received && !item.reply.isDone() && !queue.contains(item)) {
                    lost.add(item);
                }
            }
            for (int at = lost.size() - 1; at >= 0; at--) {
                queue.addFirst(lost.get(at));
            }
            arrived.signal();
        } finally {
            lock.unlock();
        }
    }
}
