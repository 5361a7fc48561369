/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** As much JSON as crosses the bridge: no library, because none is certain to be on every platform's class path. */
final class Json {
    private final String text;
    private int at = 0;

    private Json(String text) {
        this.text = text;
    }

    /** Writes maps, iterables, numbers, booleans, null; everything else as its text. */
    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value == null || value instanceof Boolean || isFinite(value)) {
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            String separator = "{";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(separator);
                quote(String.valueOf(entry.getKey()), out);
                out.append(':');
                write(entry.getValue(), out);
                separator = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> list) {
            out.append('[');
            String separator = "";
            for (Object item : list) {
                out.append(separator);
                write(item, out);
                separator = ",";
            }
            out.append(']');
        } else {
            quote(value.toString(), out);
        }
    }

    private static boolean isFinite(Object value) {
        return value instanceof Number number && Double.isFinite(number.doubleValue());
    }

    private static void quote(String value, StringBuilder out) {
        out.append('"');
        for (int index = 0; index < value.length(); index++) {
            char unit = value.charAt(index);
            if (unit == '"' || unit == '\\') {
                out.append('\\').append(unit);
            } else if (unit < ' ' || Character.isSurrogate(unit)) {
                out.append(String.format("\\u%04x", (int) unit));
            } else {
                out.append(unit);
            }
        }
        out.append('"');
    }

    /**
     * Reads a JSON object.
     *
     * @return its members; numbers and literals as their text, a null as null, nested values as maps and lists
     * @throws IllegalArgumentException if it is not an object
     */
    static Map<String, Object> read(String text) {
        Json json = new Json(text);
        try {
            if (json.value() instanceof Map<?, ?> map && json.peek() == 0) {
                Map<String, Object> members = new LinkedHashMap<>();
                map.forEach((key, value) -> members.put((String) key, value));
                return members;
            }
        } catch (StringIndexOutOfBoundsException cut) {
            throw new IllegalArgumentException("JSON that ends too early", cut);
        }
        throw new IllegalArgumentException("not a JSON object");
    }

    private char peek() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private boolean skip(char expected) {
        boolean found = peek() == expected;
        at += found ? 1 : 0;
        return found;
    }

    private Object value() {
        return switch (peek()) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> string();
            default -> literal();
        };
    }

    private Map<String, Object> object() {
        Map<String, Object> members = new LinkedHashMap<>();
        at++;
        while (!skip('}')) {
            peek();
            String key = string();
            if (!skip(':')) {
                throw new IllegalArgumentException("no colon at " + at);
            }
            members.put(key, value());
            skip(',');
        }
        return members;
    }

    private List<Object> array() {
        List<Object> items = new ArrayList<>();
        at++;
        while (!skip(']')) {
            items.add(value());
            skip(',');
        }
        return items;
    }

    private String literal() {
        int start = at;
        while (at < text.length() && "+-.".indexOf(text.charAt(at)) + 1 + letterOrDigit(text.charAt(at)) > 0) {
            at++;
        }
        if (at == start) {
            throw new IllegalArgumentException("no value at " + at);
        }
        String literal = text.substring(start, at);
        return literal.equals("null") ? null : literal;
    }

    private static int letterOrDigit(char unit) {
        return Character.isLetterOrDigit(unit) ? 1 : 0;
    }

    private String string() {
        if (text.charAt(at) != '"') {
            throw new IllegalArgumentException("no string at " + at);
        }
        StringBuilder out = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            out.append(text.charAt(at) == '\\' ? escape() : text.charAt(at));
        }
        at++;
        return out.toString();
    }

    private char escape() {
        char kind = text.charAt(++at);
        if (kind == 'u') {
            at += 4;
            return (char) Integer.parseInt(text.substring(at - 3, at + 1), 16);
        }
        int known = "bfnrt".indexOf(kind);
        return known < 0 ? kind : "\b\f\n\r\t".charAt(known);
    }
}
