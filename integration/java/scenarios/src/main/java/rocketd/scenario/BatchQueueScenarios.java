package rocketd.scenario;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Topics with queue.type=BatchCQ: a batch is one record that takes up the offsets of all its messages. */
final class BatchQueueScenarios {
    static void add(Map<String, Scenario> all) {
        all.put("batch_queue", BatchQueueScenarios::queue);
        all.put("batch_queue_retry", BatchQueueScenarios::retry);
        all.put("batch_queue_single", BatchQueueScenarios::single);
        all.put("batch_queue_kind", BatchQueueScenarios::kind);
    }

    private static String broker(Env env, DefaultMQAdminExt admin) throws Exception {
        return admin.examineBrokerClusterInfo().getBrokerAddrTable().values().iterator().next().getBrokerAddrs().get(0L);
    }

    /** A topic of batch queues; null when this client knows no attributes. */
    private static String batches(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        if (topic(env, env.admin(), topic, "+queue.type", "BatchCQ")) {
            return topic;
        }
        f.see("client", "knows no attributes");
        return null;
    }

    /** Makes or changes a topic; false when this client knows no attributes (4.9.8). */
    private static boolean topic(Env env, DefaultMQAdminExt admin, String name, String attribute, String value) throws Exception {
        TopicConfig config = new TopicConfig(name, 1, 1, 6);
        try {
            Method set = TopicConfig.class.getMethod("setAttributes", Map.class);
            if (attribute != null) {
                set.invoke(config, Collections.singletonMap(attribute, value));
            }
        } catch (NoSuchMethodException e) {
            return false;
        }
        admin.createAndUpdateTopicConfig(broker(env, admin), config);
        return true;
    }

    private static MessageQueue only(DefaultMQProducer p, String topic) throws Exception {
        List<MessageQueue> queues = new ArrayList<>();
        Env.await(60000, () -> {
            try {
                queues.clear();
                queues.addAll(p.fetchPublishMessageQueues(topic));
                return true;
            } catch (MQClientException e) {
                return false;
            }
        });
        return queues.get(0);
    }

    /** Sends a batch whose bodies are the numbers from first on. */
    private static SendResult send(DefaultMQProducer p, String topic, int first, int n) throws Exception {
        List<Message> batch = new ArrayList<>();
        for (int i = first; i < first + n; i++) {
            Message m = Env.message(topic, "TagA", "key" + i, String.valueOf(i));
            m.putUserProperty("n", String.valueOf(i));
            batch.add(m);
        }
        return p.send(batch);
    }

    private static String pulled(PullResult r) {
        StringBuilder s = new StringBuilder(r.getPullStatus() + " next " + r.getNextBeginOffset() + " of " + r.getMinOffset() + ".." + r.getMaxOffset() + ":");
        if (r.getMsgFoundList() != null) {
            for (MessageExt m : r.getMsgFoundList()) {
                s.append(' ').append(m.getQueueOffset()).append('=').append(Env.text(m));
            }
        }
        return s.toString();
    }

    static void queue(Env env, Facts f) throws Exception {
        String topic = batches(env, f);
        if (topic == null) {
            return;
        }
        DefaultMQAdminExt admin = env.admin();
        DefaultMQProducer p = env.producer();
        MessageQueue mq = only(p, topic);
        int at = 0;
        List<String> ids = new ArrayList<>();
        for (int n : new int[] {3, 1, 5, 2, 4}) {
            SendResult r = send(p, topic, at, n);
            f.see("sent " + at, r.getSendStatus() + " at " + r.getQueueOffset() + ", ids " + r.getMsgId().split(",").length + " and " + r.getOffsetMsgId().split(",").length);
            ids.add(r.getMsgId());
            at += n;
            Thread.sleep(30);
        }
        f.see("min", admin.minOffset(mq));
        f.see("max", admin.maxOffset(mq));
        f.see("topic stats", new TreeMap<>(admin.examineTopicStats(topic).getOffsetTable()).values().iterator().next().getMaxOffset());
        pulls(env, f, mq);
        progress(env, f, topic, admin);
        // By key: the messages inside are not known to the index, the batch is by its own id.
        Thread.sleep(1000);
        f.see("by id of the batch", admin.viewMessage(topic, ids.get(2)).getQueueOffset());
        try {
            f.see("by key of a message", p.queryMessage(topic, "key4", 32, 0, Long.MAX_VALUE).getMessageList().size());
        } catch (MQClientException e) {
            f.see("by key of a message", "code " + e.getResponseCode());
        }
    }

