package rocketd.grpc;

import java.io.Closeable;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.MessageListener;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.TransactionChecker;

/** What a story gets: names of its own and clients that are closed behind it. */
final class Session implements AutoCloseable {
    final ClientServiceProvider provider = ClientServiceProvider.loadService();
    private final ClientConfiguration configuration;
    private final String prefix;
    private final String name;
    private final List<Closeable> closers = new ArrayList<>();

    Session(String endpoint, String prefix, String name) {
        this.prefix = prefix;
        this.name = name;
        this.configuration = ClientConfiguration.newBuilder().setEndpoints(endpoint).enableSsl(false).setRequestTimeout(Duration.ofSeconds(10)).build();
    }

    String topic(String kind) {
        return prefix + "_" + name + "_" + kind;
    }

    String group() {
        return "G_" + prefix + "_" + name;
    }

    private synchronized <T extends Closeable> T closing(T client) {
        closers.add(0, client);
        return client;
    }

    Producer producer(TransactionChecker checker, String... topics) throws Exception {
        return closing(provider.newProducerBuilder().setClientConfiguration(configuration).setTopics(topics).setTransactionChecker(checker).build());
    }

    Producer producer(String... topics) throws Exception {
        return closing(provider.newProducerBuilder().setClientConfiguration(configuration).setTopics(topics).build());
    }

    SimpleConsumer simple(String topic, FilterExpression filter) throws Exception {
        return closing(provider.newSimpleConsumerBuilder().setClientConfiguration(configuration).setConsumerGroup(group())
            .setAwaitDuration(Duration.ofSeconds(5)).setSubscriptionExpressions(Collections.singletonMap(topic, filter)).build());
    }

    PushConsumer push(String topic, MessageListener listener) throws Exception {
        return closing(provider.newPushConsumerBuilder().setClientConfiguration(configuration).setConsumerGroup(group())
            .setSubscriptionExpressions(Collections.singletonMap(topic, FilterExpression.SUB_ALL)).setMessageListener(listener).build());
    }

    MessageBuilder message(String topic, String body) {
        return provider.newMessageBuilder().setTopic(topic).setBody(body.getBytes(StandardCharsets.UTF_8));
    }

    static String text(MessageView m) {
        return StandardCharsets.UTF_8.decode(m.getBody().duplicate()).toString();
    }

    /** Waits until the condition holds; false when it does not within the time. */
    static boolean await(long ms, BooleanSupplier condition) throws InterruptedException {
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
        for (Closeable c : closers) {
            try {
                c.close();
            } catch (Exception e) {
                System.err.println(name + ": close: " + e);
            }
        }
    }
}
