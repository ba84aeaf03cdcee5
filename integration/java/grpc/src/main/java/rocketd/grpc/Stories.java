package rocketd.grpc;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.SendReceipt;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

final class Stories {
    static void add(Map<String, Story> all) {
        all.put("dead", Stories::dead);
        all.put("push", Stories::push);
        all.put("simple", Stories::simple);
        all.put("fifo", Stories::fifo);
        all.put("transaction", Stories::transaction);
        all.put("delay", Stories::delay);
        all.put("recall", Stories::recall);
        all.put("simple_fifo", Stories::simpleFifo);
        all.put("normal", Stories::normal);
        all.put("filter_tag", (s, f) -> filter(s, f, new FilterExpression("TagA || TagB"), 20));
        all.put("filter_sql", (s, f) -> filter(s, f, new FilterExpression("n > 5 AND n IS NOT NULL", FilterExpressionType.SQL92), 12));
        all.put("big", Stories::big);
        all.put("wrong_type", Stories::wrongType);
        all.put("no_topic", Stories::noTopic);
        all.put("share", Stories::share);
    }

    /** Receives and acknowledges until n different bodies are there. */
    private static void drain(SimpleConsumer c, Inbox inbox, int n, long ms) throws Exception {
        long end = System.currentTimeMillis() + ms;
        while (inbox.bodies().size() < n && System.currentTimeMillis() < end) {
            for (MessageView m : c.receive(16, Duration.ofSeconds(30))) {
                inbox.add(m);
                c.ack(m);
            }
        }
    }

    static void normal(Session s, Facts f) throws Exception {
        String topic = s.topic("NORMAL");
        Producer p = s.producer(topic);
        for (int i = 0; i < 30; i++) {
            p.send(s.message(topic, "body " + i).setTag("TagA").setKeys("k" + i, "x").addProperty("colour", "blue " + i).build());
        }
        List<java.util.concurrent.CompletableFuture<SendReceipt>> async = new ArrayList<>();
        for (int i = 30; i < 40; i++) {
            async.add(p.sendAsync(s.message(topic, "body " + i).setTag("TagA").setKeys("k" + i, "x").addProperty("colour", "blue " + i).build()));
        }
        for (java.util.concurrent.CompletableFuture<SendReceipt> a : async) {
            a.get();
        }
        Inbox inbox = new Inbox();
        drain(s.simple(topic, FilterExpression.SUB_ALL), inbox, 40, 60000);
        inbox.expect(f, "got", 40, 100);
        MessageView m = inbox.all().get(0).message;
        f.see("tag", m.getTag().orElse("none"));
        f.see("keys", m.getKeys().size());
        f.see("properties", new TreeSet<>(m.getProperties().keySet()));
        f.see("attempt", m.getDeliveryAttempt());
        f.see("group", m.getMessageGroup().isPresent());
        f.see("delivery time", m.getDeliveryTimestamp().isPresent());
        f.see("born host", m.getBornHost().isEmpty());
    }

    static void push(Session s, Facts f) throws Exception {
        String topic = s.topic("NORMAL");
        Producer p = s.producer(topic);
        Inbox inbox = new Inbox();
        List<Integer> attempts = new CopyOnWriteArrayList<>();
        s.push(topic, m -> {
            if (Session.text(m).equals("body 7")) {
                attempts.add(m.getDeliveryAttempt());
                if (attempts.size() < 2) {
                    return ConsumeResult.FAILURE;
                }
            }
            inbox.add(m);
            return ConsumeResult.SUCCESS;
        });
        for (int i = 0; i < 40; i++) {
            p.send(s.message(topic, "body " + i).build());
        }
        inbox.expect(f, "got", 40, 60000);
        f.see("attempts", attempts);
    }

