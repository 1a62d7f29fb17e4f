package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos/tiers"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

// Keys and attributes by which policies identify their summaries and profiles.
const (
	keyOverall   = "overall"         // of the summary or portrait of all days
	keyProcedure = "mem0/procedure/" // prefix before the session that the procedure summarizes

	attrPeriod = "period" // day or global
	attrDate   = "date"   // of a day
	attrReply  = "reply_strategy"
	attrBank   = "bank" // of the note meta: what an export needs of the imported document
)

// periodOf returns what a summary covers; everything if it does not say.
func periodOf(n *memory.Note) (period wire.SummaryPeriod, session string) {
	if n.Kind == memory.KindSession {
		return wire.SummaryPeriodSession, n.ID.String()
	}
	if name, ok := strings.CutPrefix(n.Key, keyProcedure); ok {
		return wire.SummaryPeriodSession, name
	}
	switch p := wire.SummaryPeriod(textOf(n, attrPeriod)); p {
	case wire.SummaryPeriodDay, wire.SummaryPeriodSession:
		return p, textOf(n, memory.AttrSession)
	case wire.SummaryPeriodGlobal:
	}
	return wire.SummaryPeriodGlobal, ""
}

// listSummaries pages through summaries. There are few, one per day, so other periods are filtered
// here.
func (h *core) listSummaries(c *gin.Context) error {
	v, cur, err := h.pageView(c)
	if err != nil {
		return err
	}
	limit, wanted := pageLimit(c), query(c).Get("period")
	out := wire.SummaryList{Items: []wire.SummaryNote{}, Revision: int64(v.At)}
	q := recall.ListQuery{Kinds: []memory.Kind{memory.KindSummary, memory.KindSession}}
	if err := setOrder(c, cur, &q); err != nil {
		return err
	}
	next := ""
	err = h.eachNote(c.Request.Context(), scope(c), v, q, func(n *memory.Note) bool {
		period, session := periodOf(n)
		if wanted != "" && string(period) != wanted {
			return true
		}
		if len(out.Items) == limit {
			last := &out.Items[limit-1]
			next = placeAfter(&recall.Page{Next: last.ID, NextRevision: memory.Revision(last.Revision)}, &q)
			return false
		}
		out.Items = append(out.Items, wire.SummaryNote{
			ID: n.ID, Period: period, Date: wire.Optional(textOf(n, attrDate)), Session: wire.Optional(session), Content: n.Content,
			Events: textsOf(n, "events"), Analyst: wire.Optional(wire.SummaryNoteAnalyst(n.Analyst)), Sources: n.Provenance.Sources,
			CreatedAt: wire.Time(n.CreatedAt), UpdatedAt: wire.Time(n.UpdatedAt), Revision: int64(n.From),
		})
		return true
	})
	if err != nil {
		return err
	}
	if out.NextCursor, err = h.nextCursorAt(c, next, v.Collection.ID, v.At); err != nil {
		return err
	}
	return replyAt(c, http.StatusOK, v.At, out)
}

// profileMeta returns what callers or an import say about a person.
func profileMeta(n *memory.Note) map[string]any {
	out := maps.Clone(n.Attributes)
	delete(out, attrBank)
	return out
}

// knownText returns what is known of a person, a line for each statement, with the day since which it holds.
func knownText(known []memory.Note) string {
	lines := make([]string, len(known))
	for i := range known {
		lines[i] = known[i].Content + " (since " + memory.Day(known[i].OccurredAt) + ")"
	}
	return strings.Join(lines, "\n")
}

// putProfile replaces what callers say about the person.
func (h *core) putProfile(c *gin.Context, ref string, body wire.ProfileInput) error {
	texts := map[string]string{}
	for name, text := range map[string]*string{"name": body.Name, "personality": body.Personality, "hobbies": body.Hobbies, "speaking_style": body.SpeakingStyle} {
		if text != nil {
			texts[name] = *text
		}
	}
	w, err := h.Notes.PutProfile(c.Request.Context(), scope(c), ref, texts)
	if err != nil {
		return err
	}
	nameRecord(c, w.Note.ID)
	setRevision(c, w.Revision)
	setETag(c, w.Note.Version())
	return reply(c, http.StatusOK, wire.ProfileMeta{Note: w.Note.ID, Meta: profileMeta(&w.Note), Revision: int64(w.Revision)})
}

// getProfile answers the profile notes about the person.
func (h *core) getProfile(c *gin.Context, v memory.View) error {
	out := wire.Profile{Days: []wire.ProfileDay{}, Revision: int64(v.At)}
	err := h.eachNote(c.Request.Context(), scope(c), v, recall.ListQuery{Kinds: []memory.Kind{memory.KindProfile}}, func(n *memory.Note) bool {
		date := textOf(n, attrDate)
		switch {
		case n.Key == notes.KeyMeta:
			out.Notes = append(out.Notes, n.ID)
			out.Meta = profileMeta(n)
		case n.Key == keyOverall:
			out.Portrait, out.ReplyStrategy, out.UpdatedAt = &n.Content, wire.Optional(textOf(n, attrReply)), wire.OptionalTime(n.UpdatedAt)
			out.Stale = wire.Optional(n.Provenance.Stale)
			if found, ok := tiers.Dimensions(&v.Collection, n); ok {
				out.Text, out.Dimensions = &n.Content, found
			}
			out.Notes = append(out.Notes, n.ID)
		case date != "":
			out.Days = append(out.Days, wire.ProfileDay{
				Note: n.ID, Date: date, Content: n.Content, Traits: textsOf(n, "traits"), Mood: wire.Optional(textOf(n, "mood")),
				ReplyStrategy: wire.Optional(textOf(n, attrReply)), Analyst: wire.Optional(wire.ProfileDayAnalyst(n.Analyst)),
			})
		}
		return true
	})
	if err != nil {
		return err
	}
	known, err := h.Recall.Known(c.Request.Context(), scope(c), v)
	if err != nil {
		return err
	}
	if len(known) > 0 {
		out.Text, out.Notes = new(knownText(known)), append(out.Notes, memory.IDs(known)...)
	}
	slices.SortFunc(out.Days, func(a, b wire.ProfileDay) int { return strings.Compare(b.Date, a.Date) })
	out.Days = out.Days[:min(len(out.Days), pageLimit(c))]
	return replyAt(c, http.StatusOK, v.At, out)
}
