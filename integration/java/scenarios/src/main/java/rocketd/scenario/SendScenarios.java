package rocketd.scenario;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

final class SendScenarios {
    static void add(Map<String, Scenario> all) {
        all.put("send_sync", SendScenarios::sync);
        all.put("send_async", SendScenarios::async);
        all.put("send_oneway", SendScenarios::oneway);
        all.put("send_batch", SendScenarios::batch);
        all.put("send_limits", SendScenarios::limits);
        all.put("send_bodies", SendScenarios::bodies);
        all.put("with_go_bodies", SendScenarios::exchange);
    }

    private static Inbox subscribe(Env env, String topic, String expression) throws Exception {
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        c.subscribe(topic, expression);
        c.registerMessageListener(inbox);
        c.start();
        return inbox;
    }

    static void sync(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        int[] perQueue = new int[16];
        for (int i = 0; i < 40; i++) {
            Message m = Env.message(topic, "TagA", "key" + i, "body " + i);
            m.putUserProperty("colour", "red");
            m.putUserProperty("umlaut", "Grün 中文 \uD83D\uDE80");
            SendResult r = p.send(m);
            f.must(r.getSendStatus() == SendStatus.SEND_OK, "status " + r.getSendStatus());
            f.must(r.getOffsetMsgId().length() == 32, "offset id " + r.getOffsetMsgId());
            f.must(r.getQueueOffset() == perQueue[r.getMessageQueue().getQueueId()]++, "queue offset " + r.getQueueOffset());
            f.see("region", r.getRegionId());
            f.see("traceOn", r.isTraceOn());
        }
        f.see("queues", p.fetchPublishMessageQueues(topic).size());
        Inbox inbox = subscribe(env, topic, "*");
        inbox.expect(f, "got", 40, 60000);
        MessageExt m = inbox.all().get(0).message;
        f.see("tags", m.getTags());
        f.see("colour", m.getUserProperty("colour"));
        f.see("umlaut", m.getUserProperty("umlaut"));
        f.see("keys", m.getKeys().replaceAll("\\d", ""));
        f.see("properties", new java.util.TreeSet<>(m.getProperties().keySet()));
        f.see("reconsume", m.getReconsumeTimes());
        f.see("sysFlag", m.getSysFlag());
    }

    static void async(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        int n = 200;
        CountDownLatch done = new CountDownLatch(n);
        AtomicInteger ok = new AtomicInteger();
        p.send(Env.message(topic, "", "", "first"));
        for (int i = 0; i < n; i++) {
            p.send(Env.message(topic, "TagB", "k" + i, "body " + i), new SendCallback() {
                @Override
                public void onSuccess(SendResult r) {
                    ok.incrementAndGet();
                    done.countDown();
                }

                @Override
                public void onException(Throwable e) {
                    System.err.println("async: " + e);
                    done.countDown();
                }
            });
        }
        f.must(done.await(30, TimeUnit.SECONDS), "callbacks missing: " + done.getCount());
        f.see("ok", ok.get());
        f.must(ok.get() == n, "acknowledged " + ok.get());
        subscribe(env, topic, "*").expect(f, "got", n + 1, 60000);
    }

    static void oneway(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        p.send(Env.message(topic, "", "", "first"));
        for (int i = 0; i < 50; i++) {
            p.sendOneway(Env.message(topic, "", "", "body " + i));
        }
        subscribe(env, topic, "*").expect(f, "got", 51, 60000);
    }

    static void batch(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        p.send(Env.message(topic, "", "", "first"));
        List<Message> batch = new ArrayList<>();
        for (int i = 0; i < 32; i++) {
            Message m = Env.message(topic, i % 2 == 0 ? "even" : "odd", "k" + i, "body " + i);
            m.putUserProperty("n", String.valueOf(i));
            batch.add(m);
        }
        SendResult r = p.send(batch);
        f.see("status", r.getSendStatus());
        f.see("ids", r.getMsgId().split(",").length + "/" + r.getOffsetMsgId().split(",").length);
        Inbox inbox = subscribe(env, topic, "even || first");
        inbox.expect(f, "even", 16, 60000);
        MessageExt m = inbox.all().get(0).message;
        f.see("properties", new java.util.TreeSet<>(m.getProperties().keySet()));
        try {
            Message delayed = Env.message(topic, "", "", "late");
            delayed.setDelayTimeLevel(3);
            p.send(Arrays.asList(delayed, Env.message(topic, "", "", "x")));
            f.see("delayedBatch", "sent");
        } catch (Exception e) {
            f.see("delayedBatch", e.getClass().getSimpleName());
        }
    }

