package recall

import (
	"context"
	"log/slog"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
)

// entityDepth is how many entities one phrase of a query may name.
const entityDepth = 100

// linkSources is the attribute of a link that lists the notes it was learned from.
const linkSources = "sources"

// entityBoosts returns how much links to entities raise the notes of the view. An entity that is
// similar to a phrase of the query raises each note linked with it; a note with several such
// entities gets the largest boost. If the embedder fails, there are no boosts, and the result is
// degraded.
func (sr *searchRun) entityBoosts(ctx context.Context) (map[uuid.UUID]float64, error) {
	phrases := text.Keyphrases(sr.words, search.Mem0Entities)
	selected := sr.service.counted(sr.index.Select(memory.OfKinds(memory.KindEntity)))
	if len(phrases) == 0 || selected.IsEmpty() {
		return map[uuid.UUID]float64{}, nil
	}
	similar, err := sr.similarEntities(ctx, selected, phrases)
	if err != nil || len(similar) == 0 {
		return similar, err
	}
	ids := make([]uuid.UUID, 0, len(similar))
	for id := range similar {
		ids = append(ids, id)
	}
	links, err := sr.links(ctx, memory.LinkQuery{Notes: ids, Direction: memory.Both})
	if err != nil {
		return nil, err
	}
	boosts := map[uuid.UUID]float64{}
	for entity, notes := range sr.linkedNotes(links, similar) {
		worth := search.EntityBoost(similar[entity], len(notes))
		for note := range notes {
			boosts[note] = max(boosts[note], worth)
		}
	}
	return boosts, nil
}

// similarEntities returns the entities that are similar to one of the phrases, each with its highest
// cosine.
func (sr *searchRun) similarEntities(ctx context.Context, entities *index.Selection, phrases []string) (map[uuid.UUID]float64, error) {
	similar := map[uuid.UUID]float64{}
	made, err := map[string][]memory.Embedding{}, error(nil)
	for _, name := range sr.embeddersOf() {
		e, ok := sr.service.embedders.ByName(name)
		if !ok {
			return similar, nil
		}
		if made[name], err = memory.EmbedAll(ctx, e, sr.scope, phrases); err != nil {
			break
		}
	}
	sr.service.outages.phrases.Report(ctx, err, slog.Any("collection", sr.view.Collection.ID))
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		sr.degraded = "the phrases of the query could not be embedded; entities raised no notes"
		return similar, nil
	}
	for i := range phrases {
		q, err := sr.index.Query("", sr.perLayer(func(e string) []float32 { return made[e][i].Vector })...)
		if err != nil {
			return nil, err
		}
		for _, h := range q.Vector(entities, entityDepth) {
			if h.Score >= search.Mem0EntityFloor {
				similar[h.Note] = max(similar[h.Note], min(h.Score, 1))
			}
		}
	}
	return similar, nil
}

// linkedNotes returns the notes linked with each entity: those at the other end of a link that are
// no entities, and those that a link between entities names as its sources.
func (sr *searchRun) linkedNotes(links []memory.Link, entities map[uuid.UUID]float64) map[uuid.UUID]map[uuid.UUID]bool {
	out := map[uuid.UUID]map[uuid.UUID]bool{}
	add := func(entity, note uuid.UUID) {
		if _, named := entities[entity]; !named || entity == note {
			return
		}
		if _, record, ok := sr.index.Record(note); !ok || record.Kind == string(memory.KindEntity) {
			return
		}
		if out[entity] == nil {
			out[entity] = map[uuid.UUID]bool{}
		}
		out[entity][note] = true
	}
	for i := range links {
		l := &links[i]
		add(l.Source, l.Target)
		add(l.Target, l.Source)
		sources, _ := l.Attributes[linkSources].([]any)
		for _, s := range sources {
			text, _ := s.(string)
			if id, err := uuid.Parse(text); err == nil {
				add(l.Source, id)
				add(l.Target, id)
			}
		}
	}
	return out
}
