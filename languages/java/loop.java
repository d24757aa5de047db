// loop.java: times the code of a snippet, Java. The protocol is that of languages/README.md, on descriptors 3 and 4.
//
// The set-up and the body are in main(), so the body may change the set-up's variables; HotSpot compiles the loop while
// it runs. The prelude may import and declare classes, whose static methods serve as functions. keep(value) stores the
// value where others could see it. Every iteration has a fence, which emits no instruction on x86: it keeps an empty
// loop, and heap loads and stores are not merged across it. As with any such harness, arithmetic on local
// variables alone may be hoisted: read them from a volatile field.
//
// Context switches and page faults are 0, hence `switches=unknown`: Java does not report them. Neither does it the number of its
// thread, which is not the process's first: Linux does. User time comes in kernel ticks (10 ms), so the
// split is only right in the long run; the sum is exact.
import java.io.*;
import java.lang.invoke.VarHandle;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;

{{prelude}}

class Snippet {
    static long keptNumber;
    static double keptFraction;
    static boolean keptTruth;
    static Object keptObject;

    static void keep(long value) { keptNumber = value; }
    static void keep(double value) { keptFraction = value; }
    static void keep(boolean value) { keptTruth = value; }
    static void keep(Object value) { keptObject = value; }

    public static void main(String[] syscostArguments) throws Throwable {
        {{setup}}
        ;
        SyscostRequests syscostRequests = new SyscostRequests();
        for (long syscostN; (syscostN = syscostRequests.next()) > 0; ) {
            long syscostI = 0;
            long syscostStart = System.nanoTime();
            for (; syscostI < syscostN; syscostI++) {
                VarHandle.acquireFence();
                {{body}}
            }
            syscostRequests.done(System.nanoTime() - syscostStart, syscostI);
        }
        System.exit(0); // even if a thread of the body's lives on
    }
}

/** Returns the length of the next batch: first those of the warm-up, then the requested ones. */
final class SyscostRequests {
    private static final long WARM_UP_NS = 300_000_000;
    private static final long SHORT_NS = 1_000_000;

    private final BufferedReader requests = new BufferedReader(new InputStreamReader(new FileInputStream(open(3))));
    private final FileOutputStream replies = new FileOutputStream(open(4));
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final long started = System.nanoTime();
    private boolean warm;
    private long n = 1;
    private long[] batches = new long[0];
    private int batch;
    private long cpu, user;

    SyscostRequests() throws Exception {}

    /** By number and not as /dev/fd/N, which would be a descriptor of its own. */
    private static FileDescriptor open(int number) throws Exception {
        var constructor = FileDescriptor.class.getDeclaredConstructor(int.class);
        constructor.setAccessible(true);
        return constructor.newInstance(number);
    }

    /** Iterations of the next batch; 0 at the end of input. */
    long next() throws IOException {
        if (!warm && System.nanoTime() - started < WARM_UP_NS) return n;
        if (!warm) ready();
        return batch < batches.length || request() ? n : 0;
    }

    void done(long ns, long iterations) {
        if (iterations < n) fail("the body left the loop around it");
        if (warm) {
            batches[batch++] = ns;
        } else if (ns < SHORT_NS) {
            n *= 2;
        }
    }

    private void ready() throws IOException {
        warm = true;
        user = threads.getCurrentThreadUserTime();
        long ms = (System.nanoTime() - started) / 1_000_000;
        put("ready pid=" + ProcessHandle.current().pid() + " warmed_ms=" + ms + " switches=unknown" + thread() + "\n");
    }

    private static String thread() {
        try {
            return " tid=" + Path.of("/proc/thread-self").toRealPath().getFileName();
        } catch (IOException elsewhere) {
            return "";
        }
    }

    /** Answers the last request, if there was one, and reads the next; false at the end of input. */
    private boolean request() throws IOException {
        if (batches.length > 0) reply();
        String line = requests.readLine();
        if (line == null) return false;
        String[] words = line.split(" ");
        n = Long.parseLong(words[0]);
        batches = new long[Integer.parseInt(words[1])];
        batch = 0;
        cpu = threads.getCurrentThreadCpuTime();
        return true;
    }

    private void reply() throws IOException {
        long used = threads.getCurrentThreadCpuTime() - cpu;
        long inUser = Math.max(0, Math.min(used, threads.getCurrentThreadUserTime() - user));
        user += inUser;
        var text = new StringBuilder();
        for (long ns : batches) text.append(ns).append(" 0\n");
        put(text + "total " + inUser + " " + (used - inUser) + " 0 0\n");
    }

    private void put(String text) throws IOException {
        replies.write(text.getBytes());
    }

    private static void fail(String why) {
        System.err.println("loop: " + why);
        System.exit(1);
    }
}
