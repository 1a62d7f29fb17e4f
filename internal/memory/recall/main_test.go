package recall_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain runs the property tests with fewer rounds than rapid's default of 100, because each
// creates four collections on disk. The flag -rapid.checks overrides it.
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
