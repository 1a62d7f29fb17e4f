// Command checks lists the numbered checks that the product must meet: those that a test
// names, those that are figures to measure, and those that no test names. Run it in the
// root of the module.
//
// With -strict it exits with 1 when one is missing. With -files it prints the test files
// that name each check.
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

// list writes the listing for the module in the working directory and returns the number
// of required checks that are missing.
func list(out io.Writer, files bool) (missing int, err error) {
	found, err := archtest.FindChecks(os.DirFS("."))
	if err != nil {
		return 0, err
	}
	var named, measured, absent []string
	for _, c := range archtest.Required() {
		at, line := found[c], c.String()
		command, bench := archtest.Bench(c)
		if bench {
			line += "  " + command
		}
		if files {
			line += "  " + strings.Join(at, " ")
		}
		switch {
		case len(at) == 0:
			absent = append(absent, c.String())
		case bench:
			measured = append(measured, line)
		default:
			named = append(named, line)
		}
	}
	separator := " "
	if files {
		separator = "\n"
	}
	_, err = fmt.Fprintf(out, "shown by tests (%d):\n%s\n\nmeasured, and the measurement tested (%d):\n%s\n\nmissing (%d):\n%s\n",
		len(named), strings.Join(named, separator), len(measured), strings.Join(measured, "\n"), len(absent), strings.Join(absent, " "))
	return len(absent), err
}
