package bench_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/test/must"
)

// said is a turn of the dialogues in corpus/dialogues.
type said struct {
	message eval.Message
	english bool
}

// saidTurns returns all turns, dialogue by dialogue, and what is asked about them: in English (true), and in other languages.
func saidTurns(b testing.TB) (out []said, questions map[bool][]string) {
	b.Helper()
	questions = map[bool][]string{}
	for _, d := range must.Get(eval.ReadCorpus(filepath.Join("..", "..", eval.CorpusDir)))(b) {
		for _, q := range d.Questions {
			questions[d.Lang == "en"] = append(questions[d.Lang == "en"], q.Text)
		}
		for i := range d.Turns {
			t := &d.Turns[i]
			at := must.Get(t.At())(b)
			m := eval.Message{Role: "user", Name: t.Speaker, Content: t.Text, OccurredAt: &at, Session: d.ID}
			if t.Role == "assistant" {
				m.Role, m.Name = t.Role, ""
			}
			out = append(out, said{m, d.Lang == "en"})
		}
	}
	return out, questions
}

// BenchmarkCorpus measures a gateway without a model on what people say, where BenchmarkGateway has drawn
// words. "evolved" is an add until the policy has evolved the note, with the hashed embedder, one after the
// other; each 1,000 are a collection. "ingest" is messages, 50 a call, until no job is left: English ones with
// the encoder for English, and others with that for all languages (make encoder); 1,000, or SLIPBOX_INGEST of them.
// "search" is a hybrid search for five of as many notes: of drawn words, and of what people say with each embedder.
func BenchmarkCorpus(b *testing.B) {
	turns, questions := saidTurns(b)
	languages := []struct {
		embedder string
		english  bool
	}{{llm.EmbedEnglish, true}, {llm.EmbedMultilingual, false}}
	in := func(english bool) []said {
		return firstOf(slices.DeleteFunc(slices.Clone(turns), func(s said) bool { return s.english != english }), ingested(b))
	}
	b.Run("evolved", func(b *testing.B) {
		g := newGateway(b)
		for _, policyName := range []string{memory.PolicyAMEM, "mem0"} {
			b.Run(policyName, func(b *testing.B) { g.evolvesSaid(b, policyName, turns) })
		}
	})
	b.Run("ingest", func(b *testing.B) {
		for _, of := range languages {
			b.Run(of.embedder, func(b *testing.B) {
				g := newGatewayWith(b, of.embedder)
				for _, policyName := range []string{memory.PolicyNone, memory.PolicyAMEM, "mem0", "memoryos"} {
					b.Run(policyName, func(b *testing.B) { g.ingests(b, policyName, in(of.english)) })
				}
			})
		}
	})
	b.Run("search", func(b *testing.B) {
		g := newGateway(b)
		b.Run("drawn", func(b *testing.B) { g.searchesSaid(b, g.lines(ingested(b)), g.text.Queries(256)) })
		b.Run(llm.EmbedHash, func(b *testing.B) { g.searchesSaid(b, linesOf(in(true)), questions[true]) })
		for _, of := range languages {
			b.Run(of.embedder, func(b *testing.B) {
				newGatewayWith(b, of.embedder).searchesSaid(b, linesOf(in(of.english)), questions[of.english])
			})
		}
	})
}

// linesOf returns turns as notes for a bulk.
func linesOf(turns []said) []notes.BulkLine {
	out := make([]notes.BulkLine, len(turns))
	for i := range out {
		out[i].Note.Content, out[i].Note.OccurredAt = turns[i].message.Content, turns[i].message.OccurredAt
	}
	return out
}

func (g *gateway) searchesSaid(b *testing.B, lines []notes.BulkLine, questions []string) {
	c := g.newCollection(b, memory.PolicyNone)
	if last := g.fill(b, c, lines); last != nil {
		g.waitFor(b, last)
	}
	g.warm(b, c, questions[0])
	measure(b, func(i int) time.Duration { return g.search(b, g.Recall, c, questions[i*37%len(questions)]) })
}

// ingested returns how many messages are ingested.
func ingested(b *testing.B) int {
	b.Helper()
	if n := os.Getenv("SLIPBOX_INGEST"); n != "" {
		return must.Get(strconv.Atoi(n))(b)
	}
	return 1000
}

// firstOf returns the first n turns. Where there are fewer, they are said again with a number, since what is there is not stored twice.
func firstOf(turns []said, n int) []said {
	out := slices.Clone(turns[:min(n, len(turns))])
	for i := len(out); i < n; i++ {
		next := turns[i%len(turns)]
		next.message.Content += " " + strconv.Itoa(i)
		out = append(out, next)
	}
	return out
}

func (g *gateway) evolvesSaid(b *testing.B, policyName string, turns []said) {
	const size = 1000
	client := eval.Client{BaseURL: g.URL(), Key: g.key}
	var c memory.Collection
	timed(b, func(i int) error {
		if i%size == 0 {
			c = g.newCollection(b, policyName)
		}
		s := turns[i*37%len(turns)] // all files take part in a short run
		if policyName == memory.PolicyAMEM {
			w, err := g.Notes.Add(b.Context(), g.scope, c.ID.String(), notes.NewNote{Content: s.message.Content, OccurredAt: s.message.OccurredAt}, memory.Request{})
			if err != nil {
				return err
			}
			g.waitFor(b, w.Job)
			return nil
		}
		_, err := client.AddEvolved(b.Context(), c.ID.String(), []eval.Message{s.message})
		return err
	})
}

func (g *gateway) ingests(b *testing.B, policyName string, turns []said) {
	client := eval.Client{BaseURL: g.URL(), Key: g.key}
	var took, cpu time.Duration
	rounds := 0
	for b.Loop() {
		c := g.newCollection(b, policyName)
		start, used := time.Now(), processorTime(b)
		for part := range slices.Chunk(turns, 50) {
			messages := make([]eval.Message, len(part))
			for i := range part {
				messages[i] = part[i].message
				if policyName == "memoryos" {
					messages[i].Name = "" // it remembers one person
				}
			}
			must.Get(client.AddMessages(b.Context(), c.ID.String(), messages))(b)
		}
		must.Do(b, eval.Drain(b.Context(), &client, c.ID.String(), len(turns), nil))
		took += time.Since(start)
		cpu += processorTime(b) - used
		rounds++
	}
	n := float64(rounds * len(turns))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took.Seconds()/float64(rounds), "s")
	b.ReportMetric(n/took.Seconds(), "notes/s")
	b.ReportMetric(cpu.Seconds()*1000/n, "cpu-ms/note")
}
