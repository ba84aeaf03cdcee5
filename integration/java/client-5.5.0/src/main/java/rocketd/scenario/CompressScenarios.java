package rocketd.scenario;

import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.compression.CompressionType;
import org.apache.rocketmq.common.message.Message;

/** Bodies that producers pack with each algorithm; clients before 5 have one. */
final class CompressScenarios {
    static void add(Map<String, Scenario> all) {
        all.put("send_compressed", CompressScenarios::compressed);
    }

    static void compressed(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        byte[] body = new byte[200000];
        Random random = new Random(3);
        for (int i = 0; i < body.length; i++) {
            body[i] = (byte) ('a' + random.nextInt(4));
        }
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        Inbox inbox = new Inbox();
        c.subscribe(topic, "*");
        c.registerMessageListener(inbox);
        for (CompressionType type : CompressionType.values()) {
            DefaultMQProducer p = env.producer(env.group("p" + type));
            p.setCompressType(type);
            p.send(new Message(topic, type.name(), body));
        }
        c.start();
        f.must(Env.await(60000, () -> inbox.size() >= CompressionType.values().length), "got " + inbox.size());
        for (Inbox.Arrival a : inbox.all()) {
            f.must(Arrays.equals(body, a.message.getBody()), "body of " + a.message.getTags() + " differs");
            f.see(a.message.getTags() + " sysFlag", a.message.getSysFlag());
            f.see(a.message.getTags() + " stored smaller", a.message.getStoreSize() < body.length);
        }
    }

    private CompressScenarios() {
    }
}
