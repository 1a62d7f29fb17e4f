// Command checks lists which numbered checks the tests of the module name, and which of
// the required ones none does. It is run in the root of the module.
//
// With -strict it exits with 1 when one is missing, with -files it adds the test files.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/slipboxhq/slipbox/internal/archtest"
)

func main() {
	strict := flag.Bool("strict", false, "exit with 1 when a required check is named by no test")
	files := flag.Bool("files", false, "print the test files that name each check")
	flag.Parse()

	missing, err := list(os.Stdout, *files)
	if err != nil {
		fmt.Fprintln(os.Stderr, "checks:", err)
		os.Exit(2)
	}
	if *strict && missing > 0 {
		os.Exit(1)
	}
}

// list writes the listing for the module in the working directory and returns how many
// required checks are missing.
func list(out io.Writer, files bool) (int, error) {
	found, err := archtest.FindChecks(os.DirFS("."))
	if err != nil {
		return 0, err
	}
	var named, missing []string
	for _, c := range archtest.Required() {
		switch at := found[c]; {
		case len(at) == 0:
			missing = append(missing, c.String())
		case files:
			named = append(named, c.String()+"  "+strings.Join(at, " "))
		default:
			named = append(named, c.String())
		}
	}
	separator := " "
	if files {
		separator = "\n"
	}
	_, err = fmt.Fprintf(out, "named by tests (%d):\n%s\n\nmissing (%d):\n%s\n",
		len(named), strings.Join(named, separator), len(missing), strings.Join(missing, " "))
	return len(missing), err
}
