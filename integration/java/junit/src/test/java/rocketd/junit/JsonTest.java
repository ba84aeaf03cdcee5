package rocketd.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;

import org.junit.jupiter.api.Test;

class JsonTest {
    @Test
    void readsWhatItWrites() {
        String text = "{\"a\":[1,-2,\"x\\\"\\\\y\",true,false,{\"b\":{}},[]],\"c\":\"\\u0001ü\",\"d\":4294967296}";
        assertEquals(text, Json.write(Json.read(text)));
    }

    @Test
    void readsAllEscapes() {
        assertEquals("a\n\t\r\b\f/ü", ((Map<?, ?>) Json.read(" { \"k\" : \"a\\n\\t\\r\\b\\f\\/\\u00fc\" } ")).get("k"));
        assertEquals(1.5e3, Json.read("1.5e3"));
    }

    @Test
    void refusesWhatIsNone() {
        for (String text : new String[] {"", "{", "[1", "\"x", "{\"a\"}", "{a:1}", "nil", "1 2", "\"\\u00"}) {
            assertThrows(IllegalArgumentException.class, () -> Json.read(text), text);
        }
    }
}
