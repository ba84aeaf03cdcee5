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
    }

    static void request(Env env, Facts f) throws Exception {
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
        int ok = 0;
        for (int i = 0; i < 20; i++) {
            try {
                Message answer = requester.request(Env.message(topic, "ask", "", "q" + i), 10000);
                if (new String(answer.getBody()).equals("re q" + i)) {
                    ok++;
                }
            } catch (Exception e) {
                System.err.println("request: " + e);
            }
        }
        f.see("answered", ok);
        f.must(ok == 20, "answered " + ok + " of 20");
    }

    private ReplyScenarios() {
    }
}
