package rocketd.junit;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A rocketd that runs for tests: where clients find it, and its control API (GET /openapi.yaml there). {@link RocketdExtension} starts one;
 * {@link #connect} takes one that runs already, in a container for example. Safe for concurrent use.
 */
public final class Rocketd {
    private final String control;
    private volatile Duration timeout = Duration.ofSeconds(20);

    private Rocketd(String control) {
        this.control = control;
    }

    /** Takes a rocketd whose control API is at a URL such as http://127.0.0.1:9877. */
    public static Rocketd connect(String control) {
        return new Rocketd(control.endsWith("/") ? control.substring(0, control.length() - 1) : control);
    }

    /** The HOST:PORT of the name server, for clients on this machine. */
    public String namesrv() {
        return status().get("namesrv").toString();
    }

    /** The HOST:PORT that clients are told to reach the broker at. */
    public String broker() {
        return status().get("broker").toString();
    }

    /** How long the waits wait in real time before they fail; 20 s at first. */
    public void setTimeout(Duration timeout) {
        this.timeout = timeout;
    }

    // The clock.

    /** The time on the broker's clock. */
    public Instant now() {
        return OffsetDateTime.parse(status().get("now").toString()).toInstant();
    }

    /** Moves the clock forward. Delayed and timed messages that become due are delivered when it returns. */
    public void advance(Duration by) {
        post("/v1/clock", map("advance", by.toMillis()));
    }

    /** Sets the clock. */
    public void setTime(Instant to) {
        post("/v1/clock", map("set", to.toString()));
    }

    /** Lets the clock stand still. */
    public void freeze() {
        post("/v1/clock", map("freeze", true));
    }

    /** Lets the clock follow real time. */
    public void run() {
        post("/v1/clock", map("run", true));
    }

    // Topics, groups and messages.

    /** Creates topics: NAME, NAME:QUEUES, or with ,FIELD=VALUE. */
    public void createTopics(String... names) {
        post("/v1/topics", map("names", Arrays.asList(names)));
    }

    /** Creates consumer groups: NAME or NAME:RETRY_MAX_TIMES. */
    public void createGroups(String... names) {
        post("/v1/groups", map("names", Arrays.asList(names)));
    }

    /** Sends a message without a client; rules do not see it. */
    public StoredMessage send(String topic, byte[] body, String tags, String keys) {
        Map<String, Object> m = map("topic", topic);
        m.put("bodyBase64", Base64.getEncoder().encodeToString(body));
        m.put("tags", tags);
        m.put("keys", keys);
        return messages(post("/v1/messages", map("messages", Collections.singletonList(m)))).get(0);
    }

    /** All stored messages of a topic, in the order of their storing. */
    public List<StoredMessage> messages(String topic) {
        return messages(get("/v1/messages?topic=" + encode(topic)));
    }

    /** Messages that wait for their delay level, soonest first. */
    public List<StoredMessage> delayed() {
        return messages(get("/v1/pending"), "delayed");
    }

    /** How many messages a group has not consumed; -1 while the group is unknown. */
    public long lag(String group) {
        return ((Number) get("/v1/groups/" + encode(group)).get("lag")).longValue();
    }

    // Faults.

    /** Begins a rule about request codes, by name or number, or about "send", "pull" or "every" request. */
    public Rule on(String... codes) {
        return Rule.on(this, codes);
    }

    /**
     * Begins a ready-made rule, which {@link Rule#start} puts in force: busy, loseSendAnswers, breakSendAnswers, namesrvAway, staleRoute,
     * noRoute, flapConsumers.
     */
    public Rule fault(String name) {
        return Rule.fault(this, name);
    }

    /** Removes all rules and ends the disk's faults. */
    public void heal() {
        act("heal");
    }

    /** Forgets everything: topics, groups, offsets and messages are as at the start. The clock is left alone. */
    public void reset() {
        act("reset");
    }

    /** Ends the broker as kill -9 does; {@link #resume} starts it again with what it had written. */
    public void kill() {
        act("kill");
    }

    /** Stops the broker in order. */
    public void stop() {
        act("stop");
    }

    /** Starts the broker again, on the same address. */
    public void resume() {
        act("resume");
    }

    /** Stops the broker in order and starts it again. */
    public void restart() {
        act("restart");
    }

    /** Takes the queue locks of an orderly consumer group from their owners, and tells how many there were. */
    public int expireLocks(String group) {
        Map<String, Object> body = map("do", "expireLocks");
        body.put("group", group);
        return ((Number) post("/v1/actions", body).get("count")).intValue();
    }

    /** Tells the members of a consumer group that their number has changed: they share the queues out anew. */
    public void notifyConsumers(String group) {
        Map<String, Object> body = map("do", "notifyConsumers");
        body.put("group", group);
        post("/v1/actions", body);
    }

    /** Closes the connections of a client id, and tells how many there were. */
    public int closeClient(String clientId) {
        Map<String, Object> body = map("do", "closeClient");
        body.put("client", clientId);
        return ((Number) post("/v1/actions", body).get("count")).intValue();
    }

    /** Lets every write and sync of the commit log take so long, on the broker's clock, until {@link #heal}. */
    public void slowDisk(Duration by) {
        Map<String, Object> body = map("do", "slowDisk");
        body.put("delay", by.toMillis() + "ms");
        post("/v1/actions", body);
    }

    /** Ends the broker as a loss of power does: of what was not synced the seed chooses what is left. {@link #resume} starts it again. */
    public void powerLoss(long seed) {
        Map<String, Object> body = map("do", "powerLoss");
        body.put("seed", seed);
        post("/v1/actions", body);
    }

    /** Tells clients another HOST:PORT to reach the broker at: for containers, whose port outside is known only when they run. */
    public void advertise(String hostAndPort) {
        Map<String, Object> body = map("do", "advertise");
        body.put("address", hostAndPort);
        post("/v1/actions", body);
    }

    /** Any action of the control API that takes no more than its name: stopNamesrv, resumeNamesrv, failFlush, fillDisk, healDisk … */
    public void act(String what) {
        post("/v1/actions", map("do", what));
    }

    // Waits. They fail with a RocketdException that tells what was seen instead.

    /** Waits until a consumer group has n members. */
    public void awaitMembers(String group, int n) {
        await("members", count("group", group, n));
    }

    /** Waits until a producer group has n connections: only those are asked about transactions. */
    public void awaitProducers(String group, int n) {
        await("producers", count("group", group, n));
    }

    /** Waits until a group has at most n messages to consume. */
    public void awaitLag(String group, long n) {
        await("lag", count("group", group, n));
    }

    /** Waits until a topic has at least n messages, and gives them. */
    public List<StoredMessage> awaitMessages(String topic, int n) {
        return messages(await("messages", count("topic", topic, n)));
    }

    /** Waits until n messages wait for their delay level, and gives them. */
    public List<StoredMessage> awaitDelayed(int n) {
        return messages(await("delayed", map("count", n)));
    }

    /** Waits until n transactions are neither committed nor rolled back. */
    public void awaitUndecided(int n) {
        await("undecided", map("count", n));
    }

    /** A text about the broker for failed tests: topics, groups, what waits, the last exchanges. */
    public String seen() {
        return get("/v1/seen").get("seen").toString();
    }

    /** The last exchanges on the wire as the control API gives them, oldest first. */
    @SuppressWarnings("unchecked")
    public List<Map<String, Object>> journal() {
        return (List<Map<String, Object>>) get("/v1/journal").get("exchanges");
    }

    Map<String, Object> await(String condition, Map<String, Object> what) {
        Map<String, Object> body = map("timeout", timeout.toMillis());
        body.put(condition, what);
        return post("/v1/waits", body);
    }

    private Map<String, Object> status() {
        return get("/v1/status");
    }

    Map<String, Object> get(String path) {
        return call("GET", path, null);
    }

    Map<String, Object> post(String path, Map<String, Object> body) {
        return call("POST", path, Json.write(body));
    }

    @SuppressWarnings("unchecked")
    Map<String, Object> call(String method, String path, String body) {
        try {
            HttpURLConnection c = (HttpURLConnection) new URL(control + path).openConnection();
            c.setRequestMethod(method);
            if (body != null) {
                c.setDoOutput(true);
                c.setRequestProperty("Content-Type", "application/json");
                try (OutputStream out = c.getOutputStream()) {
                    out.write(body.getBytes(StandardCharsets.UTF_8));
                }
            }
            int status = c.getResponseCode();
            InputStream in = status == 200 ? c.getInputStream() : c.getErrorStream();
            Map<String, Object> answer = (Map<String, Object>) Json.read(all(in));
            if (status != 200) {
                Object seen = answer.get("seen");
                throw new RocketdException(status, answer.get("error") + (seen == null ? "" : "\n" + seen), null);
            }
            return answer;
        } catch (IOException e) {
            throw new RocketdException(0, method + " " + control + path + ": " + e, e);
        }
    }

    private static String all(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] buffer = new byte[8192];
        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
            out.write(buffer, 0, n);
        }
        in.close();
        return new String(out.toByteArray(), StandardCharsets.UTF_8);
    }

    private static List<StoredMessage> messages(Map<String, Object> answer) {
        return messages(answer, "messages");
    }

    @SuppressWarnings("unchecked")
    private static List<StoredMessage> messages(Map<String, Object> answer, String member) {
        List<StoredMessage> out = new ArrayList<>();
        Object list = answer.get(member);
        if (list != null) {
            for (Object m : (List<Object>) list) {
                out.add(new StoredMessage((Map<String, Object>) m));
            }
        }
        return out;
    }

    private static Map<String, Object> map(String key, Object value) {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put(key, value);
        return out;
    }

    private static Map<String, Object> count(String key, String name, long n) {
        Map<String, Object> out = map(key, name);
        out.put("count", n);
        return out;
    }

    private static String encode(String text) {
        try {
            return URLEncoder.encode(text, "UTF-8").replace("+", "%20");
        } catch (java.io.UnsupportedEncodingException e) {
            throw new IllegalStateException(e);
        }
    }
}
