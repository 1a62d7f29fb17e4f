package recall_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

// addTurn adds a turn of a conversation.
func (r *fixture) addTurn(c memory.Collection, at time.Time, content string, attributes map[string]any) memory.Note {
	r.t.Helper()
	w := must.Get(r.notes.Add(r.t.Context(), r.all, c.ID.String(), notes.NewNote{
		Content: content, Kind: memory.KindMessage, OccurredAt: &at, Attributes: attributes,
	}, memory.Request{}))(r.t)
	return w.Note
}

// signalsOf returns the signals of a hit by name.
func signalsOf(h *recall.Hit) map[string]float64 {
	out := map[string]float64{}
	for _, s := range h.Explain.Signals {
		out[s.Name] = s.Raw
	}
	return out
}

// Times and attributes that the query names raise the notes that have them. Both can be switched off.
func TestWhatAQueryNames(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("talk")
	start := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)
	for i := range 50 {
		speaker := []string{"Ada", "Bo"}[i%2]
		r.addTurn(c, start.AddDate(0, 0, i), fmt.Sprintf("%s: the garden needs water, said for the time %d", speaker, i),
			map[string]any{"speaker": speaker, "session": i / 10})
	}
	ask := func(q recall.Query) recall.Result {
		q.Explain, q.Internal = true, true
		return r.search(c, q)
	}
	out := ask(recall.Query{Text: "What did Bo say of the garden?"})
	if out.Profile != recall.General || signalsOf(&out.Hits[0])["attribute"] != 1 || !strings.HasPrefix(out.Hits[0].Note.Content, "Bo") {
		t.Errorf("%s: %+v", out.Profile, signalsOf(&out.Hits[0]))
	}
	out = ask(recall.Query{Text: "What did Bo say of the garden?", Profile: recall.General, Weights: map[string]float64{"attribute": 0}})
	if _, weighed := signalsOf(&out.Hits[0])["attribute"]; out.Profile != recall.General || weighed {
		t.Errorf("%s: %+v", out.Profile, signalsOf(&out.Hits[0]))
	}
	// A day, and the week in which people still tell what happened on it.
	for text, reference := range map[string]time.Time{"garden on 10 May 2023": {}, "the garden a week ago": start.AddDate(0, 0, 9)} {
		out = ask(recall.Query{Text: text, Reference: reference})
		first := out.Hits[0].Note.OccurredAt
		if signalsOf(&out.Hits[0])["time"] != 1 || first.Before(start) || first.After(start.AddDate(0, 0, 10)) {
			t.Errorf("%q found what happened at %v: %v", text, first, signalsOf(&out.Hits[0]))
		}
	}
	if out = ask(recall.Query{Text: "garden", Mode: recall.Vector}); out.Profile != "" {
		t.Errorf("a search by meaning alone has the profile %s", out.Profile)
	}
}

// A dialogue says who asks, and what has this person's name among its words comes before the same of another one. A message that
// somebody said is not about whom it names.
func TestWhoAsks(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("household")
	for _, thing := range []string{"a red kite", "an old map", "two lamps"} {
		for _, name := range []string{"Ada", "Bo"} {
			r.add(c, name+" has "+thing+" in the attic")
		}
	}
	r.addTurn(c, time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC), "Ada and Bo, is the attic cold?", map[string]any{"role": "user"})
	for name, dialogue := range map[string][]recall.Message{
		"Ada": {{Role: "user", Name: "Ada", Content: "What is in the attic?"}},
		"Bo":  {{Role: "user", Name: "Ada", Content: "Hello."}, {Name: "Bo", Content: "What is in the attic?"}, {Role: "assistant", Name: "Ada", Content: "The attic?"}},
	} {
		for _, mode := range []recall.Mode{recall.Hybrid, recall.Lexical} {
			out := r.search(c, recall.Query{Messages: dialogue, Mode: mode, K: 7, Explain: true, Internal: true})
			if len(out.Hits) != 7 || !strings.HasPrefix(out.Hits[0].Note.Content, name+" has") {
				t.Fatalf("%s asks, %s: %d hits, first %q", name, mode, len(out.Hits), out.Hits[0].Note.Content)
			}
			for i := range out.Hits {
				content, raised := out.Hits[i].Note.Content, signalsOf(&out.Hits[i])["attribute"] > 0
				if raised != strings.HasPrefix(content, name+" has") {
					t.Errorf("%s asks, %s: hit %d is %q, raised %v", name, mode, i, content, raised)
				}
			}
		}
	}
}

