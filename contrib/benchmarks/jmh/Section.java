// Makes each benchmark of JMH a section of syscost. Copy beside the benchmarks, write the name of their package below, and
// `extends Section` to their classes.
package yours;

import java.io.File;
import org.openjdk.jmh.annotations.*;
import org.openjdk.jmh.infra.*;
import org.openjdk.jmh.runner.IterationType;

@State(Scope.Thread)
public class Section {
    private File begin, end; // none while it warms up

    @Setup(Level.Iteration)
    public void name(BenchmarkParams benchmark, IterationParams iteration) {
        String name = benchmark.getBenchmark();
        for (String key : benchmark.getParamsKeys()) name += "/" + key + "=" + benchmark.getParam(key);
        boolean measures = iteration.getType() == IterationType.MEASUREMENT;
        begin = measures ? new File("/.syscost/begin/" + name) : null;
        end = measures ? new File("/.syscost/end/" + name) : null;
    }

    @Setup(Level.Invocation)
    public void begin() { if (begin != null) begin.exists(); }

    @TearDown(Level.Invocation)
    public void end() { if (end != null) end.exists(); }
}
