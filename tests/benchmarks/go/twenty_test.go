// Twenty benchmarks; the one that PLANTED names makes a call of stat more.
package yours

import (
	"fmt"
	"os"
	"testing"
)

func work(stats int) {
	for range stats {
		if _, err := os.Stat("/etc/passwd"); err != nil {
			panic(err)
		}
	}
}

func BenchmarkTwenty(b *testing.B) {
	for number := range 20 {
		name := fmt.Sprintf("b%02d", number)
		stats := number%4 + 1
		if os.Getenv("PLANTED") == name {
			stats++
		}
		b.Run(name, func(b *testing.B) {
			for range section(b) {
				work(stats)
			}
		})
	}
}
