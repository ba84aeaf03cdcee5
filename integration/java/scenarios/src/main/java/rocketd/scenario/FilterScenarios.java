package rocketd.scenario;

import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

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
        Inbox[] inboxes = new Inbox[EXPRESSIONS.length];
        for (int i = 0; i < EXPRESSIONS.length; i++) {
            inboxes[i] = new Inbox();
            DefaultMQPushConsumer c = env.consumer(env.group("c" + i));
            c.subscribe(topic, MessageSelector.bySql(EXPRESSIONS[i]));
            c.registerMessageListener(inboxes[i]);
            c.start();
        }
        // A new group's queues are read after its first rebalance: wait until each has got something, and nothing has moved for a while.
        long[] last = {-1, System.currentTimeMillis()};
        Env.await(90000, () -> {
            long n = java.util.Arrays.stream(inboxes).mapToInt(Inbox::size).sum();
            if (n != last[0]) {
                last[0] = n;
                last[1] = System.currentTimeMillis();
            }
            boolean all = java.util.Arrays.stream(inboxes).allMatch(inbox -> inbox.size() > 0);
            return all && System.currentTimeMillis() - last[1] > 21000;
        });
        for (int i = 0; i < EXPRESSIONS.length; i++) {
            f.see(EXPRESSIONS[i].replace('=', '~'), inboxes[i].bodies().keySet());
        }
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
