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

// saidTurns returns all turns, dialogue by dialogue.
func saidTurns(b testing.TB) (out []said) {
	b.Helper()
	for _, d := range must.Get(eval.ReadCorpus(filepath.Join("..", "..", eval.CorpusDir)))(b) {
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
	return out
}

// BenchmarkCorpus measures a gateway without a model on what people say, where BenchmarkGateway has drawn
// words. "evolved" is an add until the policy has evolved the note, with the hashed embedder, one after the
// other; each 1,000 are a collection. "ingest" is English messages, 50 a call, until no job is left, with
// the encoder for English (make encoder): 1,000, or SLIPBOX_INGEST of them.
func BenchmarkCorpus(b *testing.B) {
	turns := saidTurns(b)
	b.Run("evolved", func(b *testing.B) {
		g := newGateway(b)
		for _, policyName := range []string{memory.PolicyAMEM, "mem0"} {
			b.Run(policyName, func(b *testing.B) { g.evolvesSaid(b, policyName, turns) })
		}
	})
	b.Run("ingest", func(b *testing.B) {
		g := newGatewayWith(b, llm.EmbedEnglish)
		english := slices.DeleteFunc(slices.Clone(turns), func(s said) bool { return !s.english })
		for _, policyName := range []string{memory.PolicyNone, memory.PolicyAMEM, "mem0", "memoryos"} {
			b.Run(policyName, func(b *testing.B) { g.ingests(b, policyName, firstOf(english, ingested(b))) })
		}
	})
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
