package rocketd.scenario;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageExt;

final class OrderScenarios {
    static void add(Map<String, Scenario> all) {
        all.put("orderly", OrderScenarios::orderly);
        all.put("orderly_two", OrderScenarios::two);
        all.put("orderly_suspend", OrderScenarios::suspend);
        all.put("killed_orderly", OrderScenarios::survivor);
        all.put("killed_orderly_victim", OrderScenarios::victim);
    }

    private static void send(DefaultMQProducer p, String topic, int from, int to) throws Exception {
        for (int i = from; i < to; i++) {
            for (int key = 0; key < 4; key++) {
                p.send(Env.message(topic, "", "k" + key, key + ":" + i), (queues, m, arg) -> queues.get((Integer) arg % queues.size()), key);
            }
        }
    }

    private static void ordered(Facts f, Map<String, List<Integer>> seen, int n) {
        seen.forEach((key, numbers) -> {
            List<Integer> sorted = new ArrayList<>(numbers);
            Collections.sort(sorted);
            f.must(sorted.equals(numbers), "order of key " + key + ": " + numbers);
            f.must(numbers.size() == n, "key " + key + " has " + numbers.size());
        });
        f.see("keys", seen.size());
    }

    private static void note(Map<String, List<Integer>> seen, MessageExt m) {
        String[] parts = Env.text(m).split(":");
        synchronized (seen) {
            seen.computeIfAbsent(parts[0], k -> new ArrayList<>()).add(Integer.valueOf(parts[1]));
        }
    }

    private static int count(Map<String, List<Integer>> seen) {
        synchronized (seen) {
            return seen.values().stream().mapToInt(List::size).sum();
        }
    }

    private static DefaultMQPushConsumer start(Env env, String topic, MessageListenerOrderly listener) throws Exception {
        DefaultMQPushConsumer c = env.consumer(env.group("c"));
        c.subscribe(topic, "*");
        c.registerMessageListener(listener);
        c.start();
        return c;
    }

    static void orderly(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        send(p, topic, 0, 50);
        Map<String, List<Integer>> seen = new TreeMap<>();
        start(env, topic, (messages, context) -> {
            messages.forEach(m -> note(seen, m));
            return ConsumeOrderlyStatus.SUCCESS;
        });
        Env.await(60000, () -> count(seen) >= 200);
        ordered(f, seen, 50);
    }

    static void two(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        send(p, topic, 0, 10);
        Map<String, List<Integer>> seen = new TreeMap<>();
        AtomicInteger second = new AtomicInteger();
        start(env, topic, (messages, context) -> {
            messages.forEach(m -> note(seen, m));
            return ConsumeOrderlyStatus.SUCCESS;
        });
        Env.await(60000, () -> count(seen) >= 40);
        start(env, topic, (messages, context) -> {
            messages.forEach(m -> note(seen, m));
            second.addAndGet(messages.size());
            return ConsumeOrderlyStatus.SUCCESS;
        });
        for (int i = 10; i < 100; i += 5) {
            send(p, topic, i, i + 5);
            Thread.sleep(1000);
            if (second.get() > 20 && i > 40) {
                send(p, topic, i + 5, 100);
                break;
            }
        }
        Env.await(60000, () -> count(seen) >= 400);
        f.must(second.get() > 0, "second consumer got nothing");
        ordered(f, seen, 100);
    }

    static void suspend(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        send(p, topic, 0, 10);
        Map<String, List<Integer>> seen = new TreeMap<>();
        AtomicInteger refused = new AtomicInteger();
        start(env, topic, (messages, context) -> {
            if (Env.text(messages.get(0)).equals("1:3") && refused.incrementAndGet() <= 3) {
                context.setSuspendCurrentQueueTimeMillis(200);
                return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
            }
            messages.forEach(m -> note(seen, m));
            return ConsumeOrderlyStatus.SUCCESS;
        });
        Env.await(60000, () -> count(seen) >= 40);
        f.see("offered", refused.get());
        ordered(f, seen, 10);
    }

    private static final String VICTIM = "_victim";

    /** Consumes in order and tells of each message, until somebody kills the process. */
    static void victim(Env env, Facts f) throws Exception {
        Env of = new Env(env.namesrv, env.name.substring(0, env.name.length() - VICTIM.length()));
        start(of, of.topic("t"), (messages, context) -> {
            messages.forEach(OrderScenarios::tell);
            return ConsumeOrderlyStatus.SUCCESS;
        });
        Thread.sleep(300000);
    }

    /** Sends and consumes beside the victim; ends when it has got the last message of each key. */
    static void survivor(Env env, Facts f) throws Exception {
        String topic = env.topic("t");
        DefaultMQProducer p = env.producer();
        send(p, topic, 0, 1);
        Map<String, List<Integer>> seen = new TreeMap<>();
        start(env, topic, (messages, context) -> {
            messages.forEach(m -> {
                tell(m);
                note(seen, m);
            });
            return ConsumeOrderlyStatus.SUCCESS;
        });
        for (int i = 1; i < 300; i++) {
            send(p, topic, i, i + 1);
            Thread.sleep(50);
        }
        f.must(Env.await(150000, () -> {
            synchronized (seen) {
                return seen.size() == 4 && seen.values().stream().allMatch(numbers -> numbers.contains(299));
            }
        }), "the last messages did not come");
    }

    private static void tell(MessageExt m) {
        synchronized (System.out) {
            System.out.println("SEEN\t" + System.currentTimeMillis() + "\t" + Env.text(m));
            System.out.flush();
        }
    }

    private OrderScenarios() {
    }
}
