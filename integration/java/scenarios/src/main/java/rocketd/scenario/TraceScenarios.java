package rocketd.scenario;

import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

final class TraceScenarios {
    static void add(Map<String, Scenario> all) {
        all.put("trace", TraceScenarios::trace);
    }

    /** A producer that traces writes what it sent into its trace topic. */
    static void trace(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        String traceTopic = env.topic("trace");
        DefaultMQProducer p = new DefaultMQProducer(env.group("producer"), null, true, traceTopic);
        p.setNamesrvAddr(env.namesrv);
        p.setInstanceName(env.instance());
        p.setMqClientApiTimeout(15000);
        p.setSendMsgTimeout(10000);
        env.onClose(p::shutdown);
        p.start();
        for (int i = 0; i < 5; i++) {
            p.send(Env.message(topic, "TagT", "key" + i, "body " + i));
        }
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        c.subscribe(traceTopic, "*");
        c.registerMessageListener(inbox);
        c.start();
        Env.await(60000, () -> traced(inbox) == 5);
        f.see("traced", traced(inbox));
        f.must(traced(inbox) == 5, "traced " + traced(inbox));
        f.see("by key", inbox.all().stream().anyMatch(a -> a.message.getKeys() != null && a.message.getKeys().contains("key3")));
    }

    private static long traced(Inbox inbox) {
        long n = 0;
        for (Inbox.Arrival a : inbox.all()) {
            for (String record : Env.text(a.message).split("\u0002")) {
                n += record.startsWith("Pub\u0001") ? 1 : 0;
            }
        }
        return n;
    }

    private TraceScenarios() {
    }
}
