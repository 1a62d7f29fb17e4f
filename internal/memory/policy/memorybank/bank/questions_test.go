package bank_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/encoder/weights/weightstest"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

var table = flag.String("table", "", "write what the published questions find to this file; needs EVAL_DATA")

// asked is a person's questions.
type asked struct {
	name      string
	questions []string
}

// questions reads the published questions from the folder EVAL_DATA, or returns our own sample.
func questions(t *testing.T) []asked {
	t.Helper()
	raw := sample(t, "questions.jsonl")
	if folder := os.Getenv("EVAL_DATA"); folder != "" {
		var err error
		if raw, err = os.ReadFile(filepath.Join(folder, "memorybank_en_questions.jsonl")); err != nil {
			t.Fatal(err)
		}
	}
	var out []asked
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		var one map[string][]string
		must.Do(t, json.Unmarshal(lines.Bytes(), &one))
		for _, name := range slices.Sorted(maps.Keys(one)) {
			out = append(out, asked{name, one[name]})
		}
	}
	return out
}

// people returns the published persons by their names in the file.
func people(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	all := published(t)
	if os.Getenv("EVAL_DATA") == "" {
		maps.Copy(all, decodedPeople(t, sample(t, "faded.json")))
	}
	return all
}

func decodedPeople(t *testing.T, raw []byte) map[string]json.RawMessage {
	t.Helper()
	var all map[string]json.RawMessage
	must.Do(t, json.Unmarshal(raw, &all))
	return all
}

// person is a collection with one person's memory.
type person struct {
	v      *vault
	ref    string
	places map[uuid.UUID]string
}

// newPerson creates a collection and imports a person's memory, if there is one.
func newPerson(v *vault, ref, name string, doc json.RawMessage) *person {
	v.t.Helper()
	v.collection(ref)
	p := &person{v: v, ref: ref, places: map[uuid.UUID]string{}}
	if doc == nil {
		return p
	}
	one := must.Get(json.Marshal(map[string]json.RawMessage{name: doc}))(v.t)
	v.imports(ref, one)
	turns := map[string]int{}
	last := map[string]any{}
	for _, m := range v.list(ref, memory.KindMessage) {
		date := m.OccurredAt.UTC().Format("2006-01-02")
		if turn := m.Attributes[memory.AttrTurn]; turns[date] == 0 || turn != last[date] {
			turns[date]++
			last[date] = turn
		}
		p.places[m.ID] = fmt.Sprintf("%s#%d", date, turns[date])
	}
	return p
}

// place names what was found: a message of this person, or "stranger".
func (p *person) place(id uuid.UUID, kind memory.Kind) string {
	p.v.t.Helper()
	if kind != memory.KindMessage {
		return string(kind)
	}
	where, ok := p.places[id]
	if !ok {
		p.v.t.Errorf("%s finds what another person said", p.ref)
	}
	return where
}

func (p *person) search(question string, k int) []string {
	p.v.t.Helper()
	r := must.Get(p.v.recall.Search(p.v.t.Context(), p.v.s, p.v.view(p.ref), recall.Query{Text: question, K: k}))(p.v.t)
	var out []string
	for _, h := range r.Hits {
		out = append(out, p.place(h.ID, h.Note.Kind))
	}
	return once(out)
}

// context returns what a context contains for a question, without its constant parts: the person,
// and the newest messages unless a search finds them.
func (p *person) context(question string, found []string) []string {
	p.v.t.Helper()
	c := must.Get(p.v.recall.Context(p.v.t.Context(), p.v.s, p.v.view(p.ref), recall.ContextQuery{Text: question}))(p.v.t)
	var out []string
	for _, part := range c.Parts {
		for _, cited := range part.Citations {
			n := must.Get(p.v.store.Notes(p.v.t.Context(), p.v.s, p.v.view(p.ref), []uuid.UUID{cited.Note}, memory.ReadOptions{}))(p.v.t)
			where := p.place(n[0].ID, n[0].Kind)
			if part.Kind != "profile" && (part.Kind != "messages" || slices.Contains(found, where)) {
				out = append(out, where)
			}
		}
	}
	return once(out)
}

