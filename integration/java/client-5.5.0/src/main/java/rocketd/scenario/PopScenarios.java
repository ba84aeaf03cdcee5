package rocketd.scenario;

import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageRequestMode;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Push consumers whose broker gives them their messages by pop; clients before 5 have no such thing. */
public final class PopScenarios {
    public static void add(Map<String, Scenario> all) {
        all.put("pop_push", PopScenarios::push);
    }

    static void push(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        String group = env.group("c");
        DefaultMQProducer p = env.producer();
        p.send(Env.message(topic, "", "", "body 0"));
        DefaultMQAdminExt admin = env.admin();
        String broker = admin.examineTopicRouteInfo(topic).getBrokerDatas().get(0).getBrokerAddrs().get(0L);
        admin.setMessageRequestMode(broker, topic, group, MessageRequestMode.POP, 8, 5000);
        DefaultMQPushConsumer c = env.consumer(group);
        c.setClientRebalance(false);
        c.subscribe(topic, "*");
        Inbox inbox = new Inbox();
        AtomicInteger refused = new AtomicInteger();
        AtomicInteger again = new AtomicInteger(-1);
        c.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            if (Env.text(messages.get(0)).equals("body 7") && refused.getAndIncrement() == 0) {
                context.setDelayLevelWhenNextConsume(1);
                return ConsumeConcurrentlyStatus.RECONSUME_LATER;
            }
            if (Env.text(messages.get(0)).equals("body 7")) {
                again.set(messages.get(0).getReconsumeTimes());
            }
            inbox.add(messages);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.start();
        for (int i = 1; i < 30; i++) {
            p.send(Env.message(topic, "", "", "body " + i));
        }
        inbox.expect(f, "got", 30, 90000);
        f.see("by pop", inbox.all().stream().allMatch(a -> a.message.getProperty("POP_CK") != null));
        f.must(inbox.all().stream().allMatch(a -> a.message.getProperty("POP_CK") != null), "not by pop");
        f.see("pop queues", !c.getDefaultMQPushConsumerImpl().getRebalanceImpl().getPopProcessQueueTable().isEmpty());
        f.see("came again with", again.get());
    }

    private PopScenarios() {
    }
}
