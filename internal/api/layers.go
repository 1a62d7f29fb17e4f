package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

// recallLayers answers a query from the layers of the collection.
func (h *core) recallLayers(c *gin.Context, body wire.RecallInput) error {
	layer, combined := string(valueOr(body.Layer, "")), valueOr(body.Combined, false)
	if layer != "" && combined {
		return fault.InvalidField("combined", "is over all layers; leave out layer")
	}
	ctx, s := c.Request.Context(), scope(c)
	if body.MinRevision != nil {
		endTurn(c)
	}
	v, err := h.viewOf(c, &asked{asOf: body.AsOf, minRevision: body.MinRevision})
	if err != nil {
		return err
	}
	q := recall.LayersQuery{Text: body.Query, Layer: layer, K: valueOr(body.K, 0)}
	explain := valueOr(body.Explain, false)
	var items []recall.LayerHit
	var found recall.LayersResult
	if combined {
		items, found, err = h.Recall.CombinedLayers(ctx, s, v, q)
	} else {
		found, err = h.Recall.Layers(ctx, s, v, q)
	}
	if err != nil {
		return err
	}
	out := wire.RecallAnswer{Aim: wire.Optional(wire.LayerName(found.Aim.Layer)), Degraded: wire.Optional(found.Degraded), Revision: int64(v.At)}
	if combined {
		out.Items, found.Layers = new(wireLayerHits(items, combined, explain)), nil
	}
	for i := range found.Layers {
		l := &found.Layers[i]
		list := wireLayerHits(l.Hits, false, explain)
		switch {
		case layer != "":
			out.Items = &list
		case l.Layer == string(wire.LayerNameWorking):
			out.Working = &list
		case l.Layer == string(wire.LayerNameEpisodic):
			out.Episodic = &list
		case l.Layer == string(wire.LayerNameSemantic):
			out.Semantic = &list
		}
	}
	return replyAt(c, http.StatusOK, v.At, out)
}

func wireLayerHits(hits []recall.LayerHit, combined, explain bool) []wire.RecalledItem {
	out := make([]wire.RecalledItem, 0, len(hits))
	for i := range hits {
		h := &hits[i]
		item := wire.RecalledItem{Note: wireNoteView(h.Note, false), Layer: wire.LayerName(h.Layer), Score: h.Score}
		if combined {
			item.Layers = named[wire.LayerName](h.Layers)
		}
		if explain && h.Explain != nil {
			for _, p := range h.Explain.Signals {
				item.Explain = append(item.Explain, wire.ScorePart{Signal: p.Name, Value: p.Raw, Weight: p.Weight})
			}
		}
		out = append(out, item)
	}
	return out
}

// listLayers answers how full the layers are.
func (h *core) listLayers(c *gin.Context, v memory.View) error {
	states, err := h.Recall.LayerStates(c.Request.Context(), scope(c), v)
	if err != nil {
		return err
	}
	items := each(states, func(st *recall.LayerState) wire.LayerState {
		return wire.LayerState{
			Layer: wire.LayerName(st.Layer), Count: st.Count, Capacity: wire.Optional(st.Capacity),
			Oldest: wire.OptionalTime(st.Oldest), Newest: wire.OptionalTime(st.Newest), Contested: wire.Optional(st.Contested),
		}
	})
	return replyAt(c, http.StatusOK, v.At, wire.LayerList{Items: items, Revision: int64(v.At)})
}

// conflictsOf returns the pairs of facts that disagree: of each subject and relation the older with each newer one.
func conflictsOf(facts []recall.Fact) []wire.FactConflict {
	out := []wire.FactConflict{}
	for i := range facts {
		for j := i + 1; j < len(facts); j++ {
			a, b := &facts[i], &facts[j]
			if a.SubjectID != b.SubjectID || a.Relation != b.Relation {
				break // facts are in order of subject and relation
			}
			if b.ValidFrom.Before(a.ValidFrom) {
				a, b = b, a
			}
			out = append(out, wire.FactConflict{Subject: a.Subject, Relation: a.Relation, Old: wireFact(a), New: wireFact(b)})
		}
	}
	return out
}