    /** Pulls from every offset and searches by time. */
    private static void pulls(Env env, Facts f, MessageQueue mq) throws Exception {
        DefaultMQPullConsumer c = new DefaultMQPullConsumer(env.group("pull"));
        c.setNamesrvAddr(env.namesrv);
        c.setInstanceName(env.instance());
        env.onClose(c::shutdown);
        c.start();
        for (int offset = 0; offset <= 15; offset++) {
            f.see("pull 1 at " + offset, pulled(c.pull(mq, "*", offset, 1)));
        }
        f.see("pull 5 at 2", pulled(c.pull(mq, "*", 2, 5)));
        f.see("pull 32 at 0", pulled(c.pull(mq, "*", 0, 32)));
        f.see("pull beyond", pulled(c.pull(mq, "*", 99, 32)));
        f.see("pull by tag", pulled(c.pull(mq, "TagA", 0, 32)));
        List<MessageExt> all = c.pull(mq, "*", 0, 32).getMsgFoundList();
        MessageExt m = all.get(5);
        f.see("properties", new TreeSet<>(m.getProperties().keySet()));
        f.see("sysFlag", m.getSysFlag());
        f.see("keys", m.getKeys() + " " + m.getTags() + " " + m.getUserProperty("n"));
        DefaultMQAdminExt admin = env.admin();
        for (int i : new int[] {0, 3, 4, 9, 11}) {
            long time = all.get(i).getStoreTimestamp();
            f.see("time of " + i, admin.searchOffset(mq, time));
            if (i < 11) {
                f.see("time after " + i, admin.searchOffset(mq, time + 1));
            }
        }
        f.see("time before", admin.searchOffset(mq, all.get(0).getStoreTimestamp() - 100000));
        f.see("time behind", admin.searchOffset(mq, all.get(14).getStoreTimestamp() + 1));
    }

