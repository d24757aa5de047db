// loop.js: times the code of a snippet, Node.js. The protocol is that of languages/README.md, on descriptors 3 and 4.
//
// Prelude, set-up and body are in nested functions, so the body sees what the others declare; modules are loaded by
// require(). `fs`, `os` and `path` are there for one-liners, and may be redeclared. keep(value) stores the value where
// the compiler must assume that it is used. V8 removes no loop, not even an empty one. The loop is synchronous: the body
// cannot `await`, and work that it defers does not run before the batch has ended.
//
// Context switches are 0, hence `switches=unknown`, because Node.js counts them for all threads, including those of the compiler and
// the collector.
var fs = require("fs"), os = require("os"), path = require("path");

// The first value that is kept defines the field's representation: a number needs no allocation.
const syscost = {};

function keep(value) {
    syscost.kept = value;
}

// The function around prelude and set-up; returns the batch of n iterations.
function syscostPrepare() {
    {{prelude}}
    ;
    {
        {{setup}}
        ;
        return function batch(syscostN) {
            let syscostI = 0;
            for (; syscostI < syscostN; syscostI++) {
                {{body}}
            }
            return syscostI;
        };
    }
}

(function () {
    const fs = require("fs");
    const batch = syscostPrepare();
    const WARM_UP = 300_000_000n; // nanoseconds
    const SHORT = 1_000_000n;

    function fail(why) {
        fs.writeSync(2, `loop: ${why}\n`);
        process.exit(1);
    }

    function put(text) {
        const bytes = Buffer.from(text);
        for (let done = 0; done < bytes.length; ) done += fs.writeSync(4, bytes, done);
    }

    function timed(n) {
        const start = process.hrtime.bigint();
        const done = batch(n);
        const ns = process.hrtime.bigint() - start;
        if (done !== n) fail("the body left the loop around it");
        return ns;
    }

    // In many short batches rather than one long one, so that V8 compiles the function and not only its running loop.
    function warmUp() {
        const start = process.hrtime.bigint();
        let n = 1;
        while (process.hrtime.bigint() - start < WARM_UP) {
            if (timed(n) < SHORT) n *= 2;
        }
        return (process.hrtime.bigint() - start) / 1_000_000n;
    }

    function serve(n, k) {
        const batches = new Array(k);
        const before = process.resourceUsage();
        for (let b = 0; b < k; b++) batches[b] = timed(n);
        const after = process.resourceUsage();
        const used = (name, unit) => (after[name] - before[name]) * unit;
        const total = [
            used("userCPUTime", 1000), used("systemCPUTime", 1000),
            used("minorPageFault", 1), used("majorPageFault", 1),
        ];
        put(batches.map((ns) => `${ns} 0\n`).join("") + `total ${total.join(" ")}\n`);
    }

    // A line of the protocol, or undefined at the end of input.
    const piece = Buffer.alloc(4096);
    let input = "";
    function line() {
        while (!input.includes("\n")) {
            const got = fs.readSync(3, piece);
            if (got === 0) return undefined;
            input += piece.toString("latin1", 0, got);
        }
        const end = input.indexOf("\n");
        const found = input.slice(0, end);
        input = input.slice(end + 1);
        return found;
    }

    const warmed = warmUp();
    put(`ready pid=${process.pid} warmed_ms=${warmed} switches=unknown\n`);
    for (let request = line(); request !== undefined; request = line()) {
        const [n, k] = request.split(" ").map(Number);
        if (!(n > 0 && k > 0)) fail("a request is not of the form 'N K'");
        serve(n, k);
    }
    process.exit(0); // whatever the body left to be done later
})();
