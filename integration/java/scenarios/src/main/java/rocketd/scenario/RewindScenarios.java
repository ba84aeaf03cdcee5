package rocketd.scenario;

import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageQueue;

final class RewindScenarios {
    static void add(Map<String, Scenario> all) {
        all.put("rewind_online", RewindScenarios::online);
        all.put("rewind_offline", RewindScenarios::offline);
        all.put("push_from_timestamp", RewindScenarios::fromTimestamp);
    }

    private static void send(DefaultMQProducer p, String topic, String what, int n) throws Exception {
        for (int i = 0; i < n; i++) {
            p.send(Env.message(topic, "", "k" + i, what + " " + i));
        }
    }

    private static DefaultMQPushConsumer start(Env env, String topic, Inbox inbox) throws Exception {
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        c.subscribe(topic, "*");
        c.registerMessageListener(inbox);
        c.start();
        return c;
    }

    private static long times(Inbox inbox, int n) {
        TreeMap<String, Integer> bodies = inbox.bodies();
        return bodies.values().stream().filter(count -> count == n).count();
    }

    /** A running group goes back to the beginning and consumes everything once more. */
    static void online(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        send(env.producer(), topic, "m", 20);
        Inbox inbox = new Inbox();
        start(env, topic, inbox);
        f.must(Env.await(60000, () -> inbox.bodies().size() == 20), "first time: " + inbox.bodies().size());
        Thread.sleep(6000); // the offsets are committed
        Map<MessageQueue, Long> table = env.admin().resetOffsetByTimestamp(topic, env.group("c"), 0, true);
        f.see("queues", table.size());
        f.see("offsets", table.values().stream().mapToLong(Long::longValue).sum());
        Env.await(90000, () -> times(inbox, 2) == 20);
        f.see("twice", times(inbox, 2));
        f.must(times(inbox, 2) == 20, "after the rewind: " + inbox.bodies());
    }

    /** A group that is not there goes back; when it comes it consumes everything once more. */
    static void offline(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        send(env.producer(), topic, "m", 20);
        Inbox first = new Inbox();
        DefaultMQPushConsumer c = start(env, topic, first);
        f.must(Env.await(60000, () -> first.bodies().size() == 20), "first time: " + first.bodies().size());
        c.shutdown();
        env.admin().resetOffsetByTimestamp(topic, env.group("c"), 0, true);
        Inbox second = new Inbox();
        start(env, topic, second);
        second.expect(f, "second", 20, 60000);
    }

    static void fromTimestamp(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        send(p, topic, "old", 20);
        Thread.sleep(2500);
        String from = new SimpleDateFormat("yyyyMMddHHmmss").format(new Date());
        Thread.sleep(1500);
        send(p, topic, "new", 20);
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_TIMESTAMP);
        c.setConsumeTimestamp(from);
        c.subscribe(topic, "*");
        c.registerMessageListener(inbox);
        c.start();
        // Of a young queue the broker says that the group stands at 0, and the client does not ask for the time: the old ones come as well.
        f.must(Env.await(60000, () -> inbox.bodies().keySet().stream().filter(b -> b.startsWith("new")).count() == 20), "got " + inbox.bodies().keySet());
    }

    private RewindScenarios() {
    }
}