// once removes repeats: both messages of a turn may be found.
func once(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// ask asks a person's questions. Each finds something if the person has a memory, and nothing
// otherwise.
func (p *person) ask(a asked) [][]string {
	p.v.t.Helper()
	var rows [][]string
	for i, q := range a.questions {
		three, six := p.search(q, 3), p.search(q, 6)
		context := p.context(q, three)
		if got := len(three) + len(six) + len(context); len(p.places) == 0 && got != 0 || len(p.places) > 0 && (len(three) == 0 || len(context) == 0) {
			p.v.t.Errorf("%s, question %d: %v, %v, %v", p.ref, i+1, three, six, context)
		}
		rows = append(rows, []string{a.name, fmt.Sprint(i + 1), cell(three), cell(six), cell(context)})
	}
	return rows
}

func cell(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, " ")
}

// TestQuestions asks everyone's questions of their own memory, as published; no other person's
// words are found (C114). Names are looked up as they are written. Four published names have spaces
// around them in the file, so these persons have a memory only if the spaces are removed.
func TestQuestions(t *testing.T) {
	t.Parallel()
	v := open(t)
	if *table != "" {
		v.embed(llm.Config{EmbedProvider: llm.EmbedLocal, EncoderDir: weightstest.Dir(t)})
	}
	all := people(t)
	trimmed := map[string]string{}
	for key := range all {
		trimmed[strings.TrimSpace(key)] = key
	}
	var rows, spaced [][]string
	for i, a := range questions(t) {
		p := newPerson(v, fmt.Sprintf("person-%d", i), a.name, all[a.name])
		rows = append(rows, p.ask(a)...)
		if key, ok := trimmed[a.name]; ok && all[a.name] == nil {
			spaced = append(spaced, newPerson(v, fmt.Sprintf("spaced-%d", i), key, all[key]).ask(a)...)
		}
	}
	if len(rows) == 0 {
		t.Fatal("nobody asked")
	}
	if *table != "" {
		v.must(os.WriteFile(*table, []byte(page(rows, spaced)), 0o600))
	}
}

// page returns the table as a document. It has places and numbers, but no words of the data.
func page(rows, spaced [][]string) string {
	var b strings.Builder
	write := func(rows [][]string) {
		b.WriteString("| person | question | search, k = 3 | search, k = 6 | context |\n|---|---|---|---|---|\n")
		for _, r := range rows {
			b.WriteString("| " + strings.Join(r, " | ") + " |\n")
		}
	}
	b.WriteString(`# What MemoryBank's published questions find

The English test memory of MemoryBank (MIT, (c) 2023 Wanjun Zhong) has 15 persons, ten days each, and 100
questions without gold evidence. So this is a list, not a score. It can be read beside the data, which is not
part of this repository. Each person has a collection of their own with the policy ` + "`memorybank`" + `. Nothing is
summarized or forgotten, and the local encoder embeds.

A hit is written date#turn; turns are counted from 1 within their day. Both messages of a turn count once, so
three hits can be two turns. The context has 2,000 tokens and the policy's three candidates. Listed is what it
shows in answer to the question, without the person. Of the newest messages, which it always shows, it lists
those that the search finds too.

Made by ` + "`EVAL_DATA=folder go test ./internal/memory/policy/memorybank/bank -run TestQuestions -table \"$PWD/internal/eval/reviews/memorybank-questions.md\"`" + `.
This test also fails when a question finds what another person said (none did).

## As the names are written

`)
	write(rows)
	if len(spaced) > 0 {
		b.WriteString(`
## Names that have spaces around them in the memory file

Under the names in the questions these persons have no memory, so nothing is found above. With the spaces removed
they have ten days each, like the others.

`)
		write(spaced)
	}
	return b.String()
}
