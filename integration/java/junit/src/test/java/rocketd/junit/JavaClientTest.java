package rocketd.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;

import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What the Java client does under each fault, and the extension on the way. */
@EnabledIf("rocketd.junit.RocketdExtension#available")
class JavaClientTest {
    @RegisterExtension
    static final RocketdExtension mq = new RocketdExtension().topic("orders:1").topic("other:1").group("shop:3")
        .set("flushDiskType", "SYNC_FLUSH").set("syncFlushTimeout", "200");

    private static final AtomicInteger names = new AtomicInteger();
    private final List<Runnable> cleanups = new java.util.ArrayList<>();

    @AfterEach
    void shutdown() {
        Collections.reverse(cleanups);
        cleanups.forEach(Runnable::run);
    }

    private DefaultMQProducer producer(Rocketd r) throws Exception {
        DefaultMQProducer p = new DefaultMQProducer("producers");
        p.setNamesrvAddr(r.namesrv());
        p.setInstanceName("p" + names.incrementAndGet());
        p.start();
        cleanups.add(p::shutdown);
        return p;
    }

    /** A consumer whose messages come in the queue; decide says whether one is consumed. */
    private BlockingQueue<MessageExt> consume(Rocketd r, String topic, Function<MessageExt, Boolean> decide) throws Exception {
        return consume(r, topic, decide, 1);
    }

    private BlockingQueue<MessageExt> consume(Rocketd r, String topic, Function<MessageExt, Boolean> decide, int members) throws Exception {
        BlockingQueue<MessageExt> got = new LinkedBlockingQueue<>();
        DefaultMQPushConsumer c = new DefaultMQPushConsumer("shop");
        c.setNamesrvAddr(r.namesrv());
        c.setInstanceName("c" + names.incrementAndGet());
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        c.setMaxReconsumeTimes(3); // it tells the broker with each message it gives back, whatever the group says
        c.subscribe(topic, "*");
        c.registerMessageListener((MessageListenerConcurrently) (list, context) -> {
            got.addAll(list);
            return list.stream().allMatch(decide::apply) ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER;
        });
        c.start();
        cleanups.add(c::shutdown);
        r.awaitMembers("shop", members);
        return got;
    }

    private static String next(BlockingQueue<MessageExt> got) throws InterruptedException {
        MessageExt m = got.poll(40, TimeUnit.SECONDS);
        return m == null ? "nothing" : new String(m.getBody());
    }

    private static Message message(String body) {
        return new Message("orders", body.getBytes());
    }

    private static List<String> bodies(List<StoredMessage> list) {
        return list.stream().map(StoredMessage::bodyText).collect(Collectors.toList());
    }

    @Test
    void twoHoursOfDelayPassAtOnce(Rocketd r) throws Exception {
        BlockingQueue<MessageExt> got = consume(r, "orders", m -> true);
        Message m = message("level");
        m.setDelayTimeLevel(18);
        producer(r).send(m);
        assertEquals("level", r.delayed().get(0).bodyText());
        r.advance(Duration.ofMinutes(119));
        assertTrue(r.messages("orders").isEmpty());
        r.advance(Duration.ofMinutes(1));
        assertEquals("level", next(got));
        Message timed = message("timer");
        timed.setDelayTimeMs(Duration.ofDays(1).toMillis());
        producer(r).send(timed);
        r.advance(Duration.ofDays(1));
        assertEquals("timer", next(got));
        r.awaitLag("shop", 0);
    }

    @Test
    void theRetryLadderFollowsTheClock(Rocketd r) throws Exception {
        BlockingQueue<MessageExt> got = consume(r, "orders", m -> false);
        r.send("orders", "m".getBytes(), "", "");
        for (int seconds : new int[] {10, 30, 60}) {
            assertEquals("m", next(got));
            r.awaitDelayed(1);
            r.advance(Duration.ofSeconds(seconds));
        }
        assertEquals("m", next(got));
        assertEquals("m", r.awaitMessages("%DLQ%shop", 1).get(0).bodyText());
    }

