package recall_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain takes fewer rounds of the property test than rapid's default of
// 100, since each makes four collections on disk. -rapid.checks wins.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