    private static void progress(Env env, Facts f, String topic, DefaultMQAdminExt admin) throws Exception {
        Map<Long, String> got = new ConcurrentHashMap<>();
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        c.subscribe(topic, "*");
        c.registerMessageListener((MessageListenerConcurrently) (list, context) -> {
            for (MessageExt m : list) {
                got.put(m.getQueueOffset(), Env.text(m));
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.start();
        f.must(Env.await(60000, () -> got.size() == 15), "got " + got);
        f.see("pushed", new TreeMap<>(got));
        String group = env.group("c");
        f.must(Env.await(30000, () -> {
            try {
                return admin.examineConsumeStats(group, topic).computeTotalDiff() == 0;
            } catch (Exception e) {
                return false;
            }
        }), "offsets are not committed");
        f.see("consumed", admin.examineConsumeStats(group, topic).getOffsetTable().values().iterator().next().getConsumerOffset());
        c.shutdown();
        // In the middle of a batch.
        MessageQueue mq = admin.examineConsumeStats(group, topic).getOffsetTable().keySet().iterator().next();
        admin.updateConsumeOffset(broker(env, admin), group, mq, 6);
        f.see("lag in the middle", admin.examineConsumeStats(group, topic).computeTotalDiff());
    }

    /** One message of a batch fails: it alone comes again, by the retry topic. */
    static void retry(Env env, Facts f) throws Exception {
        String topic = batches(env, f);
        if (topic == null) {
            return;
        }
        DefaultMQAdminExt admin = env.admin();
        DefaultMQProducer p = env.producer();
        only(p, topic);
        Map<String, Integer> times = new ConcurrentHashMap<>();
        Map<String, String> again = new ConcurrentHashMap<>();
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        c.subscribe(topic, "*");
        c.setConsumeMessageBatchMaxSize(1);
        c.registerMessageListener((MessageListenerConcurrently) (list, context) -> {
            MessageExt m = list.get(0);
            int n = times.merge(Env.text(m), 1, Integer::sum);
            if (n > 1) {
                again.put(Env.text(m), m.getReconsumeTimes() + " from " + (m.getTopic().equals(topic) ? "the topic" : m.getTopic()) + " n=" + m.getUserProperty("n"));
            }
            context.setDelayLevelWhenNextConsume(1);
            return Env.text(m).equals("2") && n == 1 ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.start();
        send(p, topic, 0, 5);
        f.must(Env.await(90000, () -> times.size() == 5 && times.getOrDefault("2", 0) > 1), "consumed " + times);
        f.see("times", new TreeMap<>(times));
        f.see("again", again);
    }

    /** Single messages take up one offset each. */
    static void single(Env env, Facts f) throws Exception {
        String topic = batches(env, f);
        if (topic == null) {
            return;
        }
        DefaultMQAdminExt admin = env.admin();
        DefaultMQProducer p = env.producer();
        only(p, topic);
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        c.subscribe(topic, "*");
        c.registerMessageListener(inbox);
        c.start();
        f.see("batch", send(p, topic, 0, 2).getQueueOffset());
        SendResult r = p.send(Env.message(topic, "", "", "single"));
        f.see("single", r.getSendStatus() + " at " + r.getQueueOffset());
        Message delayed = Env.message(topic, "", "", "delayed");
        delayed.setDelayTimeLevel(1);
        f.see("delayed", p.send(delayed).getSendStatus());
        Env.await(5000, () -> inbox.bodies().containsKey("delayed"));
        f.see("batch behind", send(p, topic, 4, 2).getQueueOffset());
        f.must(Env.await(60000, () -> inbox.bodies().containsKey("5")), "got " + inbox.bodies());
        f.see("delivered", inbox.bodies().keySet());
    }

    /** The type of a topic is chosen when it is made, and cannot be changed. */
    static void kind(Env env, Facts f) throws Exception {
        String topic = batches(env, f);
        if (topic == null) {
            return;
        }
        DefaultMQAdminExt admin = env.admin();
        f.see("unknown type", change(env, admin, env.topic("u"), "+queue.type", "OtherCQ"));
        f.see("changed", change(env, admin, topic, "+queue.type", "SimpleCQ"));
        f.see("taken away", change(env, admin, topic, "-queue.type", ""));
        f.see("other things changed", change(env, admin, topic, null, null));
        DefaultMQProducer p = env.producer();
        only(p, topic);
        f.see("offset", send(p, topic, 0, 3).getQueueOffset());
        f.see("offset behind", send(p, topic, 3, 3).getQueueOffset());
        String addr = broker(env, admin);
        admin.deleteTopicInBroker(Collections.singleton(addr), topic);
        f.see("ordinary now", change(env, admin, topic, null, null));
        SendResult r = send(p, topic, 0, 3);
        f.see("ordinary ids", r.getMsgId().split(",").length + " and " + r.getOffsetMsgId().split(",").length + " at " + r.getQueueOffset());
    }

    private static String change(Env env, DefaultMQAdminExt admin, String topic, String attribute, String value) throws Exception {
        try {
            topic(env, admin, topic, attribute, value);
            return "done";
        } catch (MQClientException e) {
            return "code " + e.getResponseCode();
        } catch (MQBrokerException e) {
            return "broker code " + e.getResponseCode();
        }
    }

    private BatchQueueScenarios() {
    }
}
