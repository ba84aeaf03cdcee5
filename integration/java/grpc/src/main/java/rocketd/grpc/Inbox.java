package rocketd.grpc;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.MessageListener;
import org.apache.rocketmq.client.apis.message.MessageView;

/** Collects what arrives, in order, with the time of arrival. */
final class Inbox implements MessageListener {
    static final class Arrival {
        final MessageView message;
        final String body;
        final long at = System.currentTimeMillis();

        Arrival(MessageView message) {
            this.message = message;
            this.body = Session.text(message);
        }
    }

    private final List<Arrival> arrivals = new ArrayList<>();

    @Override
    public ConsumeResult consume(MessageView m) {
        add(m);
        return ConsumeResult.SUCCESS;
    }

    synchronized void add(MessageView m) {
        arrivals.add(new Arrival(m));
    }

    synchronized List<Arrival> all() {
        return new ArrayList<>(arrivals);
    }

    /** How often each body arrived. */
    synchronized TreeMap<String, Integer> bodies() {
        TreeMap<String, Integer> counts = new TreeMap<>();
        for (Arrival a : arrivals) {
            counts.merge(a.body, 1, Integer::sum);
        }
        return counts;
    }

    /** Waits for n different bodies and then a moment for doubles; states lost and doubled ones. */
    void expect(Facts facts, String what, int n, long ms) throws InterruptedException {
        Session.await(ms, () -> bodies().size() >= n);
        Thread.sleep(500);
        TreeMap<String, Integer> got = bodies();
        long doubled = got.values().stream().filter(c -> c > 1).count();
        facts.see(what + ".different", got.size());
        facts.see(what + ".doubled", doubled);
        facts.must(got.size() == n, what + ": want " + n + " messages, got " + got.size());
        facts.must(doubled == 0, what + ": " + doubled + " messages came twice");
    }
}
