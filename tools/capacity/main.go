// Command capacity computes how many machines a number of notes needs, from what was measured (figures.json), and simulates how often a
// request meets an index in memory when tenants are routed to gateways. It prints both tables, or writes them into docs/capacity.md.
package main

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/slipboxhq/slipbox/internal/eval"
)

//go:embed figures.json
var measured []byte

// page is where the tables are shown, from the root of the module.
const page = "docs/capacity.md"

func main() {
	w := usual
	docs := flag.Bool("docs", false, "write the tables into "+page)
	flag.Float64Var(&w.adds, "adds", w.adds, "notes that are added a day, of each 1,000 that there are")
	flag.Float64Var(&w.searches, "searches", w.searches, "searches and contexts a day, for each 1,000 notes")
	flag.Float64Var(&w.peak, "peak", w.peak, "requests of the busiest second, in the mean of a day")
	flag.Float64Var(&w.hot, "hot", w.hot, "part of the notes whose indexes are in memory")
	flag.Parse()
	if err := run(w, *docs); err != nil {
		fmt.Fprintln(os.Stderr, "capacity:", err)
		os.Exit(1)
	}
}

func run(w workload, docs bool) error {
	text, err := tables(w)
	if err != nil || !docs {
		fmt.Print(text)
		return err
	}
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	made, err := shown(old, text)
	if err != nil {
		return err
	}
	return os.WriteFile(page, made, 0o644) //nolint:gosec // a page of the documentation
}

func tables(w workload) (string, error) {
	var f figures
	if err := json.Unmarshal(measured, &f); err != nil {
		return "", err
	}
	return machines(f, w) + "\n" + routes(), nil
}

// shown returns the page with the tables between its marks.
func shown(page []byte, tables string) ([]byte, error) {
	return eval.ReplaceBetween(page, "capacity", "\n"+tables+"\n")
}