    // Unlike the Go client, the Java client tries a busy broker again.
    @Test
    void aBusyBrokerIsTriedAgain(Rocketd r) throws Exception {
        DefaultMQProducer p = producer(r);
        try (Rule busy = r.fault("busy").topic("orders").first(2).start()) {
            assertEquals(SendStatus.SEND_OK, p.send(message("m")).getSendStatus());
            assertEquals(2, busy.hits());
        }
        try (Rule busy = r.fault("busy").topic("orders").start()) {
            MQClientException e = assertThrows(MQClientException.class, () -> p.send(message("refused")));
            assertEquals(2, ((MQBrokerException) e.getCause()).getResponseCode());
            assertEquals(3, busy.hits());
        }
        assertEquals(Collections.singletonList("m"), bodies(r.messages("orders")));
    }

    @Test
    void aBrokenAnswerMakesADuplicate(Rocketd r) throws Exception {
        DefaultMQProducer p = producer(r);
        r.fault("breakSendAnswers").nth(1).start();
        SendResult sent = p.send(message("m"));
        List<StoredMessage> stored = r.messages("orders");
        assertEquals(Arrays.asList("m", "m"), bodies(stored));
        assertEquals(stored.get(0).id(), stored.get(1).id());
        assertEquals(sent.getMsgId(), stored.get(0).id());
    }

    // The whole of the timeout is for all tries together: a lost answer uses it up, unless one try is given less.
    @Test
    void aLostAnswerEndsInATimeout(Rocketd r) throws Exception {
        DefaultMQProducer p = producer(r);
        p.send(message("warm"));
        Rule lost = r.fault("loseSendAnswers").start();
        assertThrows(Exception.class, () -> p.send(message("m"), 500));
        lost.close();
        assertEquals(Arrays.asList("warm", "m"), bodies(r.messages("orders")));
        p.setSendMsgMaxTimeoutPerRequest(300);
        r.fault("loseSendAnswers").nth(1).start();
        p.send(message("n"), 5000);
        assertEquals(Arrays.asList("warm", "m", "n", "n"), bodies(r.messages("orders")));
    }

    @Test
    void brokenPullsAreTriedAgain(Rocketd r) throws Exception {
        r.send("orders", "m".getBytes(), "", "");
        Rule cut = r.on("pull").topic("orders").first(1).cutAnswer(30);
        BlockingQueue<MessageExt> got = consume(r, "orders", m -> true);
        cut.awaitHits(1);
        assertEquals("m", next(got));
        cut.close();
        Rule failing = r.on("pull").topic("orders").first(1).fail("SYSTEM_BUSY", "no");
        r.send("orders", "n".getBytes(), "", "");
        assertEquals("n", next(got));
        failing.close();
    }

    @Test
    void aKnownRouteOutlastsTheNameServer(Rocketd r) throws Exception {
        DefaultMQProducer p = producer(r);
        p.setRetryTimesWhenSendFailed(0);
        p.send(message("1"));
        r.act("stopNamesrv");
        p.send(message("2"));
        assertThrows(Exception.class, () -> p.send(new Message("other", "x".getBytes())));
        r.act("resumeNamesrv");
        p.send(new Message("other", "y".getBytes()));
        assertEquals(Arrays.asList("1", "2"), bodies(r.messages("orders")));
    }

    @Test
    void aKilledBrokerKeepsItsMessages(Rocketd r) throws Exception {
        BlockingQueue<MessageExt> got = consume(r, "orders", m -> true);
        DefaultMQProducer p = producer(r);
        p.setRetryTimesWhenSendFailed(0);
        p.send(message("before"));
        assertEquals("before", next(got));
        r.kill();
        assertThrows(Exception.class, () -> p.send(message("lost"), 1000));
        r.resume();
        assertEquals(Collections.singletonList("before"), bodies(r.messages("orders")));
        p.send(message("after"));
        String first = next(got);
        // What had not been saved is consumed again.
        assertTrue(Arrays.asList("before", "after").contains(first), first);
        if (first.equals("before")) {
            assertEquals("after", next(got));
        }
    }

