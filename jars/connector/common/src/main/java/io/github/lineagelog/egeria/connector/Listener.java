/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.connector;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The listener for OpenLineage events, made at run time: the interface is found by its name and the context's method by
 * its parameter type, because both have moved between the versions of Egeria.
 */
final class Listener implements InvocationHandler {
    /** Takes an event of a kind ({@code run}, {@code job}, {@code dataset}) as JSON, null when there is none. */
    interface Sink {
        void accept(String kind, String raw);
    }

    private static final Pattern PROCESS = Pattern.compile("processOpenLineage(\\w+)Event");
    private static final List<String> OBJECT_MAPPERS =
            List.of("com.fasterxml.jackson.databind.ObjectMapper", "tools.jackson.databind.ObjectMapper");

    private final Sink sink;

    private Listener(Sink sink) {
        this.sink = sink;
    }

    /**
     * Registers a listener that passes each event to the sink.
     *
     * @param context the object the daemon gave to the connector
     * @param className the listener interface
     * @throws ReflectiveOperationException when the interface, or a method of the context that takes it, is not there;
     *     an InvocationTargetException has as its cause what that method threw
     */
    static void register(Object context, String className, Sink sink) throws ReflectiveOperationException {
        Class<?> type = Class.forName(className, true, context.getClass().getClassLoader());
        Method register = Arrays.stream(context.getClass().getMethods())
                .filter(method -> method.getName().startsWith("register"))
                .filter(method -> Arrays.equals(method.getParameterTypes(), new Class<?>[] {type}))
                .findFirst()
                .orElseThrow(() -> new NoSuchMethodException(
                        context.getClass().getName() + " has no method that registers a " + className));
        Object listener = Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, new Listener(sink));
        register.invoke(context, listener);
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) {
        Matcher process = PROCESS.matcher(method.getName());
        if (process.matches() && arguments.length == 2) {
            String raw = arguments[1] == null ? asJson(arguments[0]) : (String) arguments[1];
            sink.accept(process.group(1).toLowerCase(Locale.ROOT), raw);
            return null;
        }
        return switch (method.getName()) {
            case "hashCode" -> System.identityHashCode(proxy);
            case "equals" -> proxy == arguments[0];
            case "toString" -> "lineagelog's OpenLineage listener";
            default -> null;
        };
    }

    /** The bean as the JSON that the daemon itself would make of it, by the Jackson of the platform. */
    private static String asJson(Object bean) {
        for (String className : bean == null ? List.<String>of() : OBJECT_MAPPERS) {
            try {
                Class<?> type = Class.forName(className, true, bean.getClass().getClassLoader());
                Object mapper = type.getDeclaredConstructor().newInstance();
                return (String) type.getMethod("writeValueAsString", Object.class).invoke(mapper, bean);
            } catch (ClassNotFoundException other) {
                continue;
            } catch (InvocationTargetException notJson) {
                return null;
            } catch (ReflectiveOperationException unknown) {
                continue;
            }
        }
        return null;
    }
}
