package rocketd.scenario;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** What a scenario gets: names of its own and clients that are shut down behind it. */
public final class Env implements AutoCloseable {
    private static final AtomicInteger INSTANCE = new AtomicInteger();
    public final String namesrv;
    /** Unique for run and scenario: prefix of topics and groups. */
    public final String name;
    private final List<Runnable> closers = new ArrayList<>();

    Env(String namesrv, String name) {
        this.namesrv = namesrv;
        this.name = name;
    }

    public String topic(String suffix) {
        return name + "_" + suffix;
    }

    public String group(String suffix) {
        return "G_" + name + "_" + suffix;
    }

    /** An instance name that no other client of this process has. */
    public String instance() {
        return name + "_" + INSTANCE.incrementAndGet();
    }

    public synchronized void onClose(Runnable r) {
        closers.add(0, r);
    }

    public DefaultMQProducer producer() throws Exception {
        return producer(group("producer"));
    }

    public DefaultMQProducer producer(String group) throws Exception {
        DefaultMQProducer p = new DefaultMQProducer(group);
        p.setNamesrvAddr(namesrv);
        p.setInstanceName(instance());
        p.setMqClientApiTimeout(15000);
        p.setSendMsgTimeout(10000);
        onClose(p::shutdown);
        p.start();
        return p;
    }

    public DefaultMQPushConsumer consumer(String group) {
        DefaultMQPushConsumer c = new DefaultMQPushConsumer(group);
        c.setNamesrvAddr(namesrv);
        c.setInstanceName(instance());
        c.setMqClientApiTimeout(15000);
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        onClose(c::shutdown);
        return c;
    }

    public DefaultLitePullConsumer litePull(String group) {
        DefaultLitePullConsumer c = new DefaultLitePullConsumer(group);
        c.setNamesrvAddr(namesrv);
        c.setInstanceName(instance());
        c.setMqClientApiTimeout(15000);
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        onClose(c::shutdown);
        return c;
    }

    public DefaultMQAdminExt admin() throws Exception {
        DefaultMQAdminExt a = new DefaultMQAdminExt(10000);
        a.setNamesrvAddr(namesrv);
        a.setInstanceName(instance());
        a.setMqClientApiTimeout(15000);
        onClose(a::shutdown);
        a.start();
        return a;
    }

    public static Message message(String topic, String tags, String keys, String body) {
        return new Message(topic, tags, keys, body.getBytes(StandardCharsets.UTF_8));
    }

    public static String text(MessageExt m) {
        return new String(m.getBody(), StandardCharsets.UTF_8);
    }

    /** Waits until the condition holds; false when it does not within the time. */
    public static boolean await(long ms, BooleanSupplier condition) throws InterruptedException {
        long end = System.currentTimeMillis() + ms;
        while (!condition.getAsBoolean()) {
            if (System.currentTimeMillis() > end) {
                return false;
            }
            Thread.sleep(20);
        }
        return true;
    }

    @Override
    public void close() {
        for (Runnable r : closers) {
            try {
                r.run();
            } catch (RuntimeException e) {
                System.err.println(name + ": close: " + e);
            }
        }
    }
}
