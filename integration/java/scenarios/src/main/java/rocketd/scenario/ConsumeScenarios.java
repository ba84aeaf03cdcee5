package rocketd.scenario;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

final class ConsumeScenarios {
    static void add(Map<String, Scenario> all) {
        all.put("push_tags", ConsumeScenarios::tags);
        all.put("push_rebalance", ConsumeScenarios::rebalance);
        all.put("push_resume", ConsumeScenarios::resume);
        all.put("push_from_last", ConsumeScenarios::fromLast);
        all.put("push_before_topic", ConsumeScenarios::beforeTopic);
        all.put("broadcast", ConsumeScenarios::broadcast);
        all.put("lite_subscribe", ConsumeScenarios::liteSubscribe);
        all.put("lite_assign", ConsumeScenarios::liteAssign);
        all.put("offsets", ConsumeScenarios::offsets);
        all.put("conflict", ConsumeScenarios::conflict);
        all.put("topic_deleted", ConsumeScenarios::topicDeleted);
    }

    private static DefaultMQPushConsumer start(Env env, String group, String topic, String expression, Inbox inbox) throws Exception {
        DefaultMQPushConsumer c = env.consumer(group);
        c.subscribe(topic, expression);
        c.registerMessageListener(inbox);
        c.start();
        return c;
    }

    private static void send(DefaultMQProducer p, String topic, String tag, String what, int n) throws Exception {
        for (int i = 0; i < n; i++) {
            p.send(Env.message(topic, tag, "k" + i, what + " " + i));
        }
    }

    static void tags(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        for (String tag : new String[] {"TagA", "TagB", "TagC", "中文", "Aa", "BB"}) {
            send(p, topic, tag, tag, 10);
        }
        Inbox ab = new Inbox();
        Inbox collide = new Inbox();
        Inbox chinese = new Inbox();
        start(env, env.group("ab"), topic, "TagA || TagB", ab);
        start(env, env.group("aa"), topic, "Aa", collide);
        start(env, env.group("zh"), topic, "中文", chinese);
        ab.expect(f, "ab", 20, 60000);
        collide.expect(f, "same hash", 10, 60000);
        chinese.expect(f, "chinese", 10, 60000);
    }

    /** Two members of one group that subscribe differently: both stay members; the broker names them in its log. */
    static void conflict(Env env, Facts f) throws Exception {
        DefaultMQProducer p = env.producer();
        send(p, env.topic("t1"), "TagA", "one", 4);
        send(p, env.topic("t2"), "TagB", "two", 4);
        start(env, env.group("c"), env.topic("t1"), "TagA", new Inbox());
        start(env, env.group("c"), env.topic("t2"), "*", new Inbox());
        org.apache.rocketmq.tools.admin.DefaultMQAdminExt admin = env.admin();
        Env.await(60000, () -> members(admin, env.group("c")) == 2);
        f.see("members", members(admin, env.group("c")));
    }

    /** A topic is deleted under its consumer and made again: what is sent then arrives, from offset 0 on, and nothing lags. */
    static void topicDeleted(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        String group = env.group("c");
        org.apache.rocketmq.tools.admin.DefaultMQAdminExt admin = env.admin();
        DefaultMQProducer p = env.producer();
        send(p, topic, "", "old", 100);
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer c = start(env, group, topic, "*", inbox);
        f.must(Env.await(60000, () -> inbox.bodies().size() >= 100), "got " + inbox.bodies().size());
        Thread.sleep(6000); // its offsets are committed
        String broker = admin.examineTopicRouteInfo(topic).getBrokerDatas().get(0).getBrokerAddrs().get(0L);
        admin.deleteTopicInBroker(java.util.Collections.singleton(broker), topic);
        Deletion.inNameServer(admin, env.namesrv, topic);
        try {
            admin.examineTopicRouteInfo(topic);
            f.see("route", "there");
        } catch (org.apache.rocketmq.client.exception.MQClientException e) {
            f.see("route", "code " + e.getResponseCode());
        }
        admin.createAndUpdateTopicConfig(broker, new org.apache.rocketmq.common.TopicConfig(topic, 4, 4, 6));
        send(p, topic, "", "new", 12);
        // Apache's consumers pass over them.
        f.must(Env.await(Boolean.getBoolean("exact") ? 90000 : 25000, () -> inbox.bodies().keySet().stream().filter(b -> b.startsWith("new")).count() == 12), "got " + inbox.bodies().keySet().stream().filter(b -> b.startsWith("new")).count() + " new ones");
        f.see("new", inbox.bodies().keySet().stream().filter(b -> b.startsWith("new")).count());
        f.see("offsets", inbox.all().stream().filter(a -> Env.text(a.message).startsWith("new")).allMatch(a -> a.message.getQueueOffset() < 12));
        Env.await(15000, () -> lag(admin, group) == 0);
        f.see("lag", lag(admin, group));
        f.must(lag(admin, group) == 0, "lag " + lag(admin, group));
    }

