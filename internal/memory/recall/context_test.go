package recall_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// addAt adds a note of any kind with an event time.
func (r *fixture) addAt(c memory.Collection, kind memory.Kind, at, content string, attributes map[string]any) uuid.UUID {
	r.t.Helper()
	occurred := must.Get(time.Parse("2006-01-02 15:04", at))(r.t)
	w := must.Get(r.notes.Add(r.t.Context(), r.all, c.ID.String(), notes.NewNote{
		Kind: kind, Content: content, Attributes: attributes, OccurredAt: &occurred, Infer: new(false),
	}, memory.Request{}))(r.t)
	return w.Note.ID
}

func (r *fixture) context(c memory.Collection, q recall.ContextQuery) recall.Context {
	r.t.Helper()
	out := must.Get(r.recall.Context(r.t.Context(), r.all, r.view(c), q))(r.t)
	r.checkContext(out, q)
	return out
}

// checkContext checks what every context promises.
func (r *fixture) checkContext(out recall.Context, q recall.ContextQuery) {
	r.t.Helper()
	if q.TokenBudget == 0 {
		q.TokenBudget = recall.DefaultTokenBudget
	}
	n := must.Get(out.Encoding.Count(out.Text))(r.t)
	if out.Tokens != n || n > q.TokenBudget {
		r.t.Errorf("says %d tokens of %d, has %d", out.Tokens, q.TokenBudget, n)
	}
	var texts []string
	var cited []recall.Citation
	for _, p := range out.Parts {
		if n, err := out.Encoding.Count(p.Text); err != nil || n != p.Tokens {
			r.t.Errorf("the part %s says %d tokens, has %d (%v)", p.Kind, p.Tokens, n, err)
		}
		texts = append(texts, p.Text)
		cited = append(cited, p.Citations...)
	}
	if got := strings.Join(texts, "\n\n"); got != out.Text {
		r.t.Errorf("the parts are\n%s\nand the text\n%s", got, out.Text)
	}
	if !reflect.DeepEqual(cited, out.Citations) && len(cited)+len(out.Citations) > 0 {
		r.t.Errorf("the parts cite %v, the context %v", cited, out.Citations)
	}
	for i := range out.Citations {
		if mark := fmt.Sprintf("\n[%d] ", i+1); strings.Count(out.Text, mark) != 1 {
			r.t.Errorf("%q is not there once:\n%s", mark, out.Text)
		}
	}
}

const mapmaker = "The map of the estuary was drawn in four sheets by the harbour office. Copies hang in the hall, and the sailors use them daily. " +
	"The paper is thick and yellow, bought from a mill upriver that closed long ago. The frames were made by the carpenter from old ship's planks. " +
	"Nobody remembers who paid for the glass, which is greenish and full of bubbles. The lamps above them were added after the big storm. " +
	"A second set is kept in a tin chest under the stairs, wrapped in oilcloth. It smells of tar, and moths have never touched it. " +
	"Visitors are shown the first set only, unless they ask for the other one by name. The keeper likes being asked and tells the story well. " +
	"The soundings in the north channel are wrong by two fathoms, as the pilot Marisol found out in spring. She wrote the right ones on the margin in pencil. " +
	"The clerk wanted to rub them out. The harbour master forbade it and signed beside each figure. " +
	"New sheets have been promised by the survey for years. They will come when the survey has a boat, a surveyor, and fine weather in the same week. " +
	"Until then the pencil counts, and every apprentice learns to read it before anything else is taught."