// A long note is found by a passage of it, which the hit reports. A short note is one passage.
func TestPassageOfAHit(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("pages")
	long := strings.Repeat("The harbour is calm in the morning and the boats lie still. ", 20) +
		"\nThe lighthouse keeper counts puffins.\n" + strings.Repeat("Later the tide brings weed and wood to the beach. ", 20)
	r.add(c, long)
	r.add(c, "a short note on puffins")
	for _, h := range r.search(c, recall.Query{Text: "puffins"}).Hits {
		if h.Note.Content != long {
			if h.Passage != nil {
				t.Errorf("a note of one passage names %+v", h.Passage)
			}
			continue
		}
		if h.Passage == nil || !strings.Contains(long[h.Passage.Start:h.Passage.End], "puffins") || h.Passage.End-h.Passage.Start > len(long)/2 {
			t.Errorf("found by %+v", h.Passage)
		}
	}
}

// Notes of several languages in one collection are found by words of their own, inflected ones
// included, in any company.
func TestMixedLanguages(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("babel")
	for _, content := range []string{
		"The children were running to the harbour before the storm came.",
		"Die Kinder sind vor dem Sturm zum Hafen gelaufen, und die Häuser waren leer.",
		"孩子们在暴风雨来临之前跑到了港口。",
		"Дети побежали в гавань, прежде чем начался шторм, и дома опустели.",
		"Los niños corrieron al puerto antes de que llegara la tormenta en las montañas.",
		"Les enfants ont couru vers le port avant que la tempête n'arrive dans les montagnes.",
		"Her favourite word is Gemütlichkeit, which no English word says; 心安 comes close.",
	} {
		r.add(c, content)
	}
	for query, want := range map[string]string{
		"child running storms": "The children",
		"Haus und Kind":        "Die Kinder",
		"暴风雨":                  "孩子们",
		"港口的孩子":                "孩子们",
		"дом и гавани":         "Дети",
		"montaña":              "Los niños",
		"la montagne":          "Les enfants",
		"gemutlichkeit":        "Her favourite",
		"心安":                   "Her favourite",
	} {
		hits := r.search(c, recall.Query{Text: query, Mode: recall.Lexical}).Hits
		if len(hits) == 0 || !strings.HasPrefix(hits[0].Note.Content, want) {
			t.Errorf("%q finds %+v, want %q", query, hitIDs(recall.Result{Hits: hits}), want)
		}
	}
}

// Any text can be stored, searched for and returned. A text without words is found by its vector.
func TestOddTexts(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("odd")
	odd := map[string]string{
		"emoji":         "🐝🌻🍯",
		"right to left": "הילדים רצו אל הנמל לפני הסערה",
		"one word":      strings.Repeat("a", 10_000),
		"stop words":    "it is what it is",
		"control":       "bell\x07 and escape\x1b[31m and \u202e override",
		"signs":         "?!… — ()",
		"large":         strings.Repeat("harbour lights and tides. ", 65536/26),
	}
	ids := map[string]uuid.UUID{}
	for name, content := range odd {
		ids[name] = r.add(c, content)
	}
	for name, content := range odd {
		query := content
		if len(query) > 2000 {
			query = query[:2000]
		}
		for _, mode := range []recall.Mode{recall.Hybrid, recall.Vector, recall.Lexical} {
			out := r.search(c, recall.Query{Text: query, Mode: mode, K: 10})
			if mode == recall.Hybrid && (len(out.Hits) == 0 || out.Hits[0].ID != ids[name]) {
				t.Errorf("%s in mode %s: %d hits", name, mode, len(out.Hits))
			}
		}
	}
}
