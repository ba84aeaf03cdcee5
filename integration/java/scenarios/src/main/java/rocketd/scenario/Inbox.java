package rocketd.scenario;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.message.MessageExt;

/** Collects what arrives, with the time of arrival. */
public final class Inbox implements MessageListenerConcurrently {
    public static final class Arrival {
        public final MessageExt message;
        public final long at;

        Arrival(MessageExt message, long at) {
            this.message = message;
            this.at = at;
        }
    }

    private final List<Arrival> arrivals = new ArrayList<>();

    @Override
    public ConsumeConcurrentlyStatus consumeMessage(List<MessageExt> messages, ConsumeConcurrentlyContext context) {
        add(messages);
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
    }

    public synchronized void add(List<MessageExt> messages) {
        long now = System.currentTimeMillis();
        for (MessageExt m : messages) {
            arrivals.add(new Arrival(m, now));
        }
    }

    public synchronized int size() {
        return arrivals.size();
    }

    public synchronized List<Arrival> all() {
        return new ArrayList<>(arrivals);
    }

    /** How often each body arrived. */
    public synchronized TreeMap<String, Integer> bodies() {
        TreeMap<String, Integer> counts = new TreeMap<>();
        for (Arrival a : arrivals) {
            counts.merge(Env.text(a.message), 1, Integer::sum);
        }
        return counts;
    }

    /** Waits for n different bodies and then a moment for doubles; states lost and doubled ones. */
    public void expect(Facts facts, String what, int n, long ms) throws InterruptedException {
        Env.await(ms, () -> bodies().size() >= n);
        Thread.sleep(300);
        TreeMap<String, Integer> got = bodies();
        long doubled = got.values().stream().filter(c -> c > 1).count();
        facts.see(what + ".different", got.size());
        facts.see(what + ".doubled", doubled);
        facts.must(got.size() == n, what + ": want " + n + " messages, got " + got.size());
        facts.must(doubled == 0, what + ": " + doubled + " messages came twice");
    }
}