    @Test
    void anUndecidedTransactionIsAskedAbout(Rocketd r) throws Exception {
        BlockingQueue<String> asked = new LinkedBlockingQueue<>();
        TransactionMQProducer p = new TransactionMQProducer("tx");
        p.setNamesrvAddr(r.namesrv());
        p.setInstanceName("t" + names.incrementAndGet());
        p.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message m, Object arg) {
                return LocalTransactionState.UNKNOW;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt m) {
                asked.add(new String(m.getBody()));
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        p.start();
        cleanups.add(p::shutdown);
        p.sendMessageInTransaction(message("m"), null);
        r.awaitUndecided(1);
        r.awaitProducers("tx", 1);
        r.advance(Duration.ofMinutes(1));
        assertEquals("m", asked.poll(20, TimeUnit.SECONDS));
        assertEquals("m", r.awaitMessages("orders", 1).get(0).bodyText());
        r.awaitUndecided(0);
    }

    @Test
    void locksThatExpireLoseNothing(Rocketd r) throws Exception {
        BlockingQueue<String> got = new LinkedBlockingQueue<>();
        DefaultMQPushConsumer c = new DefaultMQPushConsumer("shop");
        c.setNamesrvAddr(r.namesrv());
        c.setInstanceName("o" + names.incrementAndGet());
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        c.subscribe("orders", "*");
        c.registerMessageListener((MessageListenerOrderly) (list, context) -> {
            list.forEach(m -> got.add(new String(m.getBody())));
            return ConsumeOrderlyStatus.SUCCESS;
        });
        c.start();
        cleanups.add(c::shutdown);
        r.send("orders", "1".getBytes(), "", "");
        assertEquals("1", got.poll(40, TimeUnit.SECONDS));
        assertTrue(r.expireLocks("shop") > 0);
        r.send("orders", "2".getBytes(), "", "");
        assertEquals("2", got.poll(40, TimeUnit.SECONDS));
    }

    @Test
    void lostAndClosedPullsAreTriedAgain(Rocketd r) throws Exception {
        r.send("orders", "m".getBytes(), "", "");
        Rule closing = r.on("pull").topic("orders").first(1).close(true);
        BlockingQueue<MessageExt> got = consume(r, "orders", m -> true);
        closing.awaitHits(1);
        assertEquals("m", next(got));
        closing.close();
        Rule late = r.on("pull").topic("orders").first(1).delayAnswer(Duration.ofSeconds(1));
        r.send("orders", "n".getBytes(), "", "");
        assertEquals("n", next(got));
        late.close();
    }

    @Test
    void aFullDiskIsToldAndHeals(Rocketd r) throws Exception {
        DefaultMQProducer p = producer(r);
        p.setRetryTimesWhenSendFailed(0);
        p.send(message("first"));
        r.act("fillDisk");
        MQClientException e = assertThrows(MQClientException.class, () -> p.send(message("refused")));
        assertEquals(14, ((MQBrokerException) e.getCause()).getResponseCode(), e.getMessage()); // SERVICE_NOT_AVAILABLE
        r.heal();
        sendUntilTaken(p, "second");
        assertEquals(Arrays.asList("first", "second"), bodies(r.messages("orders")));
    }

    // A flush that comes too late is a status of the result, not an exception, and the message is there.
    @Test
    void aSlowDiskTimesOutTheFlush(Rocketd r) throws Exception {
        DefaultMQProducer p = producer(r);
        assertEquals(SendStatus.SEND_OK, p.send(message("quick")).getSendStatus());
        r.slowDisk(Duration.ofMillis(1500));
        assertEquals(SendStatus.FLUSH_DISK_TIMEOUT, p.send(message("slow"), 20_000).getSendStatus());
        r.heal();
        SendStatus last = null;
        for (int i = 0; i < 100 && last != SendStatus.SEND_OK; i++) {
            last = p.send(message("again"), 20_000).getSendStatus();
        }
        assertEquals(SendStatus.SEND_OK, last);
        assertEquals("slow", r.messages("orders").get(1).bodyText());
    }

