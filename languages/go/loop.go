// loop.go: times the code of a snippet, Go. The protocol is that of languages/README.md, on descriptors 3 and 4.
//
// The set-up and the body are in main(), the prelude is at file scope and may import. "os", "syscall" and "time" are
// imported already, for one-liners; Go refuses to import them twice. keep(value) makes the compiler believe that the
// value is used. The compiler removes no loop, not even an empty one, and hoists nothing that may have an effect.
//
// The goroutine is not locked to a thread, because that makes every goroutine switch slower. So it may run on any
// thread, and the kernel's accounting is that of the whole process, including the collector's threads.
package main

import (
	syscost_bufio "bufio"
	syscost_fmt "fmt"
	"os"
	syscost_runtime "runtime"
	"syscall"
	"time"
)

//line prelude:1
{{prelude}}
//line loop.go:1

var (
	_ = os.Getpid
	_ = syscall.Getpid
	_ = time.Now
)

func keep[T any](value T) {
	syscost_runtime.KeepAlive(value)
}

type syscostBatch struct {
	time     time.Duration
	switches int64
}

func syscostFail(why string) {
	os.Stderr.WriteString("loop: " + why + "\n")
	os.Exit(1)
}

func syscostUsage() (usage syscall.Rusage) {
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage
}

func syscostPut(text string) {
	if _, err := syscostReplies.WriteString(text); err != nil {
		syscostFail(err.Error())
	}
}

func syscostRequest() (n, k uint64, more bool) {
	if !syscostRequests.Scan() {
		return 0, 0, false
	}
	if _, err := syscost_fmt.Sscan(syscostRequests.Text(), &n, &k); err != nil {
		syscostFail("a request is not of the form 'N K'")
	}
	return n, k, true
}

func syscostReply(batches []syscostBatch, before, after *syscall.Rusage) {
	var text []byte
	for _, b := range batches {
		text = syscost_fmt.Appendf(text, "%d %d\n", b.time.Nanoseconds(), b.switches)
	}
	text = syscost_fmt.Appendf(text, "total %d %d %d %d\n", after.Utime.Nano()-before.Utime.Nano(),
		after.Stime.Nano()-before.Stime.Nano(), after.Minflt-before.Minflt, after.Majflt-before.Majflt)
	syscostPut(string(text))
}

// Kept here, because the collector closes a file without references.
var (
	syscostRequests = syscost_bufio.NewScanner(os.NewFile(3, "requests"))
	syscostReplies  = os.NewFile(4, "replies")
)

// Functions of their own, because the set-up may have a variable called "time" or "os".
func syscostReady() { syscostPut(syscost_fmt.Sprintf("ready pid=%d\n", os.Getpid())) }

func syscostNow() time.Time { return time.Now() }

func syscostSince(start time.Time) time.Duration { return time.Since(start) }

func main() {
//line setup:1
	{{setup}}
//line loop.go:1
	syscostReady()
	for {
		syscostN, syscostK, syscostMore := syscostRequest()
		if !syscostMore {
			return
		}
		syscostBatches := make([]syscostBatch, syscostK)
		syscostBefore := syscostUsage()
		for syscostB := range syscostBatches {
			var syscostI uint64
			syscostFirst := syscostUsage()
			syscostStart := syscostNow()
			for syscostI = 0; syscostI < syscostN; syscostI++ {
//line body:1
				{{body}}
//line loop.go:1
			}
			syscostBatches[syscostB].time = syscostSince(syscostStart)
			syscostLast := syscostUsage()
			syscostBatches[syscostB].switches = int64(syscostLast.Nivcsw - syscostFirst.Nivcsw)
			if syscostI < syscostN {
				syscostFail("the body left the loop around it")
			}
		}
		syscostAfter := syscostUsage()
		syscostReply(syscostBatches, &syscostBefore, &syscostAfter)
	}
}
