package rules

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

// showGraph writes what a half gives, to be judged.
var showGraph = flag.String("graph", "", "log the edges of this half of the written graphs: choose or believe")

// writtenTalk is a dialogue or a note of testdata/graph.txt.
type writtenTalk struct {
	half, kind, name         string
	at                       time.Time
	turns                    [][2]string
	wanted, never, good, bad []string
}

func writtenTalks(t *testing.T) []writtenTalk {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "graph.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []writtenTalk
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		mark, rest, _ := strings.Cut(line, " ")
		if line == "" || mark == "#" {
			continue
		}
		if mark == "==" {
			f := strings.Fields(rest)
			at, err := time.Parse(time.DateOnly, f[3])
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, writtenTalk{half: f[0], kind: f[1], name: f[2], at: at.Add(12 * time.Hour)})
			continue
		}
		talk := &out[len(out)-1]
		switch mark {
		case "?":
			talk.wanted = append(talk.wanted, rest)
		case "!":
			talk.never = append(talk.never, rest)
		case "+":
			talk.good = append(talk.good, rest)
		case "-":
			talk.bad = append(talk.bad, rest)
		default:
			who, said, _ := strings.Cut(line, ": ")
			talk.turns = append(talk.turns, [2]string{who, said})
		}
	}
	return out
}

// memoryGraph is a list of memories with the edges that they state.
type memoryGraph struct {
	memoryList
	edges map[mem0.Triple][]string // the memories that state each
}

// learnAll brings facts into the list and into the graph, as policy mem0g does.
func (g *memoryGraph) learnAll(facts []string, user string) {
	was := slices.Clone(g.texts)
	for _, f := range facts {
		g.learn(f)
	}
	var changed []string
	for _, s := range g.texts {
		if !slices.Contains(was, s) {
			changed = append(changed, s)
		}
	}
	for e, from := range g.edges {
		from = slices.DeleteFunc(from, func(s string) bool { return !slices.Contains(g.texts, s) })
		if g.edges[e] = from; len(from) == 0 {
			delete(g.edges, e)
		}
	}
	entities := findEntities(mem0.EntitiesInput{Texts: changed, User: user}).Entities
	found := findRelations(mem0.RelationsInput{Texts: changed, Entities: entities, User: user}).Relations
	in := mem0.ConflictsInput{New: found, Texts: changed}
	for e := range g.edges {
		if !slices.Contains(found, e) {
			in.Existing = append(in.Existing, e)
		}
	}
	if len(found) > 0 {
		for _, e := range findConflicts(in).Invalidate {
			delete(g.edges, e)
		}
	}
	for _, e := range found {
		g.edges[e] = append(g.edges[e], changed...)
	}
}

// graphOfTalk returns the edges at the end of a talk. Its turns are a minute apart.
func graphOfTalk(talk *writtenTalk) (edges, facts []string) {
	g := memoryGraph{edges: map[mem0.Triple][]string{}}
	var before []memory.Utterance
	for i, turn := range talk.turns {
		u := memory.Utterance{Role: memory.RoleUser, Name: turn[0], Content: turn[1], Time: talk.at.Add(time.Duration(i) * time.Minute)}
		if turn[0] == "assistant" {
			u.Role, u.Name = memory.RoleAssistant, ""
		}
		if u.Role == memory.RoleUser {
			g.learnAll(extract(mem0.ExtractInput{Recent: before[max(0, len(before)-10):], New: []memory.Utterance{u}}).Facts, turn[0])
		}
		before = append(before, u)
	}
	for e := range g.edges {
		edges = append(edges, e.Source+" | "+e.Relation+" | "+e.Destination)
	}
	slices.Sort(edges)
	return edges, g.texts
}

// Of the edges of talk that was written for this, at least 80 of 100 are sound, in the half on which the rules were
// not chosen too; and what ended, and days, are not connected (C196, C200). Most edges are judged, else a new review
// is due.
func TestWrittenGraphs(t *testing.T) {
	t.Parallel()
	type tally struct{ edges, good, bad, wanted, kept, never, live int }
	sum := map[string]*tally{"choose": {}, "believe": {}}
	for _, talk := range writtenTalks(t) {
		edges, facts := graphOfTalk(&talk)
		n := sum[talk.half]
		n.edges += len(edges)
		n.wanted += len(talk.wanted)
		n.never += len(talk.never)
		var report []string
		for _, e := range edges {
			switch {
			case slices.Contains(talk.good, e):
				n.good++
				report = append(report, "good    "+e)
			case slices.Contains(talk.bad, e):
				n.bad++
				report = append(report, "bad     "+e)
			default:
				report = append(report, "new     "+e)
			}
		}
		live := slices.DeleteFunc(slices.Clone(edges), func(e string) bool { return endingRelation(strings.Split(e, " | ")[1]) })
		for _, pair := range talk.wanted {
			if connects(edges, pair) {
				n.kept++
			} else {
				report = append(report, "missing "+pair)
			}
		}
		for _, pair := range talk.never {
			if connects(live, pair) {
				n.live++
				report = append(report, "LIVE    "+pair)
			}
		}
		if *showGraph == talk.half {
			t.Logf("%s %s\n  facts:\n    %s\n  edges:\n    %s", talk.kind, talk.name, strings.Join(facts, "\n    "), strings.Join(report, "\n    "))
		}
	}
	for half, n := range sum {
		t.Logf("%s: of %d edges %d are good and %d bad, %d of %d wanted pairs are connected, %d of %d that must not be are", half, n.edges, n.good, n.bad, n.kept, n.wanted, n.live, n.never)
		if judged := n.good + n.bad; 5*n.good < 4*judged || 3*judged < 2*n.edges || n.live > 1 || 4*n.kept < 3*n.wanted {
			t.Errorf("%s: too few edges are good or judged, or too many hold that should not", half)
		}
	}
}

// connects reports whether an edge connects two names. The other end may say more than a name.
func connects(edges []string, pair string) bool {
	one, other, _ := strings.Cut(pair, " | ")
	return slices.ContainsFunc(edges, func(e string) bool {
		ends := strings.Split(e, " | ")
		return ends[0] == one && strings.Contains(ends[2], other) || ends[0] == other && strings.Contains(ends[2], one)
	})
}

// endingRelation reports whether a relation says that something ended, or does not hold.
func endingRelation(relation string) bool {
	return strings.HasPrefix(relation, negatedRelation) || saysEnd[relation] || relation == "gave_away" || relation == "transferred_to"
}
