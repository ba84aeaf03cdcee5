package rocketd.admin;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Runs mqadmin's sub-commands one after the other in one JVM. A line on the standard input is a time limit in milliseconds and the arguments, tab separated;
 * what the command printed comes back, then a line with one SOH character. Words that begin with @ are not mqadmin's: they are the clients that the commands show.
 */
public final class Driver {
    private static final PrintStream OUT = System.out;
    private static final List<DefaultMQPushConsumer> CONSUMERS = new ArrayList<>();
    private static DefaultMQProducer producer;

    private Driver() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t", -1);
            OUT.write(run(Long.parseLong(words[0]), Arrays.copyOfRange(words, 1, words.length)));
            OUT.print("\n\u0001\n");
            OUT.flush();
        }
        for (DefaultMQPushConsumer c : CONSUMERS) {
            c.shutdown();
        }
        if (producer != null) {
            producer.shutdown();
        }
        System.exit(0);
    }

    private static byte[] run(long limitMs, final String[] args) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream print = new PrintStream(bytes, true, "UTF-8");
        System.setOut(print);
        System.setErr(print);
        Thread worker = new Thread(() -> {
            try {
                if (args[0].startsWith("@")) {
                    client(args);
                    return;
                }
                Admin.run(args);
            } catch (Throwable e) {
                e.printStackTrace();
            }
        });
        worker.setDaemon(true);
        worker.start();
        long end = System.currentTimeMillis() + limitMs;
        while (worker.isAlive() && System.currentTimeMillis() < end) {
            worker.join(20);
            hurryShutdown(worker);
        }
        synchronized (print) {
            PrintStream nowhere = new PrintStream(new ByteArrayOutputStream());
            System.setOut(nowhere);
            System.setErr(nowhere);
        }
        if (worker.isAlive()) { // some commands go on for ever
            worker.interrupt();
            for (int i = 0; i < 250 && worker.isAlive(); i++) {
                worker.join(20);
                hurryShutdown(worker);
            }
        }
        return bytes.toByteArray();
    }

    /** The shutdown of each client waits up to 3 s for a thread that polls. */
    private static void hurryShutdown(Thread worker) {
        for (StackTraceElement frame : worker.getStackTrace()) {
            if (!frame.getClassName().endsWith(".NettyRemotingClient") || !frame.getMethodName().equals("shutdown")) {
                continue;
            }
            for (Thread t : Thread.getAllStackTraces().keySet()) {
                if (t.getName().startsWith("NettyEventExecutor")) {
                    t.interrupt();
                }
            }
            return;
        }
    }

    private static void client(String[] a) throws Exception {
        switch (a[0]) {
            case "@send": // namesrv, group, topic, key prefix, tag, count: one message to each queue by turns
                send(a[1], a[2], a[3], a[4], a[5], Integer.parseInt(a[6]));
                return;
            case "@consume": // namesrv, group, topic, count: returns when so many messages have come
                consume(a[1], a[2], a[3], Integer.parseInt(a[4]));
                return;
            case "@leave": // all consumers
                for (DefaultMQPushConsumer c : CONSUMERS) {
                    c.shutdown();
                }
                CONSUMERS.clear();
                return;
            default:
                throw new IllegalArgumentException(a[0]);
        }
    }

    private static void send(String namesrv, String group, String topic, String keys, String tag, int count) throws Exception {
        if (producer == null) {
            producer = new DefaultMQProducer(group);
            producer.setNamesrvAddr(namesrv);
            producer.setInstanceName("seed");
            producer.setSendMsgTimeout(10000);
            producer.start();
        }
        List<MessageQueue> queues = producer.fetchPublishMessageQueues(topic);
        queues.sort(null);
        for (int i = 0; i < count; i++) {
            Message m = new Message(topic, tag, keys + i, ("body of " + keys + i).getBytes("UTF-8"));
            SendResult r = producer.send(m, queues.get(i % queues.size()));
            System.out.println(r.getMsgId() + " " + r.getOffsetMsgId() + " " + r.getMessageQueue().getQueueId() + " " + r.getQueueOffset());
        }
    }

    private static void consume(String namesrv, String group, String topic, int count) throws Exception {
        final AtomicInteger seen = new AtomicInteger();
        DefaultMQPushConsumer c = new DefaultMQPushConsumer(group);
        c.setNamesrvAddr(namesrv);
        c.setInstanceName("seed-" + group);
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        c.setPersistConsumerOffsetInterval(500);
        c.subscribe(topic, "*");
        c.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            seen.addAndGet(messages.size());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.start();
        CONSUMERS.add(c);
        while (seen.get() < count) {
            Thread.sleep(20);
        }
        c.getDefaultMQPushConsumerImpl().getOffsetStore().persistAll(c.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet());
        // What came behind the last one waited for is a matter of time.
        System.out.println(count);
    }

    private static final class Admin extends MQAdminStartup {
        static void run(String[] args) {
            SUB_COMMANDS.clear();
            main0(args, null);
        }
    }
}
