package rocketd.scenario;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

final class TransactionScenarios {
    static void add(Map<String, Scenario> all) {
        all.put("transaction", TransactionScenarios::decided);
        all.put("transaction_check", TransactionScenarios::checked);
        all.put("transaction_late", TransactionScenarios::late);
        all.put("transaction_delay", TransactionScenarios::delayed);
    }

    private static TransactionMQProducer producer(Env env, TransactionListener listener) throws Exception {
        TransactionMQProducer p = new TransactionMQProducer(env.group("tx"));
        p.setNamesrvAddr(env.namesrv);
        p.setInstanceName(env.instance());
        p.setMqClientApiTimeout(15000);
        p.setSendMsgTimeout(10000);
        p.setTransactionListener(listener);
        env.onClose(p::shutdown);
        p.start();
        return p;
    }

    private static Inbox subscribe(Env env, String topic) throws Exception {
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        c.subscribe(topic, "*");
        c.registerMessageListener(inbox);
        c.start();
        return inbox;
    }

    static void decided(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        TransactionMQProducer p = producer(env, new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message m, Object arg) {
                return (Integer) arg % 2 == 0 ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.ROLLBACK_MESSAGE;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt m) {
                return LocalTransactionState.UNKNOW;
            }
        });
        for (int i = 0; i < 20; i++) {
            TransactionSendResult r = p.sendMessageInTransaction(Env.message(topic, "TagT", "k" + i, "body " + i), i);
            f.see("status", r.getSendStatus());
        }
        Inbox inbox = subscribe(env, topic);
        inbox.expect(f, "committed", 10, 60000);
        if (inbox.size() > 0) {
            MessageExt m = inbox.all().get(0).message;
            f.see("properties", new java.util.TreeSet<>(m.getProperties().keySet()));
            f.see("sysFlag", m.getSysFlag());
            f.must(m.getPreparedTransactionOffset() > 0 || m.getCommitLogOffset() == 0, "prepared offset");
        }
    }

    /** Needs a broker whose first check comes within the waiting time. */
    static void checked(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        ConcurrentHashMap<String, AtomicInteger> asked = new ConcurrentHashMap<>();
        TransactionMQProducer p = producer(env, new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message m, Object arg) {
                return LocalTransactionState.UNKNOW;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt m) {
                asked.computeIfAbsent(Env.text(m), k -> new AtomicInteger()).incrementAndGet();
                return Env.text(m).endsWith("commit") ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.ROLLBACK_MESSAGE;
            }
        });
        for (int i = 0; i < 5; i++) {
            p.sendMessageInTransaction(Env.message(topic, "", "k", i + " commit"), i);
            p.sendMessageInTransaction(Env.message(topic, "", "k", i + " rollback"), i);
        }
        Inbox inbox = subscribe(env, topic);
        inbox.expect(f, "committed", 5, 120000);
        Env.await(60000, () -> asked.size() >= 10);
        f.see("asked", asked.size());
        f.must(asked.size() == 10, "asked for " + asked.size() + " of 10");
        f.must(inbox.bodies().keySet().stream().allMatch(b -> b.endsWith("commit")), "a rolled back message is visible");
    }

    /** The producer does not know yet when it is asked first; its later decision counts, once. */
    static void late(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        AtomicInteger asked = new AtomicInteger();
        TransactionMQProducer p = producer(env, new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message m, Object arg) {
                return LocalTransactionState.UNKNOW;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt m) {
                return asked.incrementAndGet() < 2 ? LocalTransactionState.UNKNOW : LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        p.sendMessageInTransaction(Env.message(topic, "", "k", "late"), 0);
        Inbox inbox = subscribe(env, topic);
        inbox.expect(f, "committed", 1, 120000);
        f.must(asked.get() >= 2, "asked " + asked.get());
        if (inbox.size() > 0) {
            f.see("checks", inbox.all().get(0).message.getProperty("TRANSACTION_CHECK_TIMES"));
        }
    }

    /** A delay level on a half message counts from the commit. */
    static void delayed(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        TransactionMQProducer p = producer(env, new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message m, Object arg) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt m) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        Inbox inbox = subscribe(env, topic);
        Message m = Env.message(topic, "", "k", "delayed");
        m.setDelayTimeLevel(2);
        long sent = System.currentTimeMillis();
        try {
            f.see("status", p.sendMessageInTransaction(m, 0).getSendStatus());
        } catch (MQClientException e) { // new clients refuse it by themselves
            f.see("status", "refused by the client");
            return;
        }
        inbox.expect(f, "committed", 1, 90000);
        if (inbox.size() > 0) {
            f.see("delayed", inbox.all().get(0).message.getStoreTimestamp() - sent >= 4900);
        }
    }

    private TransactionScenarios() {
    }
}
