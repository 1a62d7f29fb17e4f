// Command texts writes what tools/train learns from and is measured on, as the gateway reads it:
//
//	go run ./tools/train/texts WEIGHTS CORPUS DATA > texts.ndjson
//
// WEIGHTS is the folder with the weights of both encoders, CORPUS that of the labeled dialogues, DATA that of published data
// ("": none). Each line is a conversation. A text comes with the numbers of its pieces by the tokenizers of the product, and with
// which of them are index terms, so training needs no tokenizer of its own.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/eval/reference"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: texts WEIGHTS CORPUS DATA")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "texts:", err)
		os.Exit(1)
	}
}

// conversation is a line of the output.
type conversation struct {
	Set     string            `json:"set"`
	ID      string            `json:"id"`
	Part    string            `json:"part"`   // train: may be learned from; held: only measures
	Group   string            `json:"writer"` // who wrote it
	Turns   []read            `json:"turns"`
	IDs     []string          `json:"ids"` // of the turns
	Queries []query           `json:"queries"`
	Files   map[string]string `json:"files,omitempty"` // SHA-256 of what was read, in the first line of a set
}

// read is a text as both encoders read it.
type read struct {
	Text    string `json:"text"`
	English bool   `json:"english"` // the encoder for English reads it
	MiniLM  pieces `json:"minilm"`
	E5      pieces `json:"e5"`
}

// pieces are the numbers of a text's pieces, and the places of those that are index terms.
type pieces struct {
	IDs   []int32 `json:"ids"`
	Terms []int   `json:"terms"`
}

type query struct {
	read
	Kind   string `json:"kind"`
	Gold   []int  `json:"gold"`
	Before int    `json:"before"` // turns that may be found
	Near   []int  `json:"near"`   // found by words, best first
}

// nears is how many turns that words find come with a query.
const nears = 24

type reader struct{ english, many *encoder.Encoder }

func (r *reader) read(s string, query bool) read {
	out := read{Text: s, English: llm.IsEnglish(r.english, memory.Prose(s)), MiniLM: piecesOf(r.english, s, query), E5: piecesOf(r.many, s, query)}
	return out
}

func piecesOf(e *encoder.Encoder, s string, query bool) pieces {
	ids, skip, words := e.Pieces(s, query)
	out := pieces{IDs: ids, Terms: []int{}}
	for i, isTerm := range llm.IndexTerms(s, words) {
		if isTerm {
			out.Terms = append(out.Terms, skip+i)
		}
	}
	return out
}

func run(weights, corpus, data string) error {
	english, err := encoder.Open(encoder.MiniLM, weights)
	if err != nil {
		return err
	}
	many, err := encoder.Open(encoder.E5, weights)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	out := &output{reader: reader{english, many}, encoder: json.NewEncoder(w)}
	out.encoder.SetEscapeHTML(false)
	if err := out.corpus(corpus); err != nil {
		return err
	}
	if data != "" {
		if err := out.published(data); err != nil {
			return err
		}
	}
	return w.Flush()
}

type output struct {
	reader  reader
	encoder *json.Encoder
}

