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
        DefaultMQProducer replier = env.producer();
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
                    System.err.println("reply: " + e);
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.start();
        Thread.sleep(3000);
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
                        System.err.println("request: " + e);
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

    private ReplyScenarios() {
    }
}