    private static long lag(org.apache.rocketmq.tools.admin.DefaultMQAdminExt admin, String group) {
        try {
            return admin.examineConsumeStats(group).getOffsetTable().values().stream().mapToLong(o -> o.getBrokerOffset() - o.getConsumerOffset()).sum();
        } catch (Exception e) {
            return Long.MIN_VALUE;
        }
    }

    private static int members(org.apache.rocketmq.tools.admin.DefaultMQAdminExt admin, String group) {
        try {
            return admin.examineConsumerConnectionInfo(group).getConnectionSet().size();
        } catch (Exception e) {
            return 0; // none yet
        }
    }

    static void rebalance(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        String group = env.group("c");
        DefaultMQProducer p = env.producer();
        send(p, topic, "", "before", 40);
        Inbox one = new Inbox();
        Inbox two = new Inbox();
        DefaultMQPushConsumer a = start(env, group, topic, "*", one);
        f.must(Env.await(60000, () -> one.size() >= 40), "first consumer got " + one.size());
        start(env, group, topic, "*", two);
        f.must(Env.await(60000, () -> a.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet().stream()
            .filter(q -> q.getTopic().equals(topic)).count() == 2), "first consumer keeps its queues");
        Thread.sleep(1000);
        send(p, topic, "", "both", 80);
        f.must(Env.await(60000, () -> one.size() + two.size() >= 120), "got " + one.size() + " + " + two.size());
        f.must(two.size() > 0, "second consumer got nothing");
        a.shutdown();
        int had = two.size();
        send(p, topic, "", "after", 40);
        f.must(Env.await(60000, () -> two.size() >= had + 40), "after the first left, second got " + (two.size() - had));
        TreeMap<String, Integer> all = one.bodies();
        two.bodies().forEach((k, v) -> all.merge(k, v, Integer::sum));
        f.see("different", all.size());
        f.must(all.size() == 160, "different messages " + all.size());
    }

    static void resume(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        String group = env.group("c");
        DefaultMQProducer p = env.producer();
        send(p, topic, "", "one", 20);
        Inbox first = new Inbox();
        DefaultMQPushConsumer c = start(env, group, topic, "*", first);
        first.expect(f, "first", 20, 60000);
        c.shutdown();
        send(p, topic, "", "two", 20);
        Inbox second = new Inbox();
        start(env, group, topic, "*", second);
        second.expect(f, "second", 20, 60000);
        f.must(second.bodies().keySet().stream().allMatch(b -> b.startsWith("two")), "old messages came again");
    }