// corpus writes the labeled dialogues. What a labeler noted of a turn asks for that turn, too.
func (o *output) corpus(dir string) error {
	all, err := eval.ReadCorpus(dir)
	if err != nil {
		return err
	}
	d, err := eval.AsData(all)
	if err != nil {
		return err
	}
	for i := range d.Conversations {
		c, from := &d.Conversations[i], &all[i]
		c.Questions = slices.DeleteFunc(c.Questions, func(q eval.Question) bool { return q.Category == "rare word" })
		for _, f := range from.Facts {
			gold := []string{fmt.Sprint(f.Turn)}
			for _, g := range from.Facts {
				if slices.Contains(f.Same, g.Number) || slices.Contains(g.Same, f.Number) {
					gold = append(gold, fmt.Sprint(g.Turn))
				}
			}
			c.Questions = append(c.Questions, eval.Question{Text: f.Text, Category: "fact", Gold: gold})
		}
		part := "train"
		if from.Believed() {
			part = "held"
		}
		if err := o.write("corpus", part, from.Writer(), c, nil); err != nil {
			return err
		}
		if notes := notesOf(all, i); len(notes.Questions) > 0 {
			if err := o.write("notes", part, from.Writer(), notes, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// strangers is how many notes of other dialogues are among those of one, at least, where its language has so many.
const strangers = 60

// notesOf returns what a careful reader noted of a dialogue, after notes of others in its language that are of the same
// part, with the questions and utterances that ask for it: notes in the third person are found otherwise than what was said.
func notesOf(all []eval.Labeled, at int) *eval.Conversation {
	own := &all[at]
	c := &eval.Conversation{ID: own.ID + "-notes"}
	for i := 1; i < len(all) && len(c.Turns) < strangers; i++ {
		other := &all[(at+i)%len(all)]
		if other.Lang == own.Lang && other.Believed() == own.Believed() {
			c.Turns = append(c.Turns, notes(other)...)
		}
	}
	before := len(c.Turns)
	c.Turns = append(c.Turns, notes(own)...)
	add := func(text, kind string, turns []int, end int) {
		q := eval.Question{Text: text, Category: kind, Before: before}
		for _, f := range own.Facts {
			if f.Turn < end {
				q.Before++
			}
			if slices.Contains(turns, f.Turn) {
				q.Gold = append(q.Gold, noteID(own, &f))
			}
		}
		if len(q.Gold) > 0 && len(q.Gold) <= 2*len(turns) {
			c.Questions = append(c.Questions, q)
		}
	}
	for _, q := range own.Questions {
		add(q.Text, "question", q.Gold, len(own.Turns))
	}
	for _, r := range own.Recalls {
		add(own.Turns[r.Turn].Text, "recall", r.Gold, r.Turn)
	}
	return c
}

// notes returns the notes of a dialogue, in the order in which they were told.
func notes(d *eval.Labeled) (out []eval.Turn) {
	facts := slices.Clone(d.Facts)
	slices.SortStableFunc(facts, func(a, b eval.Label) int { return cmp.Compare(a.Turn, b.Turn) })
	for i := range facts {
		out = append(out, eval.Turn{ID: noteID(d, &facts[i]), Text: facts[i].Text})
	}
	return out
}

func noteID(d *eval.Labeled, f *eval.Label) string { return fmt.Sprintf("%s %d", d.ID, f.Number) }

// heldShare is that one conversation in so many of the other sets that may be learned from is held back.
const heldShare = 4

// published writes the sets of a data folder. Nothing is learned from LoCoMo and BEAM, whose licenses do not allow it, nor from
// MADial, by which the gain on other talk is judged.
func (o *output) published(dir string) error {
	sets := []struct {
		read  func() (*eval.Dataset, error)
		learn bool
	}{
		{func() (*eval.Dataset, error) { return eval.ReadRealMem(dir) }, true},
		{func() (*eval.Dataset, error) { return eval.ReadVehicle(dir) }, true},
		{func() (*eval.Dataset, error) { return eval.ReadMADial(dir, false) }, false},
		{func() (*eval.Dataset, error) { return eval.ReadMADial(dir, true) }, false},
		{func() (*eval.Dataset, error) { return eval.ReadLoCoMo(dir) }, false},
		{func() (*eval.Dataset, error) { return eval.ReadBEAM(dir) }, false},
	}
	for _, s := range sets {
		d, err := s.read()
		if err != nil {
			return err
		}
		for i := range d.Conversations {
			part := "held"
			if s.learn && i%heldShare != heldShare-1 {
				part = "train"
			}
			files := d.Files
			if i > 0 {
				files = nil
			}
			if err := o.write(d.Name, part, d.Name, &d.Conversations[i], files); err != nil {
				return err
			}
		}
	}
	return nil
}

// bare reports whether the speakers of a conversation have no names, as one in four that is learned from.
func bare(id string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return h.Sum32()%4 == 0
}

func (o *output) write(set, part, group string, c *eval.Conversation, files map[string]string) error {
	out := conversation{Set: set, ID: c.ID, Part: part, Group: group, Files: files}
	place := make(map[string]int, len(c.Turns))
	docs := make([][]string, len(c.Turns))
	for i := range c.Turns {
		t := &c.Turns[i]
		said := t.Text
		if name, rest, ok := strings.Cut(said, ": "); ok && name == cmp.Or(t.Speaker, t.Role) && (t.Role == "assistant" || part == "train" && bare(c.ID)) {
			said = rest
		}
		place[t.ID] = i
		out.IDs = append(out.IDs, t.ID)
		docs[i] = text.Terms(t.Text)
		out.Turns = append(out.Turns, o.reader.read(said, false))
	}
	score := reference.BM25(docs)
	for i := range c.Questions {
		q := &c.Questions[i]
		made := query{read: o.reader.read(q.Text, true), Kind: q.Category, Gold: []int{}, Near: []int{}, Before: cmp.Or(q.Before, len(c.Turns))}
		for _, id := range q.Gold {
			if at, ok := place[id]; ok && at < made.Before && !slices.Contains(made.Gold, at) {
				made.Gold = append(made.Gold, at)
			}
		}
		if len(made.Gold) == 0 {
			continue
		}
		scores := score(text.Terms(q.Text))
		for _, at := range reference.Rank(scores) {
			if len(made.Near) == nears || scores[at] <= 0 {
				break
			}
			if at < made.Before {
				made.Near = append(made.Near, at)
			}
		}
		out.Queries = append(out.Queries, made)
	}
	if err := o.encoder.Encode(out); err != nil {
		return fmt.Errorf("write %s: %w", c.ID, err)
	}
	return nil
}
