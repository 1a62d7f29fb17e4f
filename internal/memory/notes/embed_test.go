package notes_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// counted is the hash embedder. It counts the texts of each call, and can be told to return invalid
// results.
type counted struct {
	llm.Hash
	calls []int
	spoil func(texts []string, made []memory.Embedding) []memory.Embedding
}

func (e *counted) Embed(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	e.calls = append(e.calls, len(texts))
	made, err := e.Hash.Embed(ctx, s, texts)
	if e.spoil != nil {
		made = e.spoil(texts, made)
	}
	return made, err
}

func TestEmbedAll(t *testing.T) {
	t.Parallel()
	d := open(t)
	texts := make([]string, 70)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	e := &counted{}
	made := must.Get(memory.EmbedAll(t.Context(), e, d.all, texts))(t)
	single := must.Get(memory.EmbedAll(t.Context(), e, d.all, texts[69:]))(t)
	if fmt.Sprint(e.calls) != "[32 32 6 1]" || len(made) != 70 || fmt.Sprint(made[69].Vector) != fmt.Sprint(single[0].Vector) {
		t.Errorf("%d embeddings by calls of %v", len(made), e.calls)
	}
	if made, err := memory.EmbedAll(t.Context(), e, d.all, nil); err != nil || len(made) != 0 {
		t.Errorf("of nothing: %v, %v", made, err)
	}
	for says, spoil := range map[string]func(made []memory.Embedding) []memory.Embedding{
		"returned 1 vectors for 2 texts": func(made []memory.Embedding) []memory.Embedding { return made[1:] },
		"383 dimensions instead":         func(made []memory.Embedding) []memory.Embedding { made[1].Vector = made[1].Vector[1:]; return made },
		"0 dimensions instead":           func(made []memory.Embedding) []memory.Embedding { made[0] = memory.Embedding{}; return made },
		"element 5 ":                     func(made []memory.Embedding) []memory.Embedding { made[1].Vector[5] = float32(math.NaN()); return made },
		"element 6 ": func(made []memory.Embedding) []memory.Embedding {
			made[0].Vector[6] = float32(math.Inf(1))
			return made
		},
		"element 7 ": func(made []memory.Embedding) []memory.Embedding { made[0].Vector[7] = -65505; return made },
	} {
		e := &counted{spoil: func(_ []string, made []memory.Embedding) []memory.Embedding { return spoil(made) }}
		_, err := memory.EmbedAll(t.Context(), e, d.all, texts[:2])
		if !fault.Is(err, fault.ModelFailed) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}

// Bulks and imports embed in small batches. A text that cannot be embedded does not cost the others
// their vectors; a job embeds it later.
func TestBulkEmbedding(t *testing.T) {
	t.Parallel()
	d := open(t)
	e := &counted{spoil: func(texts []string, made []memory.Embedding) []memory.Embedding {
		for i := range texts {
			if strings.Contains(texts[i], "poison") {
				made[i].Vector[0] = float32(math.NaN())
			}
		}
		return made
	}}
	service := must.Get(notes.New(notes.Deps{Store: d.store, Embedders: embedders{hash: e, slow: slowEmbedder{}}}, notes.Config{}))(t)
	c := d.collection("bulk")
	lines := make([]notes.BulkLine, 100)
	raw := make([]notes.ImportLine, 100)
	for i := range lines {
		text := fmt.Sprint("line ", i)
		if i == 40 {
			text = "poison"
		}
		lines[i].Note = notes.NewNote{Content: text, Infer: new(false)}
		raw[i] = notes.ImportLine{Line: i + 1, Raw: fmt.Appendf(nil, `{"id":%q,"content":%q}`, uuid.Must(uuid.NewV7()), text)}
	}
	written := must.Get(service.AddMany(t.Context(), d.all, "bulk", lines))(t)
	im := must.Get(service.Importer(t.Context(), d.all, "bulk", uuid.Nil))(t)
	imported := must.Get(im.Lines(t.Context(), raw))(t)
	for i := range lines {
		for _, r := range []struct {
			id  uuid.UUID
			err error
		}{{written[i].ID, written[i].Err}, {imported[i].ID, imported[i].Err}} {
			d.must(r.err)
			n, ok := d.read(c, r.id)
			if !ok || (n.Vector == nil) != (i == 40) {
				t.Errorf("line %d: %v with %d numbers", i, ok, len(n.Vector))
			}
		}
	}
	for _, n := range e.calls {
		if n > memory.EmbedBatch {
			t.Errorf("%d texts at once", n)
		}
	}
	jobs := must.Get(d.store.ListJobs(t.Context(), d.all, memory.JobQuery{Collection: c.ID, Limit: 10}))(t)
	if len(jobs) != 2 || string(jobs[0].Payload) != `{"embed_only":true}` {
		t.Errorf("jobs %+v", jobs)
	}
}

// A bulk is written whole when its vectors take longer than it may wait; jobs make the missing
// ones.
func TestBulkDoesNotWaitForVectors(t *testing.T) {
	t.Parallel()
	d := open(t)
	e := &counted{}
	service := must.Get(notes.New(notes.Deps{Store: d.store, Embedders: embedders{hash: e, slow: slowEmbedder{}}}, notes.Config{EmbedFor: time.Nanosecond}))(t)
	c := d.collection("bulk")
	lines := make([]notes.BulkLine, 100)
	for i := range lines {
		lines[i].Note = notes.NewNote{Content: fmt.Sprint("line ", i), Infer: new(false)}
	}
	written := must.Get(service.AddMany(t.Context(), d.all, "bulk", lines))(t)
	embedded := 0
	for _, w := range written {
		d.must(w.Err)
		if n, _ := d.read(c, w.ID); n.Vector != nil {
			embedded++
		}
	}
	jobs := must.Get(d.store.ListJobs(t.Context(), d.all, memory.JobQuery{Collection: c.ID, Limit: 200}))(t)
	if embedded > memory.EmbedBatch || len(jobs) != len(lines)-embedded {
		t.Errorf("%d notes have vectors, %d jobs wait", embedded, len(jobs))
	}
}
