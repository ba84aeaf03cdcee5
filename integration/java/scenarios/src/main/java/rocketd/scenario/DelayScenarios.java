package rocketd.scenario;

import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;

final class DelayScenarios {
    static void add(Map<String, Scenario> all) {
        all.put("delay_levels", DelayScenarios::levels);
        all.put("delay_timer", DelayScenarios::timer);
        all.put("delay_bad", DelayScenarios::bad);
    }

    private static Inbox subscribe(Env env, String topic) throws Exception {
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        c.subscribe(topic, "*");
        c.registerMessageListener(inbox);
        c.start();
        return inbox;
    }

    private static void check(Facts f, Inbox inbox, Map<String, Long> due, boolean exact) {
        for (Inbox.Arrival a : inbox.all()) {
            Long at = due.get(Env.text(a.message));
            if (at == null) {
                continue;
            }
            long late = a.message.getStoreTimestamp() - at;
            // Apache's wheel rounds down to its precision of one second: early by up to that, see DIFFERENCES.
            f.must(late >= (exact ? 0 : -2000), Env.text(a.message) + " came " + -late + " ms early");
            f.must(late < 5000, Env.text(a.message) + " came " + late + " ms late");
        }
    }

    static void levels(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        p.send(Env.message(topic, "", "", "first"));
        Inbox inbox = subscribe(env, topic);
        Map<String, Long> due = new TreeMap<>();
        long[] delay = {0, 1000, 5000, 10000};
        for (int level = 1; level <= 3; level++) {
            for (int i = 0; i < 5; i++) {
                Message m = Env.message(topic, "t" + level, "k", "level " + level + " " + i);
                m.setDelayTimeLevel(level);
                long before = System.currentTimeMillis();
                p.send(m);
                due.put("level " + level + " " + i, before + delay[level]);
            }
        }
        inbox.expect(f, "got", 16, 40000);
        check(f, inbox, due, true);
        for (Inbox.Arrival a : inbox.all()) {
            if (Env.text(a.message).equals("level 1 0")) {
                f.see("properties", new java.util.TreeSet<>(a.message.getProperties().keySet()));
                f.see("topic is real", a.message.getTopic().equals(topic));
                f.see("delay property", a.message.getProperty("DELAY"));
                f.see("REAL_TOPIC is topic", topic.equals(a.message.getProperty("REAL_TOPIC")));
            }
        }
    }

    static void timer(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        p.send(Env.message(topic, "", "", "first"));
        Inbox inbox = subscribe(env, topic);
        Map<String, Long> due = new TreeMap<>();
        for (int i = 0; i < 5; i++) {
            long now = System.currentTimeMillis();
            Message deliver = Env.message(topic, "", "", "deliver " + i);
            MessageAccessor.putProperty(deliver, "TIMER_DELIVER_MS", String.valueOf(now + 3000 + i * 100));
            p.send(deliver);
            due.put("deliver " + i, now + 3000 + i * 100);

            now = System.currentTimeMillis();
            Message ms = Env.message(topic, "", "", "ms " + i);
            MessageAccessor.putProperty(ms, "TIMER_DELAY_MS", String.valueOf(2500 + i * 300));
            p.send(ms);
            due.put("ms " + i, now + 2500 + i * 300);

            now = System.currentTimeMillis();
            Message sec = Env.message(topic, "", "", "sec " + i);
            MessageAccessor.putProperty(sec, "TIMER_DELAY_SEC", String.valueOf(2 + i % 3));
            p.send(sec);
            due.put("sec " + i, now + 1000L * (2 + i % 3));
        }
        Message past = Env.message(topic, "", "", "past");
        MessageAccessor.putProperty(past, "TIMER_DELIVER_MS", String.valueOf(System.currentTimeMillis() - 5000));
        p.send(past);
        inbox.expect(f, "got", 17, 40000);
        check(f, inbox, due, Boolean.getBoolean("exact"));
        for (Inbox.Arrival a : inbox.all()) {
            if (Env.text(a.message).equals("ms 0")) {
                f.see("properties", new java.util.TreeSet<>(a.message.getProperties().keySet()));
                f.see("topic is real", a.message.getTopic().equals(topic));
            }
        }
    }

    private static void outcome(Facts f, DefaultMQProducer p, String topic, String key, String value) throws Exception {
        Message m = new Message(topic, (key + value).getBytes());
        MessageAccessor.putProperty(m, key, value);
        String got;
        try {
            got = p.send(m).getSendStatus().toString();
        } catch (MQBrokerException e) {
            got = "broker " + e.getResponseCode();
        } catch (MQClientException e) {
            got = e.getCause() instanceof MQBrokerException ? "broker " + ((MQBrokerException) e.getCause()).getResponseCode() : "client " + e.getResponseCode();
        }
        f.see(key + " " + (value.length() > 5 && value.length() < 15 ? "beyond the limit" : value), got);
    }

    static void bad(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        p.setRetryTimesWhenSendFailed(0);
        p.send(Env.message(topic, "", "", "first"));
        outcome(f, p, topic, "TIMER_DELIVER_MS", "x");
        outcome(f, p, topic, "TIMER_DELAY_SEC", "x");
        outcome(f, p, topic, "TIMER_DELIVER_MS", String.valueOf(System.currentTimeMillis() + 3L * 86400_000 + 60_000));
        outcome(f, p, topic, "TIMER_DELAY_SEC", String.valueOf(3 * 86400 + 60));
        outcome(f, p, topic, "TIMER_DELAY_MS", String.valueOf(Long.MAX_VALUE));
        outcome(f, p, topic, "DELAY", "4x");
        outcome(f, p, topic, "DELAY", "-1");
        outcome(f, p, topic, "DELAY", "0");
        outcome(f, p, topic, "DELAY", "1959");
    }

    private DelayScenarios() {
    }
}
