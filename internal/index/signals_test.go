package index

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/text"
)

// naiveNote is a visible note with its words counted.
type naiveNote struct {
	modelRow
	spans  []text.Span
	parts  []map[string]int
	lens   []int
	words  map[string]int // the counts in the note, its date counted once
	length int
}

// naiveNotes counts words one passage at a time.
func naiveNotes(rows []modelRow) []naiveNote {
	out := make([]naiveNote, len(rows))
	for i, r := range rows {
		n := naiveNote{modelRow: r, spans: text.Passages(r.Content, 100), words: map[string]int{}}
		if len(n.spans) == 0 {
			n.spans = []text.Span{{}}
		}
		day := ""
		if at := r.Record.OccurredAt; !at.IsZero() {
			day = fmt.Sprintf("%d %s %d", at.Day(), at.Month(), at.Year())
		}
		for j, span := range n.spans {
			own := r.Content[span.Start:span.End]
			if j == 0 {
				own = searchable(Row{Content: own, Context: r.Context, Record: r.Record})
			}
			n.parts = append(n.parts, map[string]int{})
			for _, t := range text.TermsIn(own, text.English) {
				n.parts[j][t]++
				n.words[t]++
				n.length++
			}
			date := text.TermsIn(day, text.English)
			for _, t := range date {
				n.parts[j][t]++
				if j == 0 {
					n.words[t]++
					n.length++
				}
			}
			n.lens = append(n.lens, len(text.TermsIn(own, text.English))+len(date))
		}
		out[i] = n
	}
	return out
}

// naiveView is everything in a view that scores depend on.
type naiveView struct {
	notes    []naiveNote
	df       map[string]int
	passages int
	part     float64 // mean length of a passage
	note     float64 // of a note
	sessions map[string][]int
	session  float64 // mean length of a session
	of       []string
}

func newNaiveView(rows []modelRow) *naiveView {
	v := &naiveView{notes: naiveNotes(rows), df: map[string]int{}, sessions: map[string][]int{}, of: make([]string, len(rows))}
	parts, notes := 0, 0
	for i := range v.notes {
		n := &v.notes[i]
		notes += n.length
		for j := range n.parts {
			v.passages++
			parts += n.lens[j]
			for t := range n.parts[j] {
				v.df[t]++
			}
		}
		name, ok := n.Record.Attributes["session"].(string)
		if !ok {
			name = fmt.Sprintf("\x00%x", n.Note) // a session by itself
		}
		v.of[i] = name
		v.sessions[name] = append(v.sessions[name], i)
	}
	for _, s := range v.sessions {
		slices.SortFunc(s, func(a, b int) int {
			x, y := &v.notes[a], &v.notes[b]
			return cmp.Or(x.Record.OccurredAt.Compare(y.Record.OccurredAt), bytes.Compare(x.Note[:], y.Note[:]))
		})
	}
	v.part, v.note, v.session = float64(parts)/float64(v.passages), float64(notes)/float64(len(rows)), float64(notes)/float64(len(v.sessions))
	return v
}

func (v *naiveView) idf(df int) float64 {
	return math.Log(1 + (float64(v.passages)-float64(df)+0.5)/(float64(df)+0.5))
}

// bm25 returns the sum of the scores of a query's words in a document.
func (v *naiveView) bm25(query string, count func(term string) int, length, average float64) float64 {
	score := 0.0
	for _, f := range text.Forms(query, []text.Language{text.English}) {
		tf := float64(count(f.Terms[0]))
		if tf == 0 {
			continue
		}
		weight := v.idf(v.df[f.Terms[0]])
		if f.Weak {
			weight *= 0.3
		}
		score += weight * tf * 2.2 / (tf + 1.2*(0.25+0.75*length/average))
	}
	return score
}

// words returns the score of a note's best passage and where the passage is.
func (v *naiveView) words(query string, i int) (best float64, span text.Span) {
	n := &v.notes[i]
	for j := range n.parts {
		if s := v.bm25(query, func(t string) int { return n.parts[j][t] }, float64(n.lens[j]), v.part); s > best {
			best, span = s, n.spans[j]
		}
	}
	return best, span
}

// near returns the notes within a distance of one in its session.
func (v *naiveView) near(i, within int) []int {
	s := v.sessions[v.of[i]]
	at := slices.Index(s, i)
	return s[max(at-within, 0):min(at+within+1, len(s))]
}

func (v *naiveView) joined(query string, notes []int, average float64) float64 {
	length := 0
	for _, i := range notes {
		length += v.notes[i].length
	}
	return v.bm25(query, func(t string) int {
		n := 0
		for _, i := range notes {
			n += v.notes[i].words[t]
		}
		return n
	}, float64(length), average)
}

func (v *naiveView) late(tokens []Token, notes ...int) float64 {
	score, sum := 0.0, 0.0
	for _, t := range tokens {
		best := 0.0
		for _, i := range notes {
			if v.notes[i].Vector == nil {
				continue
			}
			for codes := v.notes[i].Tokens; len(codes) > 0; codes = codes[TokenDim:] {
				dot := 0.0
				for j, x := range t.Code {
					dot += float64(x) * float64(int8(codes[j]))
				}
				best = max(best, min(dot/(127*127), 1))
			}
		}
		df := 0
		if f := text.Forms(t.Word, []text.Language{text.English}); len(f) > 0 {
			df = v.df[f[0].Terms[0]]
		}
		score += v.idf(df) * best
		sum += v.idf(df)
	}
	return score / sum
}