    @Test
    void aFlappingGroupLosesNothing(Rocketd r) throws Exception {
        BlockingQueue<MessageExt> one = consume(r, "orders", m -> true);
        BlockingQueue<MessageExt> two = consume(r, "orders", m -> true, 2);
        java.util.Set<String> missing = new java.util.TreeSet<>();
        try (Rule flap = r.fault("flapConsumers").group("shop").start()) {
            for (int i = 0; i < 40; i++) {
                r.send("orders", ("m" + i).getBytes(), "", "");
                missing.add("m" + i);
                if (i % 10 == 0) {
                    r.notifyConsumers("shop");
                }
            }
            flap.awaitHits(2);
        }
        r.notifyConsumers("shop");
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!missing.isEmpty() && System.nanoTime() < end) {
            for (BlockingQueue<MessageExt> got : Arrays.asList(one, two)) {
                MessageExt m = got.poll(100, TimeUnit.MILLISECONDS);
                if (m != null) {
                    missing.remove(new String(m.getBody()));
                }
            }
        }
        assertEquals(Collections.emptySet(), missing);
    }

    @Test
    void aTopicWithoutARouteIsFoundWhenItHasOne(Rocketd r) throws Exception {
        DefaultMQProducer p = producer(r);
        try (Rule hidden = r.fault("noRoute").topic("other").start()) {
            // The client then takes the queues of TBW102, of which this topic has but one.
            assertThrows(MQBrokerException.class, () -> {
                for (int i = 0; i < 8; i++) {
                    p.send(new Message("other", "x".getBytes()));
                }
            });
            assertTrue(hidden.hits() > 0);
        }
        producer(r).send(new Message("other", "y".getBytes())); // the first one asks again after 30 s
        List<String> stored = bodies(r.messages("other"));
        assertEquals("y", stored.get(stored.size() - 1));
    }

    @Test
    void aClosedConnectionIsOpenedAnew(Rocketd r) throws Exception {
        DefaultMQProducer p = producer(r);
        p.send(message("1"));
        String id = p.getDefaultMQProducerImpl().getMqClientFactory().getClientId();
        assertTrue(r.closeClient(id) > 0, id);
        assertEquals(SendStatus.SEND_OK, p.send(message("2")).getSendStatus());
        assertEquals("2", r.messages("orders").get(r.messages("orders").size() - 1).bodyText());
    }

    @Test
    void aPowerLossKeepsWhatWasFlushed(Rocketd r) throws Exception {
        DefaultMQProducer p = producer(r);
        p.setRetryTimesWhenSendFailed(0);
        for (int i = 0; i < 10; i++) {
            assertEquals(SendStatus.SEND_OK, p.send(message("m" + i)).getSendStatus());
        }
        r.powerLoss(7);
        r.resume();
        List<String> kept = bodies(r.messages("orders"));
        for (int i = 0; i < 10; i++) {
            assertEquals("m" + i, kept.get(i));
        }
    }

    /** Sends until the broker takes it: it looks once a second, on its clock, whether its disk works again. */
    private static void sendUntilTaken(DefaultMQProducer p, String body) throws Exception {
        for (int i = 0;; i++) {
            try {
                p.send(message(body));
                return;
            } catch (MQClientException | MQBrokerException e) {
                if (i == 200) {
                    throw e;
                }
                TimeUnit.MILLISECONDS.sleep(50);
            }
        }
    }

    @Test
    void failedWaitsTellWhatWasSeen(Rocketd r) {
        r.setTimeout(Duration.ofMillis(50));
        RocketdException e = assertThrows(RocketdException.class, () -> r.awaitMessages("orders", 1));
        r.setTimeout(Duration.ofSeconds(20));
        assertEquals(409, e.status());
        assertTrue(e.getMessage().contains("topic orders to have 1 messages, it has 0"), e.getMessage());
        assertTrue(e.getMessage().contains("topic orders: 0 messages"), e.getMessage());
        assertThrows(RocketdException.class, () -> r.on("NO_SUCH_CODE").drop());
        assertFalse(r.seen().isEmpty());
    }
}