    static void fromLast(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        send(p, topic, "", "old", 20);
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET);
        c.subscribe(topic, "*");
        c.registerMessageListener(inbox);
        c.start();
        Env.await(5000, () -> inbox.size() >= 20);
        send(p, topic, "", "new", 20);
        Env.await(10000, () -> inbox.bodies().keySet().stream().filter(b -> b.startsWith("new")).count() == 20);
        Thread.sleep(500);
        f.see("old", inbox.bodies().keySet().stream().filter(b -> b.startsWith("old")).count());
        f.see("new", inbox.bodies().keySet().stream().filter(b -> b.startsWith("new")).count());
    }

    static void beforeTopic(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        Inbox inbox = new Inbox();
        start(env, env.group("c"), topic, "*", inbox);
        Thread.sleep(500);
        send(env.producer(), topic, "", "m", 20);
        inbox.expect(f, "got", 20, 60000);
    }

    static void broadcast(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        p.send(Env.message(topic, "", "", "first"));
        Inbox one = new Inbox();
        Inbox two = new Inbox();
        for (Inbox inbox : new Inbox[] {one, two}) {
            DefaultMQPushConsumer c = env.consumer(env.group("c"));
            c.setMessageModel(Models.BROADCASTING);
            c.subscribe(topic, "*");
            c.registerMessageListener(inbox);
            c.start();
        }
        f.must(Env.await(20000, () -> one.size() >= 1 && two.size() >= 1), "start");
        send(p, topic, "", "m", 40);
        one.expect(f, "one", 41, 60000);
        two.expect(f, "two", 41, 60000);
    }

    static void liteSubscribe(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        send(p, topic, "TagA", "a", 30);
        send(p, topic, "TagB", "b", 30);
        DefaultLitePullConsumer c = env.litePull(env.group("c"));
        c.subscribe(topic, "TagA");
        c.setAutoCommit(true);
        c.start();
        Inbox inbox = new Inbox();
        long end = System.currentTimeMillis() + 30000;
        while (inbox.size() < 30 && System.currentTimeMillis() < end) {
            inbox.add(c.poll(500));
        }
        inbox.expect(f, "got", 30, 100);
    }

    static void liteAssign(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        send(p, topic, "", "m", 40);
        DefaultLitePullConsumer c = env.litePull(env.group("c"));
        c.setAutoCommit(false);
        c.start();
        Collection<MessageQueue> queues = c.fetchMessageQueues(topic);
        f.see("queues", queues.size());
        List<MessageQueue> assigned = new ArrayList<>(queues);
        c.assign(assigned);
        for (MessageQueue q : assigned) {
            c.seekToBegin(q);
        }
        Inbox inbox = new Inbox();
        long end = System.currentTimeMillis() + 30000;
        while (inbox.size() < 40 && System.currentTimeMillis() < end) {
            inbox.add(c.poll(500));
        }
        inbox.expect(f, "got", 40, 100);
        c.commitSync();
        long committed = 0;
        for (MessageQueue q : assigned) {
            MessageQueue mq = q;
            Env.await(3000, () -> committed(c, mq) > 0);
            committed += committed(c, q);
        }
        f.see("committed", committed);
        MessageQueue q = assigned.get(0);
        c.seek(q, 3);
        Inbox again = new Inbox();
        end = System.currentTimeMillis() + 10000;
        while (again.size() < 7 && System.currentTimeMillis() < end) {
            for (MessageExt m : c.poll(500)) {
                if (m.getQueueId() == q.getQueueId()) {
                    again.add(java.util.Collections.singletonList(m));
                }
            }
        }
        f.see("after seek", again.size());
        f.must(again.size() > 0 && again.all().get(0).message.getQueueOffset() == 3, "seek(3)");
        f.see("offset for the past", c.offsetForTimestamp(q, 0L));
    }

    private static long committed(DefaultLitePullConsumer c, MessageQueue q) {
        try {
            return c.committed(q);
        } catch (Exception e) {
            return -2;
        }
    }

    static void offsets(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        send(p, topic, "", "m", 40);
        long max = 0;
        long min = 0;
        long search = 0;
        long late = 0;
        for (MessageQueue q : p.fetchPublishMessageQueues(topic)) {
            max += p.maxOffset(q);
            min += p.minOffset(q);
            search += p.searchOffset(q, 0);
            late += p.searchOffset(q, System.currentTimeMillis() + 60000);
            f.must(p.earliestMsgStoreTime(q) > 0, "earliest store time");
        }
        f.see("max", max);
        f.see("min", min);
        f.see("search 0", search);
        f.see("search later", late);
    }

    private ConsumeScenarios() {
    }
}
