package memoryos

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// graceShare: of a full middle tier, the newest session in so many stays, at least one. It had no time to be read.
const graceShare = 4

// maxEvictions bounds the sessions that one decision evicts.
const maxEvictions = 4

// evict removes sessions that the middle tier has no room for. What was not analyzed reaches the long tier first.
func (r *run) evict(ctx context.Context) error {
	for n := 0; ; n++ {
		live := slices.DeleteFunc(slices.Clone(r.sessions), func(s *session) bool { return s.gone })
		if len(live) <= r.c.MidCapacity {
			return nil
		}
		if n == maxEvictions {
			r.later = true
			return nil
		}
		s := r.victim(live)
		reason := r.evictReason(s, len(live))
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

// victim returns the session that leaves: the least used or the coldest one, except the newest.
func (r *run) victim(live []*session) *session {
	age := slices.Clone(live)
	slices.SortStableFunc(age, func(a, b *session) int { return compareIDs(a.note.ID, b.note.ID) })
	candidates := age[:max(1, len(age)-max(1, r.c.MidCapacity/graceShare))]
	return slices.MinFunc(candidates, func(a, b *session) int {
		colder := cmp.Compare(r.heat(a), r.heat(b))
		if r.c.Eviction == EvictColdest {
			return cmp.Or(colder, compareIDs(a.note.ID, b.note.ID))
		}
		return cmp.Or(cmp.Compare(a.usage.AccessCount, b.usage.AccessCount), strings.Compare(visitOrder(a), visitOrder(b)), colder, compareIDs(a.note.ID, b.note.ID))
	})
}

// visitOrder returns the last visit of a session as a text that sorts by time; one that cannot be read is the oldest.
func visitOrder(s *session) string {
	at, err := time.Parse(time.RFC3339Nano, s.state.Visited(s.usage))
	if err != nil {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05.000000000")
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
		links, err := r.d.Links(ctx, []uuid.UUID{s.note.ID}, memory.Outgoing)
		if err != nil {
			return err
		}
		for _, l := range links {
			if l.Relation == RelPage {
				ids = append(ids, l.Target)
			}
		}
		r.dec.Deletes = append(r.dec.Deletes, s.note.ID)
	}
	slices.SortFunc(ids, compareIDs)
	ids = slices.Compact(ids)
	between, err := r.d.Links(ctx, ids, memory.Both)
	if err != nil {
		return err
	}
	for _, l := range between {
		if l.Relation == RelNext {
			r.dec.Unlinks = append(r.dec.Unlinks, l.LinkID)
		}
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
	messages, err := r.d.Notes(ctx, ids)
	if err != nil {
		return err
	}
	for i := range messages {
		messages[i].Category = CategoryEvicted
	}
	r.dec.Puts = append(r.dec.Puts, messages...)
	return nil
}