func (r *fixture) addHarbor() memory.Collection {
	c := r.collection("harbour")
	r.addAt(c, memory.KindMessage, "2026-03-02 09:30", "Ada: When does the ferry to the harbour leave?", map[string]any{"session": 2, "speaker": "Ada"})
	r.addAt(c, memory.KindMessage, "2026-03-02 09:31", "The harbour ferry leaves at seven.\r\n\r\nOn Sundays at nine.", map[string]any{"session": 2, "speaker": "Ben"})
	r.addAt(c, memory.KindMessage, "2026-02-20 18:05", "user: Book the harbour hotel, please.", map[string]any{"session": "1"})
	r.addAt(c, memory.KindMessage, "2026-02-20 18:06", "assistant: "+mapmaker, map[string]any{"session": "1"})
	r.addAt(c, memory.KindFact, "2026-02-01 00:00", "The harbour office is closed on Mondays.", nil)
	r.addAt(c, memory.KindFact, "2026-03-01 00:00", "the harbour office is closed on mondays", nil)
	r.addAt(c, memory.KindFact, "2026-02-03 00:00", "The harbour has three piers.", nil)
	r.addAt(c, memory.KindProfile, "2026-03-03 12:00", "Ada lives beside the harbour and likes [1] ferries.", nil)
	r.addAt(c, memory.KindNote, "2026-03-04 00:00", "Nothing here is about it: bread, cheese, pepper.", nil)
	return c
}

func TestContextRendering(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		c := r.addHarbor()
		var b strings.Builder
		for _, q := range []recall.ContextQuery{
			{Text: "harbour ferry soundings", Mode: recall.Lexical},
			{Text: "harbour ferry soundings", Mode: recall.Lexical, Order: recall.OrderRelevance, TokenBudget: 180, Encoding: search.Estimate},
			{Text: "pilot soundings fathoms", Mode: recall.Lexical, TokenBudget: 60, Encoding: search.Estimate},
		} {
			out := r.context(c, q)
			fmt.Fprintf(&b, "=== %s, %d tokens at most, by %s\n%s\n=== %d tokens\n", q.Text, q.TokenBudget, q.Order, out.Text, out.Tokens)
		}
		path := filepath.Join("testdata", "context.txt")
		if *update {
			r.noError(os.MkdirAll(filepath.Dir(path), 0o750))
			r.noError(os.WriteFile(path, []byte(b.String()), 0o600))
		}
		want := must.Get(os.ReadFile(path))(t)
		if b.String() != string(want) {
			t.Errorf("%s differs. Got:\n%s", path, b.String())
		}
	})
}

func TestContextOfNothing(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		c := r.collection("empty")
		r.checkContext(r.context(c, recall.ContextQuery{Text: "harbour"}), recall.ContextQuery{})
		r.add(c, "The kitchen tap drips.")
		for name, q := range map[string]recall.ContextQuery{
			"no such word":   {Text: "harbour", Mode: recall.Lexical},
			"too strict":     {Text: "tap", MinScore: new(math.Inf(1))},
			"filtered":       {Text: "tap", Filter: kindIs(t, memory.KindFact)},
			"hardly a token": {Text: "tap", TokenBudget: 1},
		} {
			out := r.context(c, q)
			if out.Text != "" || out.Tokens != 0 || out.Parts == nil || out.Citations == nil || len(out.Parts)+len(out.Citations) > 0 {
				t.Errorf("%s: %+v", name, out)
			}
		}
	})
}

func kindIs(t *testing.T, k memory.Kind) filter.Expr {
	t.Helper()
	expr := must.Get(filter.Parse(fmt.Appendf(nil, `{"field":"kind","op":"eq","value":%q}`, k)))(t)
	return expr
}

// A context cites the versions that it shows, also those of the past.
func TestContextCitesVersions(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		c := r.collection("versions")
		id := r.add(c, "The ferry leaves at seven.")
		must.Get(r.notes.Patch(t.Context(), r.all, c.ID.String(), id, notes.NotePatch{Content: new("The ferry leaves at nine.")}, memory.Request{}))(t)
		for at, want := range map[memory.Revision]string{1: "seven", 2: "nine"} {
			v := must.Get(r.recall.Open(t.Context(), r.all, c.ID.String(), &at, 0))(t)
			out := must.Get(r.recall.Context(t.Context(), r.all, v, recall.ContextQuery{Text: "ferry"}))(t)
			if !strings.Contains(out.Text, want) || !reflect.DeepEqual(out.Citations, []recall.Citation{{Note: id, Revision: at}}) || out.Revision != at {
				t.Errorf("at %d: %+v", at, out)
			}
		}
	})
}