    static void share(Session s, Facts f) throws Exception {
        String topic = s.topic("NORMAL");
        Producer p = s.producer(topic);
        Inbox one = new Inbox();
        Inbox two = new Inbox();
        s.push(topic, one);
        s.push(topic, two);
        Session.await(30000, () -> {
            try {
                p.send(s.message(topic, "warm " + System.nanoTime()).build());
                Thread.sleep(100);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            return !one.all().isEmpty() && !two.all().isEmpty();
        });
        for (int i = 0; i < 60; i++) {
            p.send(s.message(topic, "body " + i).build());
        }
        TreeMap<String, Integer> all = new TreeMap<>();
        Session.await(30000, () -> {
            all.clear();
            all.putAll(one.bodies());
            two.bodies().forEach((k, v) -> all.merge(k, v, Integer::sum));
            return all.keySet().stream().filter(b -> b.startsWith("body")).count() == 60;
        });
        f.see("different", all.keySet().stream().filter(b -> b.startsWith("body")).count());
        f.see("doubled", all.values().stream().filter(n -> n > 1).count());
        f.must(!one.all().isEmpty() && !two.all().isEmpty(), "both get something");
    }

    static void simple(Session s, Facts f) throws Exception {
        String topic = s.topic("NORMAL");
        Producer p = s.producer(topic);
        for (String body : Arrays.asList("acked", "left", "changed")) {
            p.send(s.message(topic, body).build());
        }
        SimpleConsumer c = s.simple(topic, FilterExpression.SUB_ALL);
        Map<String, List<Integer>> attempts = new TreeMap<>();
        Map<String, Long> firstSeen = new ConcurrentHashMap<>();
        MessageView changed = null;
        long end = System.currentTimeMillis() + 60000;
        while (System.currentTimeMillis() < end && (attempts.getOrDefault("left", new ArrayList<>()).size() < 2 || attempts.getOrDefault("changed", new ArrayList<>()).size() < 2)) {
            for (MessageView m : c.receive(16, Duration.ofSeconds(10))) {
                String body = Session.text(m);
                attempts.computeIfAbsent(body, k -> new ArrayList<>()).add(m.getDeliveryAttempt());
                boolean first = firstSeen.putIfAbsent(body, System.currentTimeMillis()) == null;
                if (body.equals("acked")) {
                    c.ack(m);
                    f.see("ack twice", attempt(() -> c.ack(m)));
                } else if (body.equals("changed") && first) {
                    changed = m;
                    c.changeInvisibleDuration(m, Duration.ofSeconds(15));
                    c.changeInvisibleDuration(m, Duration.ofSeconds(12));
                } else if (!first) {
                    long waited = System.currentTimeMillis() - firstSeen.get(body);
                    f.see(body + " waited its time", waited >= 9000);
                    c.ack(m);
                }
            }
        }
        f.see("attempts", attempts);
        f.must(attempts.getOrDefault("left", new ArrayList<>()).size() == 2, "left: " + attempts);
        f.must(attempts.getOrDefault("changed", new ArrayList<>()).size() == 2, "changed: " + attempts);
        f.must(attempts.getOrDefault("acked", new ArrayList<>()).size() == 1, "acked: " + attempts);
        MessageView old = changed;
        f.see("ack with a lapsed handle", attempt(() -> c.ack(old)));
        f.see("change with a lapsed handle", attempt(() -> c.changeInvisibleDuration(old, Duration.ofSeconds(15))));
        f.see("invisible time too short", attempt(() -> c.receive(1, Duration.ofMillis(10))));
        f.see("rest", c.receive(16, Duration.ofSeconds(10)).size());
    }

    private interface Call {
        void run() throws Exception;
    }

    /** "ok" or the proxy's response code. */
    private static String attempt(Call call) {
        try {
            call.run();
            return "ok";
        } catch (ClientException e) {
            String text = String.valueOf(e.getMessage());
            int i = text.indexOf("response-code=");
            return e.getClass().getSimpleName() + (i < 0 ? "" : " " + text.substring(i + 14).split("[,\\] ]")[0]);
        } catch (Exception e) {
            return e.getClass().getSimpleName();
        }
    }

    static void fifo(Session s, Facts f) throws Exception {
        String topic = s.topic("FIFO");
        Producer p = s.producer(topic);
        Map<String, List<Integer>> seen = new TreeMap<>();
        AtomicInteger offered = new AtomicInteger();
        s.push(topic, m -> {
            String[] parts = Session.text(m).split(":");
            if (Session.text(m).equals("g1:3") && offered.incrementAndGet() < 3) {
                return ConsumeResult.FAILURE;
            }
            synchronized (seen) {
                seen.computeIfAbsent(parts[0], k -> new ArrayList<>()).add(Integer.valueOf(parts[1]));
            }
            return ConsumeResult.SUCCESS;
        });
        for (int i = 0; i < 20; i++) {
            for (int g = 0; g < 4; g++) {
                p.send(s.message(topic, "g" + g + ":" + i).setMessageGroup("g" + g).build());
            }
        }
        Session.await(60000, () -> {
            synchronized (seen) {
                return seen.values().stream().mapToInt(List::size).sum() >= 80;
            }
        });
        Thread.sleep(500);
        synchronized (seen) {
            ordered(f, seen, 20);
        }
        f.see("offered", offered.get());
    }

    private static void ordered(Facts f, Map<String, List<Integer>> seen, int n) {
        f.see("groups", seen.size());
        seen.forEach((group, numbers) -> {
            List<Integer> want = new ArrayList<>();
            for (int i = 0; i < n; i++) {
                want.add(i);
            }
            f.must(numbers.equals(want), group + " in order: " + numbers);
            f.see(group, numbers.size());
        });
    }

    static void simpleFifo(Session s, Facts f) throws Exception {
        String topic = s.topic("FIFO");
        Producer p = s.producer(topic);
        for (int i = 0; i < 10; i++) {
            p.send(s.message(topic, "one:" + i).setMessageGroup("one").build());
        }
        SimpleConsumer c = s.simple(topic, FilterExpression.SUB_ALL);
        List<MessageView> first = new ArrayList<>();
        long end = System.currentTimeMillis() + 60000;
        while (first.isEmpty() && System.currentTimeMillis() < end) {
            first = c.receive(4, Duration.ofSeconds(60));
        }
        f.see("first", first.size());
        // The group stands still while the first ones are not acknowledged.
        f.see("meanwhile", c.receive(4, Duration.ofSeconds(60)).size());
        Map<String, List<Integer>> seen = new TreeMap<>();
        for (MessageView m : first) {
            seen.computeIfAbsent("one", k -> new ArrayList<>()).add(Integer.valueOf(Session.text(m).split(":")[1]));
            f.see("ack", attempt(() -> c.ack(m)));
        }
        while (seen.getOrDefault("one", new ArrayList<>()).size() < 10 && System.currentTimeMillis() < end) {
            for (MessageView m : c.receive(16, Duration.ofSeconds(20))) {
                seen.get("one").add(Integer.valueOf(Session.text(m).split(":")[1]));
                c.ack(m);
            }
        }
        f.see("again", seen.get("one").size() > 10);
        f.must(new TreeSet<>(seen.get("one")).size() == 10, "all of the group: " + seen);
    }

    static void delay(Session s, Facts f) throws Exception {
        String topic = s.topic("DELAY");
        Producer p = s.producer(topic);
        Inbox inbox = new Inbox();
        s.push(topic, inbox);
        Map<String, Long> due = new TreeMap<>();
        for (int i = 0; i < 10; i++) {
            long at = System.currentTimeMillis() + 2500 + i * 300L;
            due.put("body " + i, at);
            SendReceipt r = p.send(s.message(topic, "body " + i).setDeliveryTimestamp(at).build());
            f.see("handle", r.getRecallHandle() != null && !r.getRecallHandle().isEmpty());
        }
        inbox.expect(f, "got", 10, 60000);
        long early = 0;
        long late = 0;
        for (Inbox.Arrival a : inbox.all()) {
            early = Math.max(early, due.get(a.body) - a.at);
            late = Math.max(late, a.at - due.get(a.body));
        }
        f.must(early <= (Boolean.getBoolean("exact") ? 0 : 1000), "early by " + early + " ms");
        f.must(late < 10000, "late by " + late + " ms");
        f.see("delivery time", inbox.all().stream().allMatch(a -> a.message.getDeliveryTimestamp().isPresent()));
        f.see("too far", attempt(() -> p.send(s.message(topic, "far").setDeliveryTimestamp(System.currentTimeMillis() + 10L * 86400000).build())));
    }

    static void recall(Session s, Facts f) throws Exception {
        String topic = s.topic("DELAY");
        Producer p = s.producer(topic);
        Inbox inbox = new Inbox();
        s.push(topic, inbox);
        long at = System.currentTimeMillis() + 12000;
        SendReceipt gone = p.send(s.message(topic, "recalled").setDeliveryTimestamp(at).build());
        p.send(s.message(topic, "stays").setDeliveryTimestamp(at).build());
        f.see("recall", attempt(() -> p.recallMessage(topic, gone.getRecallHandle())));
        f.see("recall with garbage", attempt(() -> p.recallMessage(topic, "garbage")));
        inbox.expect(f, "got", 1, 30000);
        f.must(inbox.bodies().containsKey("stays"), "got " + inbox.bodies());
        f.see("recall late", attempt(() -> p.recallMessage(topic, gone.getRecallHandle())));
    }

    static void transaction(Session s, Facts f) throws Exception {
        String topic = s.topic("TRANSACTION");
        Map<String, AtomicInteger> asked = new ConcurrentHashMap<>();
        Producer p = s.producer(m -> {
            asked.computeIfAbsent(Session.text(m), k -> new AtomicInteger()).incrementAndGet();
            return Session.text(m).endsWith("later") ? TransactionResolution.COMMIT : TransactionResolution.ROLLBACK;
        }, topic);
        Inbox inbox = new Inbox();
        s.push(topic, inbox);
        for (int i = 0; i < 5; i++) {
            for (String what : Arrays.asList("commit", "rollback", "later", "never")) {
                Transaction t = p.beginTransaction();
                p.send(s.message(topic, i + " " + what).setKeys("k").build(), t);
                if (what.equals("commit")) {
                    t.commit();
                } else if (what.equals("rollback")) {
                    t.rollback();
                }
            }
        }
        Session.await(90000, () -> inbox.bodies().size() >= 10);
        Session.await(60000, () -> asked.keySet().stream().filter(Stories::undecided).count() >= 10);
        f.see("asked", asked.keySet().stream().filter(Stories::undecided).count());
        f.see("visible", inbox.bodies().size());
        f.must(inbox.bodies().size() == 10, "visible: " + inbox.bodies().keySet());
        f.must(inbox.bodies().keySet().stream().allMatch(b -> b.endsWith("commit") || b.endsWith("later")), "visible: " + inbox.bodies().keySet());
        // Apache can ask about a message that was decided while its check ran, and make it visible twice.
        f.must(!Boolean.getBoolean("exact") || inbox.bodies().values().stream().allMatch(n -> n == 1), "twice: " + inbox.bodies());
    }

    private static boolean undecided(String body) {
        return body.endsWith("never") || body.endsWith("later");
    }

    static void filter(Session s, Facts f, FilterExpression expression, int want) throws Exception {
        String topic = s.topic("NORMAL");
        Producer p = s.producer(topic);
        for (String tag : Arrays.asList("TagA", "TagB", "TagC")) {
            for (int i = 0; i < 10; i++) {
                p.send(s.message(topic, tag + " " + i).setTag(tag).addProperty("n", String.valueOf(i)).build());
            }
        }
        Inbox inbox = new Inbox();
        drain(s.simple(topic, expression), inbox, want, 30000);
        inbox.expect(f, "got", want, 100);
    }

    static void big(Session s, Facts f) throws Exception {
        String topic = s.topic("NORMAL");
        Producer p = s.producer(topic);
        byte[] body = new byte[3 << 20];
        new java.util.Random(1).nextBytes(body);
        p.send(s.provider.newMessageBuilder().setTopic(topic).setBody(body).build());
        char[] text = new char[100000];
        Arrays.fill(text, 'a');
        p.send(s.message(topic, new String(text)).build());
        SimpleConsumer c = s.simple(topic, FilterExpression.SUB_ALL);
        List<Integer> sizes = new ArrayList<>();
        long end = System.currentTimeMillis() + 60000;
        while (sizes.size() < 2 && System.currentTimeMillis() < end) {
            for (MessageView m : c.receive(16, Duration.ofSeconds(30))) {
                byte[] got = new byte[m.getBody().remaining()];
                m.getBody().duplicate().get(got);
                f.must(Arrays.equals(got, body) || new String(got, StandardCharsets.UTF_8).equals(new String(text)), "body as sent");
                sizes.add(got.length);
                c.ack(m);
            }
        }
        java.util.Collections.sort(sizes);
        f.see("sizes", sizes);
        f.see("over the limit", attempt(() -> p.send(s.provider.newMessageBuilder().setTopic(topic).setBody(new byte[5 << 20]).build())));
    }

    static void wrongType(Session s, Facts f) throws Exception {
        String topic = s.topic("NORMAL");
        Producer p = s.producer(topic);
        f.see("fifo", attempt(() -> p.send(s.message(topic, "x").setMessageGroup("g").build())));
        f.see("delay", attempt(() -> p.send(s.message(topic, "x").setDeliveryTimestamp(System.currentTimeMillis() + 5000).build())));
    }

    static void noTopic(Session s, Facts f) throws Exception {
        f.see("producer", attempt(() -> s.producer("grpc_nothing_there")));
        f.see("simple consumer", attempt(() -> s.simple("grpc_nothing_there", FilterExpression.SUB_ALL).receive(1, Duration.ofSeconds(10))));
    }

    /** The group's retries end after one: the message goes to its dead letters. */
    static void dead(Session s, Facts f) throws Exception {
        String topic = s.topic("NORMAL");
        Producer p = s.producer(topic);
        List<Integer> attempts = new CopyOnWriteArrayList<>();
        s.push(topic, m -> {
            attempts.add(m.getDeliveryAttempt());
            return ConsumeResult.FAILURE;
        });
        p.send(s.message(topic, "poison").setTag("TagD").setKeys("kd").build());
        Session.await(60000, () -> attempts.size() >= 2);
        Thread.sleep(3000);
        f.see("attempts", attempts);
    }

    private Stories() {
    }
}
