/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
    @Test
    void whatIsWrittenIsJson() {
        Map<String, Object> value = new LinkedHashMap<>();
        value.put("text", "a \"quoted\" \\ line\n\u0001 ö \ud83d\ude00");
        value.put("number", 12);
        value.put("fraction", 1.5);
        value.put("yes", true);
        value.put("none", null);
        value.put("list", Arrays.asList("a", null, List.of()));
        value.put("map", Map.of());
        value.put("infinite", Double.POSITIVE_INFINITY);
        assertEquals(
                "{\"text\":\"a \\\"quoted\\\" \\\\ line\\u000a\\u0001 ö \\ud83d\\ude00\",\"number\":12,\"fraction\":1.5,"
                        + "\"yes\":true,\"none\":null,\"list\":[\"a\",null,[]],\"map\":{},\"infinite\":\"Infinity\"}",
                Json.write(value));
    }

    @Test
    void whatIsReadKeepsNumbersAsTheirText() {
        Map<String, Object> read = Json.read(
                " {\"stored\": 12, \"lag_seconds\":null, \"x\":1.5e-3,\"s\":\"a\\u00f6\\n\\\"\\/\",\"l\":[1,{\"a\":true}]} ");
        Map<String, Object> expected = new LinkedHashMap<>();
        expected.put("stored", "12");
        expected.put("lag_seconds", null);
        expected.put("x", "1.5e-3");
        expected.put("s", "aö\n\"/");
        expected.put("l", List.of("1", Map.of("a", "true")));
        assertEquals(expected, read);
    }

    @Test
    void whatIsWrittenCanBeRead() {
        Map<String, Object> value = Map.of("a", "\u0000\ud83d\"\\", "b", List.of("x", Map.of("c", "d")));
        assertEquals(value, Json.read(Json.write(value)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "[]", "null", "\"text\"", "{", "{\"a\"", "{\"a\":", "{\"a\" 1}", "{} x", "{\"a\":\"b", "{a:1}"})
    void whatIsNotAnObjectIsRefused(String text) {
        assertThrows(IllegalArgumentException.class, () -> Json.read(text));
    }
}
