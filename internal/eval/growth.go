package eval

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// GrowthPoint is the result of a fixed set of questions at one size of a collection.
type GrowthPoint struct {
	Notes    int      `json:"notes"`
	Recall10 Interval `json:"recall@10"`
	NDCG10   Interval `json:"nDCG@10"`
	Took     Latency  `json:"took_ms"`
	Wall     Latency  `json:"wall_ms"`
	Loading  float64  `json:"loading_seconds"` // for the notes added since the previous point
}

// growthBatch is the number of notes per request.
const growthBatch = 500

// Grow loads one conversation and measures its questions at each of the sizes (ascending), adding
// notes about other topics in between. Before measuring it asks all questions once, so that the
// index is warm.
func Grow(ctx context.Context, c *Client, d *Dataset, name string, v Variant, sizes []int, logf func(format string, args ...any)) ([]GrowthPoint, error) {
	only := *d
	only.Conversations = d.Conversations[:1]
	b, err := Open(ctx, c, &only, name, "none", logf)
	if err != nil {
		return nil, err
	}
	loaded := &b.Loaded[0]
	others := newDistractors()
	have := len(only.Conversations[0].Turns)
	var out []GrowthPoint
	for _, size := range sizes {
		start, logged := time.Now(), time.Now()
		for have < size {
			n := min(growthBatch, size-have)
			lines, err := c.AddNotes(ctx, loaded.Collection, others.next(n))
			if err != nil {
				return nil, fmt.Errorf("add notes: %w", err)
			}
			for _, l := range lines {
				if l.Error != nil {
					return nil, fmt.Errorf("line %d: %w", l.Line, l.Error)
				}
				loaded.IDs[l.ID] = "other:" + l.ID
			}
			have += n
			if time.Since(logged) > 5*time.Second {
				logged = time.Now()
				logf("growth: %d of %d notes", have, size)
			}
		}
		if err := Drain(ctx, c, loaded.Collection, have, nil); err != nil {
			return nil, err
		}
		loading := time.Since(start).Seconds()
		if _, err := b.Ask(ctx, v); err != nil {
			return nil, err
		}
		rows, err := b.Ask(ctx, v)
		if err != nil {
			return nil, err
		}
		whole := func(r *Row) bool { return r.Question.Category != d.Apart }
		var wall []float64
		for i := range rows {
			wall = append(wall, milliseconds(rows[i].Ranking.Wall))
		}
		p := GrowthPoint{
			Notes: have, Loading: loading, Took: tookOf(rows), Wall: latency(wall),
			Recall10: bootstrap(column(rows, b.metric("recall@10"), whole)), NDCG10: bootstrap(column(rows, b.metric("nDCG@10"), whole)),
		}
		logf("growth: %d notes: recall@10 %.4f, nDCG@10 %.4f, p50 %.2f ms, p95 %.2f ms", have, p.Recall10.Mean, p.NDCG10.Mean, p.Took.P50, p.Took.P95)
		out = append(out, p)
	}
	return out, nil
}

// PrintGrowth writes a Markdown table: a row for each size.
func PrintGrowth(w io.Writer, points []GrowthPoint) error {
	var b strings.Builder
	b.WriteString("\n| notes | recall@10 | 95% | nDCG@10 | p50 ms | p95 ms | p50 ms as the caller sees it | p95 ms | loading s |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, p := range points {
		fmt.Fprintf(&b, "| %d | %.4f | %.3f to %.3f | %.4f | %.2f | %.2f | %.2f | %.2f | %.1f |\n",
			p.Notes, p.Recall10.Mean, p.Recall10.Low, p.Recall10.High, p.NDCG10.Mean, p.Took.P50, p.Took.P95, p.Wall.P50, p.Wall.P95, p.Loading)
	}
	return printed(io.WriteString(w, b.String()))
}

// distractors generates messages of other people, always the same ones.
type distractors struct {
	rng  *rand.Rand
	made int
}

func newDistractors() *distractors {
	return &distractors{rng: rand.New(rand.NewPCG(3, 4))} //nolint:gosec // not a secret; the text must be reproducible
}

// The parts of a message.
var (
	otherNames   = strings.Fields("Amara Bela Chidi Dunja Edda Farid Greta Hiro Imke Jonas Katya Leif Mirja Nils Oksana Pavel Quentin Rosa Stefan Tuula Uri Vera Wim Xenia Yusuf Zofia")
	otherOpening = []string{
		"I finally", "Yesterday I", "My neighbour", "Last spring we", "After work I", "My aunt", "This morning I", "The two of us", "Our team", "On the train I",
		"Somebody at the club", "My old teacher", "Before breakfast I", "The whole family", "A friend from abroad",
	}
	otherDeed = []string{
		"repaired", "sold", "painted", "lost", "found", "ordered", "returned", "photographed", "measured", "cleaned", "borrowed", "wrapped", "designed", "tested",
		"carried home", "wrote about", "argued over", "dreamt of", "paid too much for", "threw away", "compared", "described", "hid", "insured",
	}
	otherThing = []string{
		"an accordion", "the garden fence", "a second-hand bicycle", "three lamps", "the tax forms", "a telescope", "an old map", "the roof tiles", "a violin case",
		"some tomato plants", "the water meter", "a wooden boat", "two chess sets", "the winter coats", "a sewing machine", "the beehives", "a box of records",
		"the kitchen scales", "an aquarium", "the ski boots", "a typewriter", "the curtains", "a barometer", "seven umbrellas", "the stove", "a model railway",
		"an election poster", "the hiking guide", "a crate of oranges", "the laptop charger",
	}
	otherPlace = []string{
		"in the cellar", "near the harbour", "at the flea market", "behind the station", "on the island", "at my sister's", "in the village hall", "by the canal",
		"at the border", "in the attic", "on the third floor", "under the bridge", "in the mountains", "at the hospital", "beside the mill", "in a parking garage",
	}
	otherEnd = []string{
		"and it took all afternoon", "which surprised everybody", "though it rained", "because the shop was closed", "and nobody noticed", "for almost nothing",
		"without any help", "in spite of the noise", "as we had agreed", "and then we went for a walk", "just in time", "to be on the safe side",
		"while the radio played", "with a borrowed ladder", "and I would do it again", "which cost forty euros",
	}
)

// next returns the next n messages, in sessions of twenty, an hour apart.
func (d *distractors) next(n int) []Note {
	const session = 20
	pick := func(list []string) string { return list[d.rng.IntN(len(list))] }
	out := make([]Note, n)
	for i := range out {
		name := pick(otherNames)
		at := time.Date(2020, 1, 1, d.made/session, 0, d.made%session, 0, time.UTC)
		out[i] = Note{
			Content: fmt.Sprintf("%s: %s %s %s %s, %s.", name, pick(otherOpening), pick(otherDeed), pick(otherThing), pick(otherPlace), pick(otherEnd)),
			Kind:    "message", OccurredAt: &at, Infer: new(false),
			Attributes: map[string]any{"speaker": name, "session": fmt.Sprintf("other-%d", d.made/session)},
		}
		d.made++
	}
	return out
}
