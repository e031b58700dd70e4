import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs many of Kafka's command-line tools one after the other in one process, because starting one costs seconds.
 *
 * In: per tool a line with its main class and a line per argument, then an empty line. Out: per tool a line with its exit code
 * and how many bytes of its own output and of its errors follow.
 */
public class RunTools {
    private static final class Exited extends Error {}

    /** Stays in place for good: some tools take hold of System.out once and for all. */
    private static final class Captured extends OutputStream {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int value) {
            if (exitCode == null) {
                bytes.write(value);
            }
        }

        @Override
        public synchronized void write(byte[] values, int from, int length) {
            if (exitCode == null) {
                bytes.write(values, from, length);
            }
        }

        synchronized byte[] take() {
            byte[] taken = bytes.toByteArray();
            bytes = new ByteArrayOutputStream();
            return taken;
        }
    }

    /** The first one counts: tools that catch everything exit again, and complain. */
    private static volatile Integer exitCode;

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        Captured out = new Captured();
        Captured err = new Captured();
        System.setOut(new PrintStream(out, true));
        System.setErr(new PrintStream(err, true));
        Exit.Procedure exit = (code, message) -> {
            if (exitCode == null) {
                exitCode = code;
            }
            throw new Exited();
        };
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (List<String> command = read(commands); command != null; command = read(commands)) {
            exitCode = null;
            run(command);
            int code = exitCode == null ? 0 : exitCode;
            byte[] told = out.take();
            byte[] failed = err.take();
            answers.write((code + " " + told.length + " " + failed.length + "\n").getBytes(StandardCharsets.UTF_8));
            answers.write(told);
            answers.write(failed);
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static List<String> read(BufferedReader commands) throws IOException {
        List<String> command = new ArrayList<>();
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            if (line.isEmpty()) {
                return command;
            }
            command.add(line);
        }
        return null;
    }

    private static void run(List<String> command) throws Exception {
        String[] arguments = command.subList(1, command.size()).toArray(new String[0]);
        try {
            Class.forName(command.get(0)).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException failure) {
            if (exitCode == null) {
                failure.getCause().printStackTrace();
                exitCode = 1;
            }
        }
    }
}
