package mem0

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// A statement that came after a newer one is in the history of a memory where its time is.
func TestHistoryOfLateStatements(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 3, n, 12, 0, 0, 0, time.UTC) }
	entry := func(at memory.Revision, content string, of time.Time, earlier ...any) memory.HistoryEntry {
		n := memory.Note{From: at, Kind: memory.KindFact, Content: content, OccurredAt: of}
		if earlier != nil {
			n.Attributes = map[string]any{memory.AttrEarlier: earlier}
		}
		return memory.HistoryEntry{Note: n}
	}
	late := func(n int, content string) any {
		return map[string]any{"content": content, "occurred_at": day(n).Format(time.RFC3339)}
	}
	versions := []memory.HistoryEntry{ // newest first
		entry(4, "Oslo", day(9), late(1, "Beijing"), late(4, "Lima")), entry(3, "Oslo", day(9), late(4, "Lima")), entry(2, "Oslo", day(9)), entry(1, "Rome", day(3)),
	}
	var got []string
	for _, e := range historyOf(memory.External{}, uuid.Nil, versions, false) {
		was := ""
		if e.OldMemory != nil {
			was = *e.OldMemory
		}
		got = append(got, e.Event+" "+was+" > "+*e.NewMemory)
	}
	if want := []string{"ADD  > Beijing", "UPDATE Beijing > Rome", "UPDATE Rome > Lima", "UPDATE Lima > Oslo"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
