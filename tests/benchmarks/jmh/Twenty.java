// Twenty benchmarks; the one that PLANTED names makes a call of stat more.
package yours;

import java.io.File;
import org.openjdk.jmh.annotations.*;

public class Twenty extends Section {
    @Param({"b00", "b01", "b02", "b03", "b04", "b05", "b06", "b07", "b08", "b09", "b10", "b11", "b12", "b13", "b14", "b15",
        "b16", "b17", "b18", "b19"})
    public String name;

    @Benchmark
    public void of() throws Exception {
        int number = Integer.parseInt(name.substring(1));
        int stats = number % 4 + 1 + (name.equals(System.getenv("PLANTED")) ? 1 : 0);
        for (int i = 0; i < stats; i++)
            if (!new File("/etc/passwd").exists()) throw new AssertionError();
    }
}
