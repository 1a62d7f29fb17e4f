package layered

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// maxKnown is how many triples a model is shown that a message may end: the newest ones.
const maxKnown = 50

// maxNamed is how many persons and things that a message names a model is shown triples of, and of how many entities, the
// newest ones, it looks for the names.
const (
	maxNamed    = 10
	maxEntities = policy.PageSize
)

// mayEnd returns the valid edges of the speaker, and of whom and what the message names, that it may end, oldest first. There
// are none without a model: only a decision that names a triple ends it.
func (w *writer) mayEnd(ctx context.Context, said *memory.Utterance) ([]*edge, error) {
	if !w.c.EndAtOnce || w.d.Analyst() != memory.AnalystModel {
		return nil, nil
	}
	about, err := w.subjects(ctx, said)
	if err != nil {
		return nil, err
	}
	var known []*edge
	for i := range about {
		w.facts.name(&about[i])
		valid, err := w.facts.validOf(ctx, about[i].ID)
		if err != nil {
			return nil, err
		}
		known = append(known, valid...)
	}
	slices.SortStableFunc(known, func(a, b *edge) int { return a.ValidFrom.Compare(b.ValidFrom) })
	return known[max(0, len(known)-maxKnown):], nil
}

// subjects returns the entities that a message may say something of: the speaker, and those whose names it has.
func (w *writer) subjects(ctx context.Context, said *memory.Utterance) ([]memory.Note, error) {
	key := graph.EntityKey(w.subjectOf(said))
	var out []memory.Note
	if speaker, ok := w.facts.entities[key]; ok {
		out = append(out, *speaker)
	} else if n, found, err := w.d.ByKey(ctx, memory.KindEntity, key); err != nil {
		return nil, fmt.Errorf("find the speaker: %w", err)
	} else if found {
		out = append(out, n)
	}
	entities, err := w.d.List(ctx, memory.NoteQuery{Kinds: []memory.Kind{memory.KindEntity}, Newest: true, Limit: maxEntities})
	if err != nil {
		return nil, fmt.Errorf("list entities: %w", err)
	}
	for _, n := range w.facts.entities { // of this decision
		entities = append(entities, *n)
	}
	message := " " + text.Normalize(said.Content)
	slices.SortFunc(entities, func(a, b memory.Note) int { return memory.CompareIDs(b.ID, a.ID) })
	for i := range entities {
		n := &entities[i]
		if len(out) > maxNamed {
			break
		}
		known := slices.ContainsFunc(out, func(o memory.Note) bool { return o.ID == n.ID })
		if !known && names(message, text.Normalize(n.Content)) {
			out = append(out, *n)
		}
	}
	return out, nil
}

// leastStem is how long a name is that a longer word may begin with: many languages add an ending to names.
const leastStem = 4

// names reports whether a folded message, with a space before it, has a folded name as a word, or as the beginning of one. In
// scripts without spaces it is anywhere.
func names(message, name string) bool {
	if name == "" {
		return false
	}
	if !strings.ContainsFunc(name, isUnspaced) {
		if utf8.RuneCountInString(name) < leastStem {
			name += " "
		}
		name = " " + name
	}
	return strings.Contains(message+" ", name)
}

func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// subjectOf returns the subject of what a speaker says of themselves.
func (w *writer) subjectOf(said *memory.Utterance) string {
	if w.c.Persons == personsSeveral && said.Name != "" {
		return said.Name
	}
	return SubjectUser
}

// known returns edges as a prompt shows them.
func (f *facts) known(edges []*edge) []KnownTriple {
	out := make([]KnownTriple, len(edges))
	for i, e := range edges {
		out[i] = KnownTriple{Subject: f.nameOf(e.id.Source), Relation: e.id.Relation, Object: f.nameOf(e.id.Target), Since: e.ValidFrom}
	}
	return out
}

// endStated ends the edges of which an item says that they no longer hold, so that a new value need not be repeated
// until it wins. An item ends nothing that it states itself, nor what was stated about a later time, nor what it is not about.
func (f *facts) endStated(ctx context.Context, ended []*edge, now []Triple, source *memory.Note) error {
	at := memory.Instant(source.OccurredAt)
	ended = slices.DeleteFunc(slices.Clone(ended), func(e *edge) bool {
		return !e.Valid || at.Before(e.ValidFrom) || slices.Contains(e.Sources, source.ID) || f.states(now, e)
	})
	about := f.isAbout(ctx, ended, now, source)
	for i, e := range ended {
		triple := Ended{Note: e.Triple, Subject: f.nameOf(e.id.Source), Relation: e.id.Relation, Object: f.nameOf(e.id.Target)}
		if !about[i] {
			f.w.out.Dropped++
			f.w.skippedf(Semantic, "%s, %s, %s is not ended: what was said is about something else", triple.Subject, triple.Relation, triple.Object)
			continue
		}
		contested := e.Contested
		f.end(e, at)
		f.w.out.Ends = append(f.w.out.Ends, triple)
		if contested {
			if err := f.calm(ctx, e.id); err != nil {
				return err
			}
		}
	}
	return nil
}

// aboutFrom is the cosine from which an item may end a triple with which it shares no word. In the corpus half of the turns that
// end a fact reach it, and one in six of the others in the same dialogue.
const aboutFrom = 0.35

// isAbout reports of each of some edges whether an item can end it: the item states another object of its relation, has a word
// of its object, of its relation or of its subject, which is not who speaks, or is similar.
func (f *facts) isAbout(ctx context.Context, edges []*edge, now []Triple, source *memory.Note) []bool {
	said := memory.UtteranceOf(source)
	talk := policy.NewEvidence(said.Time.Year(), said.Content)
	speaker := graph.EntityKey(f.w.subjectOf(&said))
	out := make([]bool, len(edges))
	texts, unshared := []string{said.Content}, []int{}
	for i, e := range edges {
		subject, words := f.nameOf(e.id.Source), strings.ReplaceAll(e.id.Relation, "_", " ")+" "+f.nameOf(e.id.Target)
		own := graph.EntityKey(subject)
		out[i] = talk.Shares(words) || own != speaker && talk.Shares(subject) || slices.ContainsFunc(now, func(t Triple) bool {
			return graph.EntityKey(t.Relation) == e.id.Relation && graph.EntityKey(t.Subject) == own
		})
		if !out[i] {
			texts, unshared = append(texts, subject+" "+words), append(unshared, i)
		}
	}
	if len(unshared) == 0 {
		return out
	}
	vectors, err := f.w.d.Embed(ctx, texts)
	if err != nil {
		return out // without vectors nothing is known to be similar
	}
	for i, at := range unshared {
		cosine, _ := memory.Cosine(vectors[0], vectors[i+1])
		out[at] = cosine >= aboutFrom
	}
	return out
}

// states reports whether one of some triples is that of an edge.
func (f *facts) states(triples []Triple, e *edge) bool {
	return slices.ContainsFunc(triples, func(t Triple) bool {
		return graph.EntityKey(t.Relation) == e.id.Relation && graph.EntityKey(t.Subject) == graph.EntityKey(f.nameOf(e.id.Source)) &&
			graph.EntityKey(t.Object) == graph.EntityKey(f.nameOf(e.id.Target))
	})
}