// C019: the context of a query also shows notes that are linked to its hits, and no more than k.
func TestContextExpandsLinks(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		c := r.collection("linked")
		hit := r.add(c, "The ferry leaves at seven.")
		var linked []uuid.UUID
		for _, content := range []string{"Cabins have bunk beds.", "Coffee is sold on deck.", "Dogs travel free.", "Parking costs nine euros.", "Storms close the harbor."} {
			linked = append(linked, r.add(c, content))
		}
		r.link(c, hit, linked...)
		q := recall.ContextQuery{Text: "ferry", Mode: recall.Lexical}
		if out := r.context(c, q); len(out.Citations) != 1 {
			t.Fatalf("without links: %+v", out)
		}
		q.ExpandLinks = new(1)
		if out := r.context(c, q); len(out.Citations) != 6 || !strings.Contains(out.Text, "harbor") {
			t.Errorf("with links: %+v", out)
		}
		if q.K = 3; len(r.context(c, q).Citations) != 3 {
			t.Errorf("at most k: %+v", r.context(c, q))
		}
		q.ExpandLinks = new(3)
		if _, err := r.recall.Context(t.Context(), r.all, r.view(c), q); !fault.Is(err, fault.Invalid) {
			t.Error("three steps are not refused")
		}
	})
}

// C013, C014: the notes that a context shows count as recalled, and the others do not.
func TestContextCounts(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		c := r.collection("counted")
		shown := r.add(c, "The ferry leaves at seven.")
		left := r.add(c, "the ferry leaves at SEVEN")
		r.context(c, recall.ContextQuery{Text: "ferry"})
		r.Pass(time.Hour)
		out := r.context(c, recall.ContextQuery{Text: "ferry"})
		if len(out.Citations) != 1 {
			t.Fatalf("%+v", out)
		}
		if out.Citations[0].Note == left {
			shown, left = left, shown
		}
		for id, want := range map[uuid.UUID]int64{shown: 2, left: 0} {
			n := must.Get(r.recall.Get(t.Context(), r.all, r.view(c), id, false))(t)
			if n.Usage.AccessCount != want || want > 0 && !n.Usage.LastAccess.Equal(r.Now()) {
				t.Errorf("%+v, want %d", n.Usage, want)
			}
		}
	})
}

// A caller without the permission gets no context, and no caller gets that of another tenant.
func TestContextIsGuarded(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("guarded")
	v := r.view(c)
	writer := grant.Scope(r.tenant, uuid.Nil, "writer", tenant.NotesWrite)
	_, err := r.recall.Context(t.Context(), writer, v, recall.ContextQuery{Text: "a"})
	r.wantFault(err, fault.Forbidden)
	stranger := grant.Scope(uuid.New(), uuid.Nil, "stranger", tenant.AllPermissions()...)
	if _, err = r.recall.Context(t.Context(), stranger, v, recall.ContextQuery{Text: "a"}); err == nil {
		t.Error("a stranger reads")
	}
}

func TestContextRefuses(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	v := r.view(r.collection("refusing"))
	for field, q := range map[string]recall.ContextQuery{
		"query":        {},
		"token_budget": {Text: "a", TokenBudget: recall.MaxTokenBudget + 1},
		"order":        {Text: "a", Order: "random"},
		"encoding":     {Text: "a", Encoding: "p50k_base"},
		"mode":         {Text: "a", Mode: "both"},
		"k":            {Text: "a", K: recall.MaxK + 1},
	} {
		_, err := r.recall.Context(t.Context(), r.all, v, q)
		if !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), field) && !strings.Contains(err.Error(), field+":") {
			t.Errorf("%s: %v", field, err)
		}
	}
	_, err := r.recall.Context(t.Context(), r.all, v, recall.ContextQuery{Text: "a", TokenBudget: -1})
	r.wantFault(err, fault.Invalid)
	if _, err := recall.New(recall.Deps{Store: r.store, Embedders: r.embedder}, recall.Config{Encoding: "p50k_base"}); err == nil {
		t.Error("an unknown encoding is taken as the default one")
	}
}

// If the embedder is down, words alone answer, and the context reports it.
func TestContextDegrades(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("degraded")
	r.add(c, "The ferry leaves at seven.")
	r.embedder.down.Store(true)
	if out := r.context(c, recall.ContextQuery{Text: "ferry at seven"}); out.Degraded == "" || len(out.Citations) != 1 {
		t.Errorf("%+v", out)
	}
}
