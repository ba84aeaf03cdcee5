package rocketd.scenario;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.MessageExt;

/** Stories during which somebody else stops the broker and starts it again. They run only when they are named. */
final class RestartScenarios {
    private static final int KEYS = 4;
    private static final int EACH = 400;

    static void add(Map<String, Scenario> all) {
        all.put("restart_load", RestartScenarios::load);
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