// genToken draws codes on few axes, so cosines of 0 and 1 are common.
var genToken = rapid.Custom(func(t *rapid.T) Token {
	out := Token{Word: rapid.SampledFrom(append([]string{"the", "zebra"}, vocabulary...)).Draw(t, "word")}
	if rapid.Bool().Draw(t, "axis") {
		out.Code[rapid.IntRange(0, 3).Draw(t, "at")] = 127
		return out
	}
	for _, i := range []int{0, 1, 2, 63} {
		out.Code[i] = int8(rapid.IntRange(-63, 63).Draw(t, "part"))
	}
	return out
})

// checkSignals compares the signals of a view with the model, and with those of a copy bit by bit.
func checkSignals(t *rapid.T, q, twin *Query, sel, twinSel *Selection, rows []modelRow, words string, vec []float32, keep filter.Expr) {
	all, copied := q.Signals(sel, 100), twin.Signals(twinSel, 100)
	tokens := rapid.SliceOfN(genToken, 0, 3).Draw(t, "tokens")
	late, lateCopied := q.Late(tokens, all), twin.Late(tokens, copied)
	if !slices.Equal(late, lateCopied) {
		t.Fatalf("a copy has another late interaction:\n%v\n%v", late, lateCopied)
	}
	bare := func(list []Signals) []Signals {
		list = slices.Clone(list)
		for i := range list {
			list[i].row, list[i].entry, list[i].InSession = 0, nil, 0
		}
		return list
	}
	if a, b := bare(all), bare(copied); !slices.Equal(a, b) {
		t.Fatalf("a copy has other signals:\n%+v\n%+v", a, b)
	}
	if len(rows) == 0 {
		if len(all) != 0 {
			t.Fatalf("signals of nothing: %v", all)
		}
		return
	}
	v := newNaiveView(rows)
	facets := map[string]map[string]int{}
	for i := range v.notes {
		for key, value := range v.notes[i].Record.Attributes {
			if value, ok := value.(string); ok {
				if facets[key] == nil {
					facets[key] = map[string]int{}
				}
				facets[key][value]++
			}
		}
	}
	for key, f := range q.view.Facets() {
		if !maps.Equal(f.Values, facets[key]) {
			t.Fatalf("of %s are counted %v, want %v", key, f.Values, facets[key])
		}
		delete(facets, key)
	}
	if len(facets) > 0 {
		t.Fatalf("not counted: %v", facets)
	}
	contextual := false
	for _, notes := range v.sessions {
		contextual = contextual || len(notes) > 1
	}
	found, numbers := map[ID]int{}, map[int32]string{}
	for i := range all {
		found[all[i].Note] = i
	}
	for i := range v.notes {
		n := &v.notes[i]
		best, span := v.words(words, i)
		window, session := 0.0, 0.0
		if contextual {
			window, session = v.joined(words, v.near(i, 2), 5*v.note), v.joined(words, v.sessions[v.of[i]], v.session)
		}
		at, ok := found[n.Note]
		if want := filter.Match(keep, &n.Record) && (best > 0 || window > 0 || n.Vector != nil); want != ok {
			t.Fatalf("note %x is a candidate: %v, want %v", n.Note, ok, want)
		}
		if !ok {
			continue
		}
		s := &all[at]
		for name, pair := range map[string][2]float64{
			"words":   {s.Words, best},
			"window":  {s.Window, window},
			"session": {s.Session, session},
			"length":  {float64(s.Length), float64(n.length)},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Fatalf("%s of %x is %v, want %v", name, n.Note, pair[0], pair[1])
			}
		}
		if best > 0 && s.Passage != span && len(n.spans) == 1 {
			t.Fatalf("the best passage of %x is %v, want %v", n.Note, s.Passage, span)
		}
		if s.Dense != (n.Vector != nil) || s.Record().Kind != n.Record.Kind {
			t.Fatalf("%+v is not of %+v", s, n)
		}
		_, named := n.Record.Attributes["session"].(string)
		if named != (s.InSession > 0) {
			t.Fatalf("%x is in session %d", n.Note, s.InSession)
		}
		if of, ok := numbers[s.InSession]; ok && of != v.of[i] && named {
			t.Fatalf("two sessions have the number %d", s.InSession)
		}
		numbers[s.InSession] = v.of[i]
		near := v.near(i, 2)
		here := slices.Index(near, i)
		if opens := here == 0 && len(near) > 1; s.Opens != opens || s.Replies != (here > 0 && strings.Contains(v.notes[near[here-1]].Content, "?")) {
			t.Fatalf("%x opens its session: %v, replies: %v", n.Note, s.Opens, s.Replies)
		}
		if len(tokens) == 0 {
			continue
		}
		lead, around := 0.0, 0.0
		if contextual {
			lead, around = v.late(tokens, near[:here+1]...), v.late(tokens, near...)
		}
		for name, pair := range map[string][2]float64{
			"own": {late[at].Own, v.late(tokens, i)}, "lead": {late[at].Lead, lead}, "around": {late[at].Around, around},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Fatalf("late %s of %x is %v, want %v", name, n.Note, pair[0], pair[1])
			}
		}
	}
	// A query with a small depth returns the best of each list, with the same signals.
	k := rapid.IntRange(1, 5).Draw(t, "depth")
	shallow := bare(q.Signals(sel, k))
	for _, s := range shallow {
		if !slices.Contains(bare(all), s) {
			t.Fatalf("%+v has other signals at depth %d", s, k)
		}
	}
	for _, list := range [][]Hit{q.Lexical(sel, k), q.Vector(sel, k)} {
		for _, h := range list {
			if !slices.ContainsFunc(shallow, func(s Signals) bool { return s.Note == h.Note }) {
				t.Fatalf("%v is missing at depth %d", h, k)
			}
		}
	}
}
