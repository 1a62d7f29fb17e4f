package memoryos

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// graceShare: of a full middle tier, the newest session in so many stays, at least one. It had no time to be read.
const graceShare = 4

// maxEvictions bounds the sessions that one decision evicts.
const maxEvictions = 4

// evict removes sessions that the middle tier has no room for. What was not analyzed reaches the long tier first.
func (r *run) evict(ctx context.Context) error {
	for n := 0; ; n++ {
		live := r.live()
		if live <= r.c.MidCapacity {
			return nil
		}
		if n == maxEvictions {
			r.later = true
			return nil
		}
		s := r.victim(live)
		reason := r.evictReason(s, live)
		heat := r.heat(s)
		for s.state.Fresh > 0 {
			if r.analyses >= maxAnalyses {
				r.later = true
				return nil
			}
			done, err := r.analyze(ctx, s, "it leaves the middle tier")
			if err != nil {
				return err
			}
			if !done {
				return nil // it stays until its pages are analyzed
			}
		}
		if err := r.remove(ctx, s); err != nil {
			return err
		}
		r.move(Move{From: TierMid, To: TierEvicted, Note: s.note.ID, Reason: reason, Heat: heat})
	}
}

// live returns how many sessions there are.
func (r *run) live() int {
	n := len(r.roster.ids) + len(r.added)
	for s := range r.looked() {
		if s.gone {
			n--
		}
	}
	return n
}

// standing is what decides how early a session leaves.
type standing struct {
	k        int      // its number
	s        *session // nil: it is as it is stored
	accesses int64
	at       time.Time // of its last visit
}

// victim returns the session that leaves: the least used or the coldest one, except the newest.
func (r *run) victim(live int) *session {
	var least standing
	most, seen := max(1, live-max(1, r.c.MidCapacity/graceShare)), 0
	for s := range r.byAge() {
		if seen == 0 || r.compareUse(&s, &least) < 0 { // of equal ones the oldest
			least = s
		}
		if seen++; seen == most {
			break
		}
	}
	if least.s == nil {
		return r.open(least.k)
	}
	return least.s
}

// byAge returns the standings of sessions: of those that are stored, by id, then of new ones.
func (r *run) byAge() iter.Seq[standing] {
	return func(yield func(standing) bool) {
		for i := range r.roster.leaves {
			of := r.roster.leaves[i].of
			for j := range of.lines {
				k := r.roster.from[i] + j
				if s, live := r.standingOf(k, (*r.opened)[k], &of.lines[j]); live && !yield(s) {
					return
				}
			}
		}
		for _, added := range r.added {
			if s, live := r.standingOf(-1, added, nil); live && !yield(s) {
				return
			}
		}
	}
}

// standingOf returns the standing of a session, if there still is one: of s, or of a line if s is nil.
func (r *run) standingOf(k int, s *session, l *line) (out standing, live bool) {
	if s != nil {
		return standing{k, s, s.usage.AccessCount, s.visited().at}, !s.gone
	}
	out = standing{k: k, at: l.at}
	if _, used := slices.BinarySearch(r.visited, k); used {
		u := r.used[l.note.ID]
		out.accesses, out.at = u.AccessCount, l.read.visit.orAccess(u.LastAccess).at
	}
	return out, true
}

// heatOf returns the heat of a session now.
func (r *run) heatOf(s *standing) float64 {
	if s.s != nil {
		return r.heat(s.s)
	}
	l := r.roster.at(s.k)
	u := r.used[l.note.ID]
	return r.c.Heat(l.read.state.Visits(u), l.read.state.Interaction, l.read.visit.orAccess(u.LastAccess).recency(r.now, r.c.Tau()))
}

// compareUse orders sessions by how early they leave: by heat alone where the coldest one leaves.
func (r *run) compareUse(a, b *standing) int {
	if r.c.Eviction != EvictColdest {
		if order := cmp.Or(cmp.Compare(a.accesses, b.accesses), a.at.Compare(b.at)); order != 0 {
			return order
		}
	}
	return cmp.Compare(r.heatOf(a), r.heatOf(b))
}

func (r *run) evictReason(s *session, live int) string {
	full := fmt.Sprintf("%d sessions, %d have room; ", live, r.c.MidCapacity)
	if r.c.Eviction == EvictColdest {
		return full + fmt.Sprintf("it is the coldest, %.3f", r.heat(s))
	}
	return full + fmt.Sprintf("it was read least, %d times", s.usage.AccessCount)
}

