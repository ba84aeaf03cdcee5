package rocketd.grpc;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Runs stories against a proxy: ENDPOINT PREFIX [story ...]. For each it prints one line
 * <code>RESULT name OK|FAIL reason facts</code>, separated by tabs. Topics and groups are there before:
 * PREFIX_STORY_KIND and G_PREFIX_STORY.
 */
public final class Main {
    private static final int AT_ONCE = 16;

    public static void main(String[] args) throws Exception {
        Map<String, Story> all = new LinkedHashMap<>();
        Stories.add(all);
        ExecutorService pool = Executors.newFixedThreadPool(AT_ONCE);
        for (Map.Entry<String, Story> e : all.entrySet()) {
            if (args.length > 2 && !Arrays.asList(args).subList(2, args.length).contains(e.getKey())) {
                continue;
            }
            pool.submit(() -> one(args[0], args[1], e.getKey(), e.getValue()));
        }
        pool.shutdown();
        pool.awaitTermination(10, TimeUnit.MINUTES);
        System.exit(0);
    }

    private static void one(String endpoint, String prefix, String name, Story story) {
        Facts facts = new Facts();
        long start = System.currentTimeMillis();
        try (Session session = new Session(endpoint, prefix, name)) {
            story.run(session, facts);
        } catch (Throwable t) {
            StringWriter w = new StringWriter();
            t.printStackTrace(new PrintWriter(w));
            System.err.println(name + ": " + w);
            facts.must(false, t.toString());
        }
        String reason = facts.broken();
        synchronized (System.out) {
            System.out.println("RESULT\t" + name + "\t" + (reason.isEmpty() ? "OK" : "FAIL") + "\t" + reason + "\t" + facts);
            System.out.flush();
        }
        System.err.println(name + ": " + (System.currentTimeMillis() - start) + " ms");
    }

    private Main() {
    }
}
