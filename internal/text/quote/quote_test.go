package quote_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/text/quote"
)

// A quotation is read as it was written, and is shown without its date where that is beside it.
func TestQuotation(t *testing.T) {
	t.Parallel()
	event := time.Date(2026, 6, 1, 20, 0, 0, 0, time.UTC)
	for line, c := range map[string]struct {
		q                    quote.Quotation
		said, without, other string
	}{
		"Nora, 2026-06-01: “I live in Berlin.”": {
			quote.Quotation{Speaker: "Nora", Day: "2026-06-01", Words: "I live in Berlin."},
			"Nora: I live in Berlin.", "Nora: “I live in Berlin.”", "Nora, 2026-06-01: “I live in Berlin.”",
		},
		"“How often?” – Rory, 2026-06-01: “Every six weeks.”": {
			quote.Quotation{Before: "How often?", Speaker: "Rory", Day: "2026-06-01", Words: "Every six weeks."},
			"How often? Rory: Every six weeks.", "“How often?” – Rory: “Every six weeks.”", "“How often?” – Rory, 2026-06-01: “Every six weeks.”",
		},
		"2026-06-01: “我住在北京。”": {
			quote.Quotation{Day: "2026-06-01", Words: "我住在北京。"}, "我住在北京。", "“我住在北京。”", "2026-06-01: “我住在北京。”",
		},
		"Ann, 2026-06-01: “He said: “No.””": {
			quote.Quotation{Speaker: "Ann", Day: "2026-06-01", Words: "He said: “No.”"},
			"Ann: He said: “No.”", "Ann: “He said: “No.””", "Ann, 2026-06-01: “He said: “No.””",
		},
	} {
		got, ok := quote.Parse(line)
		if !ok || got != c.q || got.String() != line {
			t.Errorf("%s: read as %+v, %t", line, got, ok)
		}
		if s := quote.Said(line); s != c.said {
			t.Errorf("%s: said %q", line, s)
		}
		if s := quote.WithoutDay(line, event); s != c.without {
			t.Errorf("%s: beside its day %q", line, s)
		}
		if s := quote.WithoutDay(line, event.AddDate(0, 0, 1)); s != c.other {
			t.Errorf("%s: beside another day %q", line, s)
		}
	}
}

// Other texts stay as they are.
func TestNoQuotation(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "”", "Nora lives in Berlin.", "Nora: “I live in Berlin.”", "Nora 2026-06-01: “x”", "Nora, 2026-13-01: “x”", "“a” – b”"} {
		if q, ok := quote.Parse(s); ok {
			t.Errorf("%q is read as %+v", s, q)
		}
		if quote.Words(s) != s || quote.Said(s) != s || quote.WithoutDay(s, time.Time{}) != s {
			t.Errorf("%q is changed", s)
		}
	}
}

// Lists of messages in JSON become lines; other brackets, lists that are cut off and more lists than are read stay as they are.
func TestUnpacked(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(`[{"a":[`, 100)
	for text, want := range map[string]string{
		`Title: [{"role":"human","content":"Hi."}, {"role":"ai","content":[{"type":"text","text":"Hello \u4f60."}]}] Short.`: "Title: \nuser:\nHi.\n\nassistant:\nHello 你.\n Short.",
		`{"messages": [ {"role":"user","words":"I live in Oslo."}]}`:                                                         "{\"messages\": \nuser:\nI live in Oslo.\n}",
		`A [list] of [1, 2] and [{"role": "user", "content": "I live`:                                                        `A [list] of [1, 2] and [{"role": "user", "content": "I live`,
		many: many,
	} {
		if got := quote.Unpacked(text); got != want {
			t.Errorf("%q was read as %q", text, got)
		}
	}
}
