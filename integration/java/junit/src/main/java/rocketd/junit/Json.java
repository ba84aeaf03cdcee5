package rocketd.junit;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads and writes JSON as Map, List, String, Long, Double, Boolean and null, so that the module needs no library. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Reads one value. */
    static Object read(String text) {
        Json reader = new Json(text);
        Object value = reader.value();
        reader.blanks();
        if (reader.at != text.length()) {
            throw reader.wrong("more text");
        }
        return value;
    }

    /** Writes a value; maps keep their order, null members are left out. */
    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        append(out, value);
        return out.toString();
    }

    private static void append(StringBuilder out, Object value) {
        if (value instanceof Map) {
            char before = '{';
            for (Map.Entry<?, ?> e : ((Map<?, ?>) value).entrySet()) {
                if (e.getValue() != null) {
                    out.append(before);
                    text(out, String.valueOf(e.getKey()));
                    out.append(':');
                    append(out, e.getValue());
                    before = ',';
                }
            }
            out.append(before == '{' ? "{}" : "}");
        } else if (value instanceof Iterable) {
            char before = '[';
            for (Object element : (Iterable<?>) value) {
                out.append(before);
                append(out, element);
                before = ',';
            }
            out.append(before == '[' ? "[]" : "]");
        } else if (value instanceof Number || value instanceof Boolean || value == null) {
            out.append(value);
        } else {
            text(out, value.toString());
        }
    }

    private static void text(StringBuilder out, String s) {
        out.append('"');
        for (int i = 0; i < s.length(); i++) {
            char c = s.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    private Object value() {
        blanks();
        switch (peek()) {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return string();
            default:
                return word();
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> out = new LinkedHashMap<>();
        at++;
        blanks();
        while (peek() != '}') {
            String key = string();
            blanks();
            expect(':');
            out.put(key, value());
            blanks();
            if (peek() == ',') {
                at++;
                blanks();
            }
        }
        at++;
        return out;
    }

    private List<Object> array() {
        List<Object> out = new ArrayList<>();
        at++;
        blanks();
        while (peek() != ']') {
            out.add(value());
            blanks();
            if (peek() == ',') {
                at++;
                blanks();
            }
        }
        at++;
        return out;
    }

    private String string() {
        expect('"');
        StringBuilder out = new StringBuilder();
        while (peek() != '"') {
            char c = text.charAt(at++);
            if (c != '\\') {
                out.append(c);
                continue;
            }
            c = peek();
            at++;
            switch (c) {
                case 'n':
                    out.append('\n');
                    break;
                case 't':
                    out.append('\t');
                    break;
                case 'r':
                    out.append('\r');
                    break;
                case 'b':
                    out.append('\b');
                    break;
                case 'f':
                    out.append('\f');
                    break;
                case 'u':
                    if (at + 4 > text.length()) {
                        throw wrong("the end");
                    }
                    out.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                    at += 4;
                    break;
                default:
                    out.append(c);
            }
        }
        at++;
        return out.toString();
    }

    private Object word() {
        int from = at;
        while (at < text.length() && "+-.eE0123456789abcdefghijklmnopqrstuvwxyz".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String word = text.substring(from, at);
        switch (word) {
            case "true":
                return true;
            case "false":
                return false;
            case "null":
                return null;
            default:
        }
        try {
            if (word.matches("-?[0-9]+")) {
                return Long.parseLong(word);
            }
            return Double.parseDouble(word);
        } catch (NumberFormatException e) {
            throw wrong("'" + word + "'");
        }
    }

    private char peek() {
        if (at >= text.length()) {
            throw wrong("the end");
        }
        return text.charAt(at);
    }

    private void expect(char c) {
        if (peek() != c) {
            throw wrong("'" + peek() + "' instead of '" + c + "'");
        }
        at++;
    }

    private void blanks() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }

    private IllegalArgumentException wrong(String what) {
        return new IllegalArgumentException("JSON: " + what + " at " + at + " of " + text);
    }
}
