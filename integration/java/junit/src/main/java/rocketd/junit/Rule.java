package rocketd.junit;

import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A rule that decides about requests until it is removed. Begin with {@link Rocketd#on} or {@link Rocketd#fault}, restrict it, and end
 * with what it does, which puts it in force.
 */
public final class Rule implements AutoCloseable {
    private final Rocketd mq;
    private final Map<String, Object> body = new LinkedHashMap<>();
    private final Map<String, Object> match = new LinkedHashMap<>();
    private long id;

    private Rule(Rocketd mq) {
        this.mq = mq;
        body.put("match", match);
    }

    static Rule on(Rocketd mq, String... codes) {
        Rule rule = new Rule(mq);
        List<String> list = Arrays.asList(codes);
        rule.body.put("on", list);
        return rule;
    }

    static Rule fault(Rocketd mq, String name) {
        Rule rule = new Rule(mq);
        rule.body.put("fault", name);
        return rule;
    }

    public Rule topic(String topic) {
        match.put("topic", topic);
        return this;
    }

    public Rule group(String group) {
        match.put("group", group);
        return this;
    }

    /** The client id of heartbeats: what a client sends before its first one has none. */
    public Rule client(String clientId) {
        match.put("client", clientId);
        return this;
    }

    /** "namesrv" or "broker". */
    public Rule server(String server) {
        match.put("server", server);
        return this;
    }

    /** Only the n-th request, from 1. */
    public Rule nth(long n) {
        match.put("nth", n);
        return this;
    }

    /** Only the first n requests. */
    public Rule first(long n) {
        match.put("first", n);
        return this;
    }

    /** All requests but the first n. */
    public Rule after(long n) {
        match.put("after", n);
        return this;
    }

    /** Puts a ready-made rule in force. */
    public Rule start() {
        Object made = mq.post("/v1/rules", body).get("id");
        id = ((Number) made).longValue();
        return this;
    }

    /** Answers with a response code, by name or number; the broker does not see the request. */
    public Rule fail(String code, String remark) {
        return then("fail", "code", code, "remark", remark);
    }

    /** Neither handled nor answered. */
    public Rule drop() {
        return then("drop");
    }

    /** The connection closes instead. */
    public Rule close(boolean midFrame) {
        return then(midFrame ? "closeMidFrame" : "close");
    }

    /** Handled so much later on the broker's clock. */
    public Rule delay(Duration by) {
        return then("", "delay", by.toMillis());
    }

    /** Handled; the answer is lost. */
    public Rule dropAnswer() {
        return then("dropAnswer");
    }

    /** Handled; the answer comes so much later on the broker's clock. */
    public Rule delayAnswer(Duration by) {
        return then("delayAnswer", "delay", by.toMillis());
    }

    /** Handled; the connection closes after so many bytes of the answer. */
    public Rule cutAnswer(int bytes) {
        return then("cutAnswer", "bytes", bytes);
    }

    /** Handled, and answered with an error all the same. */
    public Rule failAnswer(String code, String remark) {
        return then("failAnswer", "code", code, "remark", remark);
    }

    private Rule then(String what, Object... members) {
        Map<String, Object> then = new LinkedHashMap<>();
        then.put("do", what);
        for (int i = 0; i < members.length; i += 2) {
            then.put(members[i].toString(), members[i + 1]);
        }
        body.put("then", then);
        return start();
    }

    /** How many requests it has done something to. */
    public long hits() {
        return ((Number) mq.get("/v1/rules/" + id).get("hits")).longValue();
    }

    /** Waits until it has hit n requests. */
    public void awaitHits(long n) {
        Map<String, Object> condition = new LinkedHashMap<>();
        condition.put("id", id);
        condition.put("count", n);
        mq.await("rule", condition);
    }

    /** Removes it. */
    @Override
    public void close() {
        mq.call("DELETE", "/v1/rules/" + id, null);
    }
}
