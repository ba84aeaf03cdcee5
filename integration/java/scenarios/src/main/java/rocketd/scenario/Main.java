package rocketd.scenario;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Runs scenarios against a name server: NAMESRV PREFIX [scenario ...]. For each it prints one line
 * <code>RESULT name OK|FAIL reason facts</code>, separated by tabs.
 */
public final class Main {
    private static final int AT_ONCE = 6;

    public static void main(String[] args) throws Exception {
        System.setProperty("rocketmq.client.logUseSlf4j", "false");
        Map<String, Scenario> all = new LinkedHashMap<>();
        OrderScenarios.add(all);
        RetryScenarios.add(all);
        DelayScenarios.add(all);
        TransactionScenarios.add(all);
        SendScenarios.add(all);
        BatchQueueScenarios.add(all);
        ConsumeScenarios.add(all);
        FilterScenarios.add(all);
        QueryScenarios.add(all);
        ReplyScenarios.add(all);
        RewindScenarios.add(all);
        TraceScenarios.add(all);
        Models.add(all);
        RestartScenarios.add(all);
        if (args.length < 2) {
            all.keySet().forEach(System.out::println);
            return;
        }
        ExecutorService pool = Executors.newFixedThreadPool(AT_ONCE);
        for (Map.Entry<String, Scenario> e : all.entrySet()) {
            if (args.length == 2 && (e.getKey().startsWith("restart_") || e.getKey().startsWith("killed_") || e.getKey().startsWith("with_"))) {
                continue;
            }
            if (args.length > 2 && !java.util.Arrays.asList(args).subList(2, args.length).contains(e.getKey())) {
                continue;
            }
            pool.submit(() -> one(args[0], args[1], e.getKey(), e.getValue()));
        }
        pool.shutdown();
        pool.awaitTermination(10, TimeUnit.MINUTES);
        System.exit(0);
    }

    private static void one(String namesrv, String prefix, String name, Scenario scenario) {
        Facts facts = new Facts();
        long start = System.currentTimeMillis();
        try (Env env = new Env(namesrv, prefix + "_" + name)) {
            scenario.run(env, facts);
        } catch (Throwable t) {
            java.io.StringWriter w = new java.io.StringWriter();
            t.printStackTrace(new java.io.PrintWriter(w));
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