// remove deletes a session, marks its messages as evicted, and removes the links of its pages to those of others.
func (r *run) remove(ctx context.Context, s *session) error {
	s.gone = true
	var ids []uuid.UUID
	for i := range r.dec.Links {
		if l := &r.dec.Links[i]; l.Relation == RelPage && l.Source == s.note.ID {
			ids = append(ids, l.Target)
		}
	}
	for _, pg := range s.newest {
		ids = append(ids, pg.first)
	}
	if !s.isNew {
		pages, err := r.linkedPages(ctx, s.note.ID)
		if err != nil {
			return err
		}
		ids = append(ids, pages...)
		r.dec.Deletes = append(r.dec.Deletes, s.note.ID)
	}
	slices.SortFunc(ids, memory.CompareIDs)
	ids = slices.Compact(ids)
	if err := r.unchain(ctx, ids); err != nil {
		return err
	}
	r.dec.Links = slices.DeleteFunc(r.dec.Links, func(l memory.Link) bool {
		return slices.Contains(ids, l.Target) || slices.Contains(ids, l.Source)
	})
	for i := range r.dec.Puts {
		if n := &r.dec.Puts[i]; n.Kind == memory.KindMessage && slices.Contains(ids, n.ID) {
			n.Category = CategoryEvicted
			ids = slices.DeleteFunc(ids, func(id uuid.UUID) bool { return id == n.ID })
		}
	}
	return r.categorize(ctx, ids, CategoryEvicted)
}

// followSession makes the pages of a session go where it went. Those of a deleted one are evicted, so that contexts and searches agree:
// searches find pages by their session. Those of a restored one are pages again. uuid.Nil is not a session.
func (r *run) followSession(ctx context.Context, session uuid.UUID) error {
	if session == uuid.Nil {
		return nil
	}
	live, err := r.d.Notes(ctx, []uuid.UUID{session})
	if err != nil {
		return err
	}
	if len(live) > 0 {
		evicted, err := r.linkedPages(ctx, session)
		if err != nil {
			return err
		}
		return r.categorize(ctx, evicted, CategoryPage)
	}
	ids, err := r.withoutSession(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := r.unchain(ctx, ids); err != nil {
		return err
	}
	r.move(Move{From: TierMid, To: TierEvicted, Note: session, Reason: "it was deleted"})
	return r.categorize(ctx, ids, CategoryEvicted)
}

// unchain removes the links of chains from and to messages.
func (r *run) unchain(ctx context.Context, ids []uuid.UUID) error {
	links, err := r.d.Links(ctx, ids, memory.Both)
	for i := range links {
		if links[i].Relation == RelNext {
			r.dec.Unlinks = append(r.dec.Unlinks, links[i].LinkID)
		}
	}
	return err
}

// linkedPages returns the messages that a session links to.
func (r *run) linkedPages(ctx context.Context, session uuid.UUID) (ids []uuid.UUID, err error) {
	links, err := r.d.Links(ctx, []uuid.UUID{session}, memory.Outgoing)
	for i := range links {
		if links[i].Relation == RelPage {
			ids = append(ids, links[i].Target)
		}
	}
	return ids, err
}

// withoutSession returns the messages of pages that no session leads to.
func (r *run) withoutSession(ctx context.Context) ([]uuid.UUID, error) {
	var out []uuid.UUID
	for list, err := range policy.NotePages(ctx, r.d, memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage}, Filter: inMiddleTier()}) {
		if err != nil {
			return nil, err
		}
		ids := memory.IDs(list)
		links, err := r.d.Links(ctx, ids, memory.Incoming)
		if err != nil {
			return nil, err
		}
		linked := map[uuid.UUID]bool{}
		for i := range links {
			linked[links[i].Target] = linked[links[i].Target] || links[i].Relation == RelPage
		}
		out = append(out, slices.DeleteFunc(ids, func(id uuid.UUID) bool { return linked[id] })...)
	}
	return out, nil
}

// categorize puts messages of the log into a category.
func (r *run) categorize(ctx context.Context, ids []uuid.UUID, category string) error {
	for batch := range slices.Chunk(ids, policy.PageSize) {
		messages, err := r.d.Notes(ctx, batch)
		if err != nil {
			return err
		}
		for i := range messages {
			if messages[i].Kind == memory.KindMessage && messages[i].Category != category {
				messages[i].Category = category
				r.dec.Puts = append(r.dec.Puts, messages[i])
			}
		}
	}
	return nil
}
