package rocketd.scenario;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.AckCallback;
import org.apache.rocketmq.client.consumer.AckResult;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PopCallback;
import org.apache.rocketmq.client.consumer.PopResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.message.MessageRequestMode;
import org.apache.rocketmq.remoting.protocol.header.AckMessageRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.ChangeInvisibleTimeRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.PopMessageRequestHeader;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Pop in order. The client's orderly push consumer never pops; its calls for it are those that proxies make. */
final class PopOrderScenarios {
    static void add(Map<String, Scenario> all) {
        all.put("pop_orderly", PopOrderScenarios::orderly);
        all.put("pop_ordered", PopOrderScenarios::ordered);
    }

    private static void send(DefaultMQProducer p, String topic, int from, int to) throws Exception {
        for (int i = from; i < to; i++) {
            p.send(Env.message(topic, "", "", "" + i), (queues, m, arg) -> queues.get(0), null);
        }
    }

    private static String broker(Env env, String topic) throws Exception {
        return env.admin().examineTopicRouteInfo(topic).getBrokerDatas().get(0).getBrokerAddrs().get(0L);
    }

    /** An orderly listener in a group whose mode is pop goes on pulling, in order. */
    static void orderly(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        String group = env.group("c");
        DefaultMQProducer p = env.producer();
        send(p, topic, 0, 10);
        DefaultMQAdminExt admin = env.admin();
        admin.setMessageRequestMode(broker(env, topic), topic, group, MessageRequestMode.POP, 8, 5000);
        List<String> seen = new ArrayList<>();
        List<String> receipts = new ArrayList<>();
        DefaultMQPushConsumer c = env.consumer(group);
        c.setClientRebalance(false);
        c.subscribe(topic, "*");
        c.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            synchronized (seen) {
                for (MessageExt m : messages) {
                    seen.add(Env.text(m));
                    if (m.getProperty("POP_CK") != null) {
                        receipts.add(Env.text(m));
                    }
                }
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        c.start();
        send(p, topic, 10, 30);
        Env.await(60000, () -> {
            synchronized (seen) {
                return seen.size() >= 30;
            }
        });
        synchronized (seen) {
            f.see("got", seen);
            f.see("by pop", receipts.size());
            f.must(seen.size() == 30, "got " + seen);
        }
    }

    /** Pops of one queue in order: the next messages come when those before are acknowledged, lapsed ones come again first. */
    static void ordered(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        send(p, topic, 0, 10);
        MessageQueue queue = p.fetchPublishMessageQueues(topic).get(0);
        DefaultMQPushConsumer member = env.consumer(env.group("c")); // makes the group
        member.subscribe(env.topic("other"), "*");
        member.registerMessageListener(new Inbox());
        member.start();
        Queue q = new Queue(p.getDefaultMQProducerImpl().getMqClientFactory().getMQClientAPIImpl(), broker(env, topic), queue, env.group("c"));
        PopResult first = q.pop(4, 60000);
        f.see("first", described(first));
        f.see("while those are out", described(q.pop(4, 60000)));
        List<MessageExt> out = first.getMsgFoundList();
        for (int i : new int[] {0, 1, 3}) {
            f.see("ack " + i, q.ack(out.get(i)));
        }
        f.see("while one is out", described(q.pop(4, 60000)));
        f.see("change of one", q.change(out.get(2), 60000).getStatus());
        f.see("after the change", described(q.pop(4, 60000)));
        f.see("ack of one", q.ack(out.get(2)));
        f.see("second", described(q.pop(3, 2000)));
        Env.await(10000, () -> q.lapsed(f));
        f.see("third", described(q.pop(32, 60000)));
    }

    private static String described(PopResult r) {
        StringBuilder s = new StringBuilder(r.getPopStatus().toString());
        if (r.getMsgFoundList() != null) {
            for (MessageExt m : r.getMsgFoundList()) {
                s.append(' ').append(Env.text(m)).append('/').append(m.getReconsumeTimes());
            }
        }
        return s.toString();
    }

    /** One queue of one group. */
    private static final class Queue {
        private final MQClientAPIImpl api;
        private final String broker;
        private final MessageQueue queue;
        private final String group;

        Queue(MQClientAPIImpl api, String broker, MessageQueue queue, String group) {
            this.api = api;
            this.broker = broker;
            this.queue = queue;
            this.group = group;
        }

        PopResult pop(int most, long invisibleMs) throws Exception {
            PopMessageRequestHeader h = new PopMessageRequestHeader();
            h.setConsumerGroup(group);
            h.setTopic(queue.getTopic());
            h.setQueueId(queue.getQueueId());
            h.setMaxMsgNums(most);
            h.setInvisibleTime(invisibleMs);
            h.setPollTime(0);
            h.setBornTime(System.currentTimeMillis());
            h.setInitMode(0);
            h.setExpType("TAG");
            h.setExp("*");
            h.setOrder(true);
            CompletableFuture<PopResult> result = new CompletableFuture<>();
            api.popMessageAsync(queue.getBrokerName(), broker, h, 10000, new PopCallback() {
                @Override
                public void onSuccess(PopResult r) {
                    result.complete(r);
                }

                @Override
                public void onException(Throwable e) {
                    result.completeExceptionally(e);
                }
            });
            return result.get(15, TimeUnit.SECONDS);
        }

        /** The second lot lapses and comes again, from its first message on. */
        boolean lapsed(Facts f) {
            try {
                PopResult again = pop(3, 60000);
                if (again.getMsgFoundList() == null) {
                    return false;
                }
                f.see("lapsed", described(again));
                for (MessageExt m : again.getMsgFoundList()) {
                    f.see("ack of lapsed " + Env.text(m), ack(m));
                }
                return true;
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        String ack(MessageExt m) throws Exception {
            AckMessageRequestHeader h = new AckMessageRequestHeader();
            h.setConsumerGroup(group);
            h.setTopic(queue.getTopic());
            h.setQueueId(queue.getQueueId());
            h.setExtraInfo(m.getProperty("POP_CK"));
            h.setOffset(m.getQueueOffset());
            Answer answer = new Answer();
            api.ackMessageAsync(broker, 10000, answer, h);
            return answer.result.get(15, TimeUnit.SECONDS).getStatus().toString();
        }

        AckResult change(MessageExt m, long invisibleMs) throws Exception {
            ChangeInvisibleTimeRequestHeader h = new ChangeInvisibleTimeRequestHeader();
            h.setConsumerGroup(group);
            h.setTopic(queue.getTopic());
            h.setQueueId(queue.getQueueId());
            h.setExtraInfo(m.getProperty("POP_CK"));
            h.setOffset(m.getQueueOffset());
            h.setInvisibleTime(invisibleMs);
            Answer answer = new Answer();
            api.changeInvisibleTimeAsync(queue.getBrokerName(), broker, h, 10000, answer);
            return answer.result.get(15, TimeUnit.SECONDS);
        }
    }

    private static final class Answer implements AckCallback {
        final CompletableFuture<AckResult> result = new CompletableFuture<>();

        @Override
        public void onSuccess(AckResult r) {
            result.complete(r);
        }

        @Override
        public void onException(Throwable e) {
            result.completeExceptionally(e);
        }
    }

    private PopOrderScenarios() {
    }
}
