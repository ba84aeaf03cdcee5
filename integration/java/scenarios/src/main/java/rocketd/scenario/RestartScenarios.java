package rocketd.scenario;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Stories during which somebody else stops the broker and starts it again. They run only when they are named. */
final class RestartScenarios {
    private static final int KEYS = 4;
    private static final int EACH = 400;

    static void add(Map<String, Scenario> all) {
        all.put("restart_load", RestartScenarios::load);
        all.put("restart_query", RestartScenarios::query);
    }

    /** Ordered sends that are repeated until they are acknowledged, an orderly and a concurrent group: nothing lost, order kept. */
    static void load(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        p.setSendMsgTimeout(2000);
        p.setRetryTimesWhenSendFailed(0);
        Map<Integer, List<Integer>> seen = new TreeMap<>();
        DefaultMQPushConsumer orderly = env.consumer(env.group("orderly"));
        orderly.subscribe(topic, "*");
        orderly.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            synchronized (seen) {
                for (MessageExt m : messages) {
                    String[] parts = Env.text(m).split(":");
                    List<Integer> numbers = seen.computeIfAbsent(Integer.valueOf(parts[0]), k -> new ArrayList<>());
                    Integer n = Integer.valueOf(parts[1]);
                    if (!numbers.contains(n)) { // a repeat after the restart
                        numbers.add(n);
                    }
                }
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer concurrent = env.consumer(env.group("concurrent"));
        concurrent.subscribe(topic, "*");
        concurrent.registerMessageListener(inbox);
        send(p, topic, 0, 0);
        orderly.start();
        concurrent.start();
        int failed = 0;
        for (int i = 1; i < EACH; i++) {
            for (int key = 0; key < KEYS; key++) {
                failed += send(p, topic, key, i);
            }
            Thread.sleep(40);
        }
        Env.await(90000, () -> count(seen) >= KEYS * (EACH - 1) && inbox.bodies().size() >= KEYS * (EACH - 1));
        f.must(failed > 0, "the broker was never away");
        synchronized (seen) {
            f.see("keys", seen.size());
            seen.forEach((key, numbers) -> {
                List<Integer> sorted = new ArrayList<>(numbers);
                java.util.Collections.sort(sorted);
                f.must(sorted.equals(numbers), "order of key " + key + ": " + numbers);
                f.see("key " + key, numbers.stream().filter(n -> n > 0).count());
                f.must(numbers.stream().filter(n -> n > 0).count() == EACH - 1, "key " + key + " has " + numbers.size());
            });
        }
        f.see("concurrent", inbox.bodies().keySet().stream().filter(b -> !b.endsWith(":0")).count());
        f.must(inbox.bodies().keySet().stream().filter(b -> !b.endsWith(":0")).count() == KEYS * (EACH - 1), "concurrent: " + inbox.bodies().size());
    }

    /** What queries find before the restart they find after it: by keys, by unique key, by both ids. */
    static void query(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        long begin = System.currentTimeMillis() - 10000;
        for (int i = 0; i < 50; i++) {
            p.send(Env.message(topic, "TagA", "order" + i + " customer" + i % 2, "body " + i));
        }
        SendResult last = p.send(Env.message(topic, "TagB", "last", "last"));
        DefaultMQAdminExt admin = env.admin();
        f.must(Env.await(60000, () -> !found(p, topic, "last", begin).startsWith("failed")), "not found before: " + found(p, topic, "last", begin));
        queries(f, p, admin, topic, last, begin, "before");
        tell("ASKED");
        f.must(Env.await(90000, () -> by(() -> Env.text(admin.viewMessage(topic, last.getOffsetMsgId()))).startsWith("failed")), "the broker was never away");
        tell("AWAY");
        f.must(Env.await(90000, () -> !found(p, topic, "last", begin).startsWith("failed")), "not found after: " + found(p, topic, "last", begin));
        queries(f, p, admin, topic, last, begin, "after");
    }

    /** Tells whoever stops and starts the broker. */
    private static void tell(String line) {
        synchronized (System.out) {
            System.out.println(line);
            System.out.flush();
        }
    }

    private interface Call {
        String run() throws Exception;
    }

    private static String by(Call call) {
        try {
            return call.run();
        } catch (Exception e) {
            return "failed: " + e.getClass().getSimpleName();
        }
    }

    private static String found(DefaultMQProducer p, String topic, String key, long begin) {
        return by(() -> String.valueOf(p.queryMessage(topic, key, 64, begin, System.currentTimeMillis() + 60000).getMessageList().size()));
    }

    private static void queries(Facts f, DefaultMQProducer p, DefaultMQAdminExt admin, String topic, SendResult last, long begin, String when) {
        for (String key : new String[] {"order3", "customer1", "last", "nothing"}) {
            f.see(when + " " + key, found(p, topic, key, begin));
        }
        f.see(when + " unique key", found(p, topic, last.getMsgId(), begin));
        f.see(when + " by unique id", by(() -> Env.text(admin.viewMessage(topic, last.getMsgId()))));
        f.see(when + " by offset id", by(() -> Env.text(admin.viewMessage(topic, last.getOffsetMsgId()))));
    }

    private static int count(Map<Integer, List<Integer>> seen) {
        synchronized (seen) {
            return seen.values().stream().mapToInt(List::size).sum();
        }
    }

    /** Repeats a send until it is acknowledged and tells how often it failed. */
    private static int send(DefaultMQProducer p, String topic, int key, int number) throws InterruptedException {
        for (int failed = 0;; failed++) {
            try {
                if (p.send(Env.message(topic, "", "", key + ":" + number), (queues, m, arg) -> queues.get((Integer) arg % queues.size()), key).getSendStatus() == SendStatus.SEND_OK) {
                    return failed;
                }
            } catch (InterruptedException e) {
                throw e;
            } catch (Exception e) {
                Thread.sleep(50);
            }
        }
    }

    private RestartScenarios() {
    }
}