    private static String outcome(DefaultMQProducer p, Message m) throws Exception {
        try {
            return p.send(m).getSendStatus().toString();
        } catch (MQBrokerException e) {
            return "broker " + e.getResponseCode();
        } catch (MQClientException e) {
            return "client " + e.getResponseCode();
        }
    }

    static void limits(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        p.setMaxMessageSize(16 * 1024 * 1024);
        p.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        p.setRetryTimesWhenSendFailed(0);
        p.setSendMsgTimeout(30000);
        f.see("body 4MB-1", outcome(p, new Message(topic, new byte[4 * 1024 * 1024 - 1])));
        f.see("body 4MB", outcome(p, new Message(topic, new byte[4 * 1024 * 1024])));
        f.see("body 4MB+1", outcome(p, new Message(topic, new byte[4 * 1024 * 1024 + 1])));
        for (int n : new int[] {32000, 33000}) {
            Message m = new Message(topic, "x".getBytes());
            char[] long1 = new char[n];
            Arrays.fill(long1, 'p');
            m.putUserProperty("p", new String(long1));
            f.see("properties " + n, outcome(p, m));
        }
        f.see("bad topic", outcome(p, new Message("bad topic!", "x".getBytes())));
        f.see("forbidden topic", outcome(p, new Message("SCHEDULE_TOPIC_XXXX", "x".getBytes())));
        Message level = new Message(topic, "x".getBytes());
        level.putUserProperty("after", "limits");
        f.see("still works", outcome(p, level));
    }

    private static final int[] SIZES = {1, 5000, 1 << 20};

    /** Somebody with another client sends to one topic and reads another: bodies come as they were, packed ones too. */
    static void exchange(Env env, Facts f) throws Exception {
        DefaultMQProducer p = env.producer();
        Inbox inbox = subscribe(env, env.topic("to_java"), "*");
        for (int size : SIZES) {
            byte[] body = new byte[size];
            Arrays.fill(body, (byte) 'j');
            p.send(new Message(env.topic("to_go"), "", body));
        }
        f.must(Env.await(60000, () -> inbox.size() >= SIZES.length), "got " + inbox.size());
        f.see("sizes", inbox.all().stream().map(a -> a.message.getBody().length).sorted().collect(java.util.stream.Collectors.toList()));
        for (Inbox.Arrival a : inbox.all()) {
            byte[] want = new byte[a.message.getBody().length];
            Arrays.fill(want, (byte) 'g');
            f.must(Arrays.equals(want, a.message.getBody()), "a body of " + want.length + " bytes differs");
            f.see("packed " + want.length, a.message.getStoreSize() < want.length);
        }
    }

    static void bodies(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        byte[] big = new byte[1024 * 1024];
        new java.util.Random(7).nextBytes(big);
        byte[] soft = new byte[100 * 1024];
        p.send(new Message(topic, "big", big));
        p.send(new Message(topic, "soft", soft));
        Inbox inbox = subscribe(env, topic, "*");
        f.must(Env.await(60000, () -> inbox.size() >= 2), "got " + inbox.size());
        for (Inbox.Arrival a : inbox.all()) {
            byte[] want = a.message.getTags().equals("big") ? big : soft;
            f.must(Arrays.equals(want, a.message.getBody()), "body of " + a.message.getTags() + " differs");
            f.see("sysFlag " + a.message.getTags(), a.message.getSysFlag());
            f.see("stored smaller " + a.message.getTags(), a.message.getStoreSize() < want.length);
        }
    }

    private SendScenarios() {
    }
}
