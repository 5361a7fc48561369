/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The daemon's REST call that publishes an event, and under /test what tests need. */
final class Rest {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final int THREADS = 32;

    private final Daemon daemon;
    private final HttpServer server;
    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    private final Runnable shutdown;

    Rest(Daemon daemon, int port, Runnable shutdown) throws IOException {
        this.daemon = daemon;
        this.shutdown = shutdown;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.createContext("/", this::handle);
        server.setExecutor(threads);
    }

    int start() {
        server.start();
        return server.getAddress().getPort();
    }

    void stop() {
        server.stop(0);
        threads.shutdown();
    }

    private void handle(HttpExchange exchange) throws IOException {
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        int status = 200;
        Object answer;
        try {
            answer = answer(exchange.getRequestMethod(), exchange.getRequestURI().getPath(), query(exchange), body);
            if (answer == null) {
                status = 404;
                answer = Map.of("error", "no such path");
            }
        } catch (Exception failed) {
            status = 400;
            answer = Map.of("error", String.valueOf(failed));
        }
        byte[] bytes = MAPPER.writeValueAsBytes(answer);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
        if (exchange.getRequestURI().getPath().equals("/test/shutdown")) {
            new Thread(shutdown, "shutdown").start();
        }
    }

    private static Map<String, String> query(HttpExchange exchange) {
        Map<String, String> parameters = new HashMap<>();
        String query = exchange.getRequestURI().getRawQuery();
        for (String pair : query == null ? new String[0] : query.split("&")) {
            String[] parts = pair.split("=", 2);
            parameters.put(parts[0], parts.length < 2 ? "" : URLDecoder.decode(parts[1], StandardCharsets.UTF_8));
        }
        return parameters;
    }

    private Object answer(String method, String path, Map<String, String> query, String body) throws Exception {
        if (daemon.era().publishPath().matcher(path).matches() && method.equals("POST")) {
            daemon.dispatch().publish(body);
            return Map.of("class", "VoidResponse", "relatedHTTPCode", 200);
        }
        return switch (method + " " + path) {
            case "GET /test/status" -> Map.of(
                    "serverName", daemon.serverName(), "era", daemon.era().name(), "connectors", daemon.status());
            case "GET /test/audit-log" -> daemon.records();
            case "GET /test/listener" -> daemon.second().state();
            case "POST /test/listener" -> throwing(query);
            case "POST /test/publish" -> load(query, body);
            case "POST /test/publish-bean" -> bean(body);
            case "POST /test/refresh" -> done(daemon::refresh);
            case "POST /test/restart" -> done(daemon::restart);
            case "POST /test/properties" -> done(() -> daemon.setProperties(query.get("name"), tree(body)));
            case "POST /test/endpoint" -> done(() -> daemon.setEndpoint(query.get("name"), body));
            case "POST /test/shutdown" -> Map.of("done", true);
            default -> null;
        };
    }

    private Object throwing(Map<String, String> query) {
        daemon.second().setThrowing(query.getOrDefault("throws", "true").equals("true"));
        return daemon.second().state();
    }

    private Object load(Map<String, String> query, String body) throws InterruptedException {
        int first = Integer.parseInt(query.getOrDefault("first", "0"));
        int copies = Integer.parseInt(query.getOrDefault("copies", "1"));
        int threadCount = Integer.parseInt(query.getOrDefault("threads", "1"));
        return Load.run(daemon.dispatch(), body, first, copies, threadCount);
    }

    private Object bean(String body) throws IOException {
        daemon.dispatch().publish(MAPPER.readValue(body, RunEvent.class));
        return Map.of("done", true);
    }

    private static JsonNode tree(String body) {
        try {
            return MAPPER.readTree(body);
        } catch (JsonProcessingException broken) {
            throw new IllegalArgumentException(broken);
        }
    }

    private static Object done(Runnable work) {
        work.run();
        return Map.of("done", true);
    }
}
