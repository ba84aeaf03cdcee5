package rocketd.scenario;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.MessageExt;

final class RetryScenarios {
    static void add(Map<String, Scenario> all) {
        all.put("retry", RetryScenarios::retry);
        all.put("dead_letter", RetryScenarios::deadLetter);
        all.put("dead_letter_orderly", RetryScenarios::deadLetterOrderly);
    }

    private static void describe(Facts f, String what, MessageExt m, SendResult sent) {
        f.see(what + ".properties", new java.util.TreeSet<>(m.getProperties().keySet()));
        f.see(what + ".reconsume", m.getReconsumeTimes());
        f.see(what + ".delay", m.getProperty("DELAY"));
        f.see(what + ".retry topic is topic", m.getTopic().equals(m.getProperty("RETRY_TOPIC")));
        f.see(what + ".origin is first id", sent.getOffsetMsgId().equals(m.getProperty("ORIGIN_MESSAGE_ID")));
        f.see(what + ".same unique id", sent.getMsgId().equals(m.getMsgId()));
        f.see(what + ".tags", m.getTags());
    }

    static void retry(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        SendResult sent = p.send(Env.message(topic, "TagA", "k", "again"));
        List<MessageExt> seen = new ArrayList<>();
        List<Long> at = new ArrayList<>();
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        c.subscribe(topic, "TagA");
        c.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            synchronized (seen) {
                seen.addAll(messages);
                at.add(System.currentTimeMillis());
                return seen.size() < 3 ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            }
        });
        c.start();
        Env.await(150000, () -> seen.size() >= 3);
        synchronized (seen) {
            f.must(seen.size() == 3, "tries " + seen.size());
            for (int i = 0; i < seen.size(); i++) {
                describe(f, "try " + i, seen.get(i), sent);
                f.must(seen.get(i).getTopic().equals(topic), "topic " + seen.get(i).getTopic());
            }
            for (int i = 1; i < at.size(); i++) {
                long want = i == 1 ? 10000 : 30000;
                long took = at.get(i) - at.get(i - 1);
                // A new group's retry topic is read after its next rebalance, up to 40 s later.
                f.must(took >= want - 50 && took < want + 45000, "try " + i + " after " + took + " ms");
            }
        }
    }

    static void deadLetter(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        String group = env.group("c");
        DefaultMQProducer p = env.producer();
        SendResult sent = p.send(Env.message(topic, "TagA", "k", "dead"));
        ConcurrentLinkedQueue<MessageExt> seen = new ConcurrentLinkedQueue<>();
        DefaultMQPushConsumer c = env.consumer(group);
        c.setMaxReconsumeTimes(1);
        c.subscribe(topic, "*");
        c.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            seen.addAll(messages);
            context.setDelayLevelWhenNextConsume(1);
            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        });
        c.start();
        Env.await(60000, () -> seen.size() >= 2);
        dead(env, f, group, sent);
        f.see("tries", seen.size());
    }

    private static void dead(Env env, Facts f, String group, SendResult sent) throws Exception {
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer d = env.consumer(env.group("dlq"));
        d.subscribe("%DLQ%" + group, "*");
        d.registerMessageListener(inbox);
        d.start();
        f.must(Env.await(60000, () -> inbox.size() >= 1), "no dead letter");
        if (inbox.size() > 0) {
            MessageExt m = inbox.all().get(0).message;
            describe(f, "dead", m, sent);
            f.see("dead.topic", m.getTopic().equals("%DLQ%" + group));
        }
    }

    static void deadLetterOrderly(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        String group = env.group("c");
        DefaultMQProducer p = env.producer();
        SendResult sent = p.send(Env.message(topic, "TagA", "k", "dead"));
        ConcurrentLinkedQueue<MessageExt> seen = new ConcurrentLinkedQueue<>();
        DefaultMQPushConsumer c = env.consumer(group);
        c.setMaxReconsumeTimes(2);
        c.setSuspendCurrentQueueTimeMillis(200);
        c.subscribe(topic, "*");
        c.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            seen.addAll(messages);
            return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
        });
        c.start();
        Env.await(60000, () -> seen.size() >= 3);
        dead(env, f, group, sent);
        f.see("tries", seen.size());
    }

    private RetryScenarios() {
    }
}
