// Makes each benchmark of go test a section of syscost. Copy into the package with the benchmarks, write its name below, and
// `for range section(b) {` for `for b.Loop() {` or `for i := 0; i < b.N; i++ {`.
package yours

import (
	"os"
	"runtime"
	"strconv"
	"testing"
)

func section(b *testing.B) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if !yield(0) { // what happens only once is not counted
			return
		}
		b.ResetTimer()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		begin, end := "/.syscost/begin/"+b.Name(), "/.syscost/end/"+b.Name()+"/"
		os.Stat(begin)
		made := 0
		for made < b.N && yield(made) {
			made++
		}
		os.Stat(end + strconv.Itoa(made))
	}
}
