/* SPDX-License-Identifier: Apache-2.0 */
package io.github.lineagelog.egeria.standin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A small integration daemon for tests, as Egeria's own cannot be had from Maven Central.
 *
 * <p>Configured by a JSON file, named by the first argument, the system property {@code standin.config} or the environment
 * variable {@code STANDIN_CONFIG}:
 *
 * <pre>
 * serverName      "standin"
 * port            0: any; always on the loopback address
 * portFile        a file to write the port to when the daemon is ready
 * connectors      [{"name": ..., "connection": {as in a daemon's configuration}}]
 * refreshSeconds  0: only when asked
 * synchronized    true: one event after the other, as the real dispatch does
 * secondListener  "none", "first" or "last": beside the connectors
 * failRegister    a text to throw when a listener is registered
 * failStart       a text to throw from main, as a platform that cannot start does
 * </pre>
 */
public final class StandIn {
    private static final AtomicBoolean STOPPED = new AtomicBoolean();

    private StandIn() {}

    /** Starts and returns, as a Spring Boot application does: the server's threads keep the JVM alive. */
    public static void main(String[] arguments) throws IOException {
        JsonNode config = new ObjectMapper().readTree(Files.readString(configFile(arguments)));
        if (config.has("failStart")) {
            throw new IllegalStateException(config.get("failStart").asText());
        }
        Era era = ServiceLoader.load(Era.class, StandIn.class.getClassLoader()).findFirst().orElseThrow();
        Daemon daemon = new Daemon(era, config);
        Rest[] rest = new Rest[1];
        rest[0] = new Rest(daemon, config.path("port").asInt(0), () -> stop(daemon, rest[0]));
        daemon.start();
        int port = rest[0].start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(daemon, rest[0]), "shutdown-hook"));
        if (config.has("portFile")) {
            announce(Path.of(config.get("portFile").asText()), port);
        }
        System.out.println("stand-in daemon for Egeria " + era.name() + " on http://127.0.0.1:" + port);
    }

    private static Path configFile(String[] arguments) {
        String named = arguments.length > 0 ? arguments[0] : System.getProperty("standin.config");
        return Path.of(named == null ? System.getenv("STANDIN_CONFIG") : named);
    }

    /** The file appears with its content, never empty. */
    private static void announce(Path file, int port) throws IOException {
        Path draft = file.resolveSibling(file.getFileName() + ".draft");
        Files.writeString(draft, Integer.toString(port));
        Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
    }

    private static void stop(Daemon daemon, Rest rest) {
        if (STOPPED.compareAndSet(false, true)) {
            daemon.stop();
            rest.stop();
        }
    }
}
