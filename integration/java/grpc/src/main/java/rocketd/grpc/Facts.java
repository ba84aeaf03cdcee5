package rocketd.grpc;

import java.util.Map;
import java.util.TreeMap;

/** What a client saw in one scenario, as named values free of times, ids and addresses. */
final class Facts {
    private final Map<String, String> seen = new TreeMap<>();
    private final StringBuilder broken = new StringBuilder();

    synchronized void see(String name, Object value) {
        seen.put(name, String.valueOf(value).replaceAll("[\\t\\r\\n]", " "));
    }

    /** Records a rule that must hold on any broker; a broken one fails the scenario. */
    synchronized void must(boolean holds, String rule) {
        if (!holds) {
            broken.append(broken.length() == 0 ? "" : "; ").append(rule.replaceAll("[\\t\\r\\n]", " "));
        }
    }

    synchronized String broken() {
        return broken.toString();
    }

    @Override
    public synchronized String toString() {
        StringBuilder s = new StringBuilder();
        for (Map.Entry<String, String> e : seen.entrySet()) {
            s.append(s.length() == 0 ? "" : "\t").append(e.getKey()).append('=').append(e.getValue());
        }
        return s.toString();
    }
}
