package bank

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// A document with too many turns or days is refused before any note is looked up.
func TestDocumentIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	day := func(i int) string { return now.AddDate(0, 0, -1-i).Format(time.DateOnly) }
	turns := func(n int) string { return strings.Repeat(`["a",""],`, n-1) + `["a",""]` }
	var history, summary strings.Builder
	for i := range 6 {
		fmt.Fprintf(&history, `%q:[%s],`, day(i), turns(maxTurns))
	}
	for i := range maxPieces + 1 {
		fmt.Fprintf(&summary, `%q:"a",`, day(i))
	}
	for name, doc := range map[string]string{
		memberHistory: `{"name":"N","history":{` + strings.TrimSuffix(history.String(), ",") + `}}`,
		memberSummary: `{"name":"N","summary":{` + strings.TrimSuffix(summary.String(), ",") + `}}`,
	} {
		if _, _, err := parse([]byte(doc), now); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "in parts") {
			t.Errorf("%s of %d bytes: %v", name, len(doc), err)
		}
	}
	if d, _, err := parse([]byte(`{"name":"N","history":{"`+day(0)+`":[`+turns(maxTurns)+`]}}`), now); err != nil || len(d.days[0].turns) != maxTurns {
		t.Errorf("%d days, %v", len(d.days), err)
	}
}

// An export that is too large for one document is refused before it is built.
func TestExportIsBounded(t *testing.T) {
	t.Parallel()
	ex, long := exportRun{}, strings.Repeat("a", memory.MaxContentBytes)
	for i := range 2 * maxExport / len(long) {
		if err := ex.addNote(&memory.Note{Kind: memory.KindMessage, Content: long}); err != nil {
			if !fault.Is(err, fault.Conflict) || i < maxExport/len(long)-1 || len(ex.messages) > i {
				t.Errorf("%d messages: %v", i, err)
			}
			return
		}
	}
	t.Error("a memory of any size is exported")
}
