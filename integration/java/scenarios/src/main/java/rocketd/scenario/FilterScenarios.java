package rocketd.scenario;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.store.OffsetStore;
import org.apache.rocketmq.client.consumer.store.ReadOffsetType;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

final class FilterScenarios {
    private static final String[] EXPRESSIONS = {
        "a > 5",
        "a BETWEEN 3 AND 6",
        "colour = 'red' AND a >= 4",
        "colour IN ('red', 'blue') OR a = 1",
        "colour IS NULL",
        "colour IS NOT NULL AND NOT (a < 7)",
        "TAGS IS NOT NULL AND TAGS IN ('TagA')",
        "price >= 7.0",
        "colour CONTAINS 'e'",
        "colour STARTSWITH 'r'",
        "TRUE",
        "flag = TRUE",
    };

    static void add(Map<String, Scenario> all) {
        all.put("filter_sql", FilterScenarios::sql);
        all.put("filter_bad", FilterScenarios::bad);
    }

    static void sql(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        String[] colours = {"red", "green", "blue", null};
        for (int i = 0; i < 12; i++) {
            Message m = Env.message(topic, i % 2 == 0 ? "TagA" : "TagB", "", "m" + i);
            m.putUserProperty("a", String.valueOf(i));
            m.putUserProperty("price", i + ".5");
            m.putUserProperty("flag", String.valueOf(i % 3 == 0));
            if (colours[i % 4] != null) {
                m.putUserProperty("colour", colours[i % 4]);
            }
            p.send(m);
        }
        Map<MessageQueue, Long> ends = new HashMap<>();
        for (MessageQueue q : p.fetchPublishMessageQueues(topic)) {
            ends.put(q, p.maxOffset(q));
        }
        Inbox[] inboxes = new Inbox[EXPRESSIONS.length];
        DefaultMQPushConsumer[] consumers = new DefaultMQPushConsumer[EXPRESSIONS.length];
        for (int i = 0; i < EXPRESSIONS.length; i++) {
            inboxes[i] = new Inbox();
            consumers[i] = env.consumer(env.group("c" + i));
            consumers[i].subscribe(topic, MessageSelector.bySql(EXPRESSIONS[i]));
            consumers[i].registerMessageListener(inboxes[i]);
            consumers[i].start();
        }
        boolean all = Env.await(120000, () -> Arrays.stream(consumers).allMatch(c -> isAt(c, ends)));
        f.must(all, "not all queues were read to their ends");
        for (int i = 0; i < EXPRESSIONS.length; i++) {
            f.see(EXPRESSIONS[i].replace('=', '~'), inboxes[i].bodies().keySet());
        }
    }

    /** Tells whether a consumer is done with all queues up to their ends: what the filter leaves out moves its offsets too. */
    private static boolean isAt(DefaultMQPushConsumer c, Map<MessageQueue, Long> ends) {
        OffsetStore offsets = c.getDefaultMQPushConsumerImpl().getOffsetStore();
        return ends.entrySet().stream().allMatch(e -> e.getValue() == 0 || offsets.readOffset(e.getKey(), ReadOffsetType.READ_FROM_MEMORY) >= e.getValue());
    }

    static void bad(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        env.producer().send(Env.message(topic, "", "", "first"));
        for (String expression : new String[] {"a >", "a = ", "((a > 1)", "a LIKE 'x%'", "a > 'x' >"}) {
            DefaultMQPushConsumer c = env.consumer(env.group("c" + Math.abs(expression.hashCode() % 1000)));
            c.subscribe(topic, MessageSelector.bySql(expression));
            c.registerMessageListener(new Inbox());
            String got;
            try {
                c.start();
                got = "started";
            } catch (MQClientException e) {
                got = "refused";
            }
            f.see(expression.replace('=', '~'), got);
        }
    }

    private FilterScenarios() {
    }
}
