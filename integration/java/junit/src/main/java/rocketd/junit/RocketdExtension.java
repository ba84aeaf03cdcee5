package rocketd.junit;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;

/**
 * Starts rocketd test before the tests of a class, on free ports and in memory, and stops it after them. Before each test it is reset:
 * topics, groups and messages are as at the start. Tests take the {@link Rocketd} as a parameter. A failed test shows what the broker saw.
 *
 * <pre>
 * &#64;RegisterExtension
 * static final RocketdExtension mq = new RocketdExtension().topic("orders:4").group("shop");
 * </pre>
 *
 * The program is that of the system property rocketd.binary, else of the environment variable ROCKETD_BINARY, else rocketd on the PATH.
 */
public final class RocketdExtension implements BeforeAllCallback, AfterAllCallback, BeforeEachCallback, ParameterResolver, TestExecutionExceptionHandler {
    private final List<String> arguments = new ArrayList<>();
    private boolean reset = true;
    private Process process;
    private Rocketd rocketd;

    /** A topic to create, NAME or NAME:QUEUES. */
    public RocketdExtension topic(String name) {
        return with("--topic", name);
    }

    /** A consumer group to create, NAME or NAME:RETRY_MAX_TIMES. */
    public RocketdExtension group(String name) {
        return with("--group", name);
    }

    /** A configuration key, with Apache's name. */
    public RocketdExtension set(String key, String value) {
        return with("--set", key + "=" + value);
    }

    /** Behaves as an older release line: "4.9". */
    public RocketdExtension emulate(String version) {
        return with("--emulate", version);
    }

    /** Lets the clock stand still until it is moved. */
    public RocketdExtension frozen() {
        return with("--frozen");
    }

    /** Any arguments of rocketd test. */
    public RocketdExtension with(String... more) {
        arguments.addAll(Arrays.asList(more));
        return this;
    }

    /** Keeps what is there from one test of the class to the next. */
    public RocketdExtension keep() {
        reset = false;
        return this;
    }

    /** The running rocketd. */
    public Rocketd rocketd() {
        if (rocketd == null) {
            throw new IllegalStateException("rocketd is not running: register the extension in a static field");
        }
        return rocketd;
    }

    @Override
    public void beforeAll(ExtensionContext context) throws IOException {
        List<String> command = new ArrayList<>(Arrays.asList(binary(), "test", "--namesrv-port", "0", "--broker-port", "0",
            "--control", "127.0.0.1:0", "--stop-with-stdin"));
        command.addAll(arguments);
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String ready = out.readLine();
        if (ready == null || !ready.startsWith("ready ")) {
            process.destroy();
            throw new IOException(command + " did not get ready: " + ready);
        }
        for (String field : ready.split(" ")) {
            if (field.startsWith("control=")) {
                rocketd = Rocketd.connect(field.substring("control=".length()));
            }
        }
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        if (reset) {
            rocketd().reset();
        }
    }

    @Override
    public void afterAll(ExtensionContext context) throws Exception {
        if (process == null) {
            return;
        }
        process.getOutputStream().close(); // it stops with its standard input
        if (!process.waitFor(10, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
        process = null;
        rocketd = null;
    }

    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        if (rocketd != null && !(failure instanceof RocketdException)) {
            try {
                System.err.println(context.getDisplayName() + " failed. What rocketd saw:\n" + rocketd.seen());
            } catch (RocketdException e) {
                failure.addSuppressed(e);
            }
        }
        throw failure;
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == Rocketd.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return rocketd();
    }

    /** Whether there is a program to run; without one the tests of this module are left out. */
    static boolean available() {
        String binary = configured();
        if (binary != null) {
            return new File(binary).canExecute();
        }
        for (String dir : String.valueOf(System.getenv("PATH")).split(File.pathSeparator)) {
            if (new File(dir, "rocketd").canExecute() || new File(dir, "rocketd.exe").canExecute()) {
                return true;
            }
        }
        return false;
    }

    private static String binary() {
        String binary = configured();
        return binary == null ? "rocketd" : binary;
    }

    private static String configured() {
        String property = System.getProperty("rocketd.binary");
        return property != null ? property : System.getenv("ROCKETD_BINARY");
    }
}
