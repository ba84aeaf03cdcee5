package rocketd.scenario;

import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

final class ReplyScenarios {
    static void add(Map<String, Scenario> all) {
        all.put("request_reply", ReplyScenarios::request);
        all.put("request_reply_many", ReplyScenarios::many);
    }

    static void request(Env env, Facts f) throws Exception {
        ask(env, f, 1, 20);
    }

    /** Eight threads ask at the same time. */
    static void many(Env env, Facts f) throws Exception {
        ask(env, f, 8, 50);
    }

    private static void ask(Env env, Facts f, int threads, int each) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer replier = env.producer(env.group("replier"));
        DefaultMQProducer requester = env.producer();
        requester.send(Env.message(topic, "none", "", "first"));
        AtomicInteger asked = new AtomicInteger();
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        c.subscribe(topic, "ask");
        c.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt m : messages) {
                asked.incrementAndGet();
                try {
                    replier.send(MessageUtil.createReplyMessage(m, ("re " + Env.text(m)).getBytes()), 3000);
                } catch (Exception e) {
                    System.err.println(env.name + " reply: " + e);
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.start();
        // A client tells a broker of itself once a second has gone, or half a minute later when it knew none then. Replies need it.
        DefaultMQAdminExt admin = env.admin();
        Env.await(60000, () -> known(admin, requester, topic) && online(admin, c.getConsumerGroup()));
        AtomicInteger ok = new AtomicInteger();
        java.util.List<Thread> askers = new java.util.ArrayList<>();
        for (int thread = 0; thread < threads; thread++) {
            String name = "q" + thread + ".";
            askers.add(new Thread(() -> {
                for (int i = 0; i < each; i++) {
                    try {
                        Message answer = requester.request(Env.message(topic, "ask", "", name + i), 20000);
                        if (new String(answer.getBody()).equals("re " + name + i)) {
                            ok.incrementAndGet();
                        }
                    } catch (Exception e) {
                        System.err.println(env.name + " request " + name + ": " + e);
                    }
                }
            }));
        }
        for (Thread asker : askers) {
            asker.start();
        }
        for (Thread asker : askers) {
            asker.join();
        }
        f.see("answered", ok.get());
        f.must(ok.get() == threads * each, "answered " + ok.get() + " of " + threads * each);
    }

    private static boolean known(DefaultMQAdminExt admin, DefaultMQProducer p, String topic) {
        try {
            return admin.examineProducerConnectionInfo(p.getProducerGroup(), topic).getConnectionSet().stream()
                .anyMatch(connection -> connection.getClientId().endsWith(p.getInstanceName()));
        } catch (Exception e) {
            return false;
        }
    }

    private static boolean online(DefaultMQAdminExt admin, String group) {
        try {
            return !admin.examineConsumerConnectionInfo(group).getConnectionSet().isEmpty();
        } catch (Exception e) {
            return false;
        }
    }

    private ReplyScenarios() {
    }
}
