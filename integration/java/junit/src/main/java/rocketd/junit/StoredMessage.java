package rocketd.junit;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** A message that the broker has stored. */
public final class StoredMessage {
    private final Map<String, Object> json;

    StoredMessage(Map<String, Object> json) {
        this.json = json;
    }

    public String topic() {
        return text("topic");
    }

    public int queueId() {
        return (int) number("queueId");
    }

    public long queueOffset() {
        return number("queueOffset");
    }

    /** The producer's message id. */
    public String id() {
        return text("id");
    }

    public String tags() {
        return text("tags");
    }

    public String keys() {
        return text("keys");
    }

    public int reconsumeTimes() {
        return (int) number("reconsumeTimes");
    }

    /** When it was stored, on the broker's clock; null for one that was just sent. */
    public Instant storeTime() {
        return time("storeTime");
    }

    /** When it is due, for one that waits for its delay level; else null. */
    public Instant due() {
        return time("due");
    }

    public byte[] body() {
        Object raw = json.get("bodyBase64");
        return raw != null ? Base64.getDecoder().decode(raw.toString()) : text("body").getBytes(StandardCharsets.UTF_8);
    }

    public String bodyText() {
        return new String(body(), StandardCharsets.UTF_8);
    }

    /** All other properties. */
    public Map<String, String> properties() {
        Map<String, String> out = new LinkedHashMap<>();
        Object raw = json.get("properties");
        if (raw instanceof Map) {
            for (Map.Entry<?, ?> e : ((Map<?, ?>) raw).entrySet()) {
                out.put(e.getKey().toString(), String.valueOf(e.getValue()));
            }
        }
        return Collections.unmodifiableMap(out);
    }

    @Override
    public String toString() {
        return topic() + "/" + queueId() + "@" + queueOffset() + " " + bodyText();
    }

    private String text(String name) {
        Object value = json.get(name);
        return value == null ? "" : value.toString();
    }

    private long number(String name) {
        Object value = json.get(name);
        return value instanceof Number ? ((Number) value).longValue() : 0;
    }

    private Instant time(String name) {
        Object value = json.get(name);
        return value == null ? null : java.time.OffsetDateTime.parse(value.toString()).toInstant();
    }
}
