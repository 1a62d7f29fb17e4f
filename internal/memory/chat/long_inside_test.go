//go:build !race

package chat

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// A body with very many members costs work in proportion to its size at most: with names of their own the rest of it is not read, and
// members of one name are kept once, so they are not compared with all before them. Allocations count the work.
func TestManyMembersAreLinearWork(t *testing.T) { //nolint:paralleltest // counts the allocations of the process
	body := func(members int, name string) []byte {
		var b strings.Builder
		b.WriteString(`{"messages":[{"role":"user","content":"Where?"}]`)
		for i := range members {
			fmt.Fprintf(&b, `,"%s":%d`, strings.ReplaceAll(name, "#", strconv.Itoa(i)), i)
		}
		return []byte(b.String() + "}")
	}
	work := func(raw []byte) float64 {
		least := math.Inf(1) // the runtime and ended tests may allocate meanwhile, and pools lose things at random with the race detector
		for range 20 {
			least = min(least, testing.AllocsPerRun(3, func() { _, _ = parseBody(raw) }))
		}
		return least
	}

	few, many := body(2*maxBodyFields, "name#"), body(100*maxBodyFields, "name#")
	if _, err := parseBody(many); !fault.Is(err, fault.Invalid) {
		t.Errorf("a body with %d fields: %v", 100*maxBodyFields, err)
	}
	if a, b := work(few), work(many); b > a {
		t.Errorf("%g allocations for a body with too many fields, and %g for one with fifty times as many", a, b)
	}

	few, many = body(2000, "n"), body(8000, "n")
	if b, err := parseBody(many); err != nil || len(b.fields) != 2 {
		t.Errorf("a body that repeats a field is kept as %d fields, %v", len(b.fields), err)
	}
	if a, b := work(few), work(many); b > 4*a {
		t.Errorf("%g allocations for a repeated field, and %g for four times as many", a, b)
	}
}
