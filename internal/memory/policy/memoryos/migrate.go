package memoryos

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/said"
	"github.com/slipboxhq/slipbox/internal/text"
)

// maxSources is how many messages a derived note names as its sources, the newest ones.
const maxSources = 200

// migrate moves the oldest pairs that the short tier has no room for into sessions. All of it is one changeset with
// the rest of the decision.
func (r *run) migrate(ctx context.Context, upTo uuid.UUID, fully bool) error {
	pairs, err := r.waiting(ctx, upTo, fully)
	if err != nil {
		return err
	}
	excess := len(pairs) - r.c.ShortCapacity
	if excess <= 0 {
		return nil
	}
	most := maxBatch
	if r.c.Migrate == migrateAll {
		excess, most = len(pairs)-1, maxQueue // what was said last stays, as the beginning of the next queue
	}
	leave := r.waitForTheme(ctx, pairs, min(excess, most))
	if leave == 0 {
		return nil
	}
	r.later = r.later || len(pairs)-leave > r.c.ShortCapacity
	pairs = pairs[:leave]
	if err := r.readWhole(ctx, pairs); err != nil {
		return err
	}
	previous, err := r.previousPage(ctx, pairs[0].messages[0].ID)
	if err != nil {
		return err
	}
	before := previous
	var moved []*midPage
	for i := range pairs {
		for j := range pairs[i].messages {
			pairs[i].messages[j].Category = CategoryPage
		}
		r.dec.Puts = append(r.dec.Puts, pairs[i].messages...)
		if len(callPage(pairs[i].messages).Messages) == 0 {
			continue // nothing is learned from it
		}
		pg, err := r.openPage(ctx, previous, pairs[i].messages)
		if err != nil {
			return err
		}
		moved, previous = append(moved, pg), pg
	}
	if len(moved) == 0 {
		return nil
	}
	return r.assign(ctx, before, moved)
}

// readWhole reads the messages of pairs with their vectors.
func (r *run) readWhole(ctx context.Context, pairs []pair) error {
	for i := range pairs {
		whole, err := r.d.Notes(ctx, memory.IDs(pairs[i].messages))
		if err != nil {
			return err
		}
		slices.SortFunc(whole, func(a, b memory.Note) int { return memory.CompareIDs(a.ID, b.ID) })
		pairs[i].messages = whole
	}
	return nil
}

// previousPage returns the newest page before a message; nil if there is none.
func (r *run) previousPage(ctx context.Context, before uuid.UUID) (*midPage, error) {
	last, err := r.newestPaged(ctx, before)
	if err != nil || len(last) == 0 {
		return nil, err
	}
	pages, err := r.pagesOf(ctx, []uuid.UUID{last[0].ID}, memory.Incoming)
	if err != nil || len(pages) == 0 {
		return nil, err
	}
	if turn, ok := last[0].Attributes[memory.AttrTurn].(string); ok {
		last, err = r.messagesOf(ctx, turn, pages[0])
	}
	previous := *pages[0]
	previous.messages = last
	return &previous, err
}

// newestPaged returns the newest message of the middle tier before one. As a rule it is the last one that a session names; where
// that is a later one, or was deleted or evicted, the log is searched.
func (r *run) newestPaged(ctx context.Context, before uuid.UUID) ([]memory.Note, error) {
	if id := r.lastPaged(); id != uuid.Nil && memory.CompareIDs(id, before) < 0 {
		last, err := r.d.Notes(ctx, []uuid.UUID{id})
		if err != nil || len(last) > 0 && last[0].Category == CategoryPage {
			return last, err
		}
	}
	return r.d.List(ctx, memory.NoteQuery{
		Kinds: []memory.Kind{memory.KindMessage}, Filter: inMiddleTier(), Newest: true, After: before, Limit: 1, ReadOptions: memory.ReadOptions{Vector: true},
	})
}

// pagesOf reads the pages that links lead to from sessions (Outgoing), or that messages belong to (Incoming). Damaged
// ones are reported and left as they are.
func (r *run) pagesOf(ctx context.Context, ids []uuid.UUID, dir memory.Direction) ([]*midPage, error) {
	links, err := r.d.Links(ctx, ids, dir)
	if err != nil {
		return nil, err
	}
	list, loose, damaged := groupPages(links)
	if dir == memory.Incoming && len(loose) > 0 {
		more, err := r.d.Links(ctx, slices.SortedFunc(maps.Keys(loose), memory.CompareIDs), memory.Incoming)
		if err != nil {
			return nil, err
		}
		of, _, unreadable := groupPages(more)
		list, damaged = append(list, of...), append(damaged, unreadable...)
	}
	for _, d := range damaged {
		r.damage(d)
	}
	if dir == memory.Outgoing {
		promoted := promote(loose)
		for i := range promoted {
			for _, id := range promoted[i].Others {
				r.dec.Links = append(r.dec.Links, otherLink(promoted[i].Session, id, promoted[i].First))
			}
		}
		list = append(list, promoted...)
	}
	var out []*midPage
	for i := range list {
		p := &list[i]
		pg, ok := r.pages[p.First]
		if !ok {
			pg = &midPage{first: p.First, session: p.Session, state: p.State, changed: p.promoted}
			r.pages[p.First] = pg
		}
		for _, id := range p.Others {
			if !slices.Contains(pg.others, id) {
				pg.others = append(pg.others, id)
			}
		}
		if !slices.Contains(out, pg) {
			out = append(out, pg)
		}
	}
	slices.SortFunc(out, func(a, b *midPage) int { return memory.CompareIDs(a.first, b.first) })
	return out, nil
}

// damage reports that a note cannot be read, once.
func (r *run) damage(d Damaged) {
	if !slices.Contains(r.out.Damaged, d) {
		r.out.Damaged = append(r.out.Damaged, d)
	}
}

// openPage makes a page of a pair: it continues the page before it or begins a chain, and sums up its chain.
func (r *run) openPage(ctx context.Context, previous *midPage, messages []memory.Note) (*midPage, error) {
	pg := &midPage{first: messages[0].ID, messages: messages, changed: true}
	r.pages[pg.first] = pg
	material := callPage(messages)
	for i := range messages {
		pg.state.Preloaded = pg.state.Preloaded || messages[i].Attributes["preloaded"] == true
	}
	old := ""
	if previous != nil && len(callPage(previous.messages).Messages) > 0 {
		similarity, _ := memory.Cosine(meanVector(previous.messages), meanVector(messages))
		call, err := r.calls().Continuity(ContinuityInput{Previous: callPage(previous.messages), Next: material, Similarity: similarity})
		a, usable, err := r.ask(ctx, call, err)
		if err != nil {
			return nil, err
		}
		if usable {
			continues, err := readContinuity(a.JSON)
			if err != nil {
				return nil, err
			}
			if continues {
				pg.state.Chain = append(slices.Clone(previous.state.Chain), previous.first)
				pg.state.Chain = pg.state.Chain[max(0, len(pg.state.Chain)-maxChain):]
				old = previous.state.Meta
				r.dec.Links = append(r.dec.Links, memory.Link{LinkID: memory.LinkID{Source: previous.first, Target: pg.first, Relation: RelNext}, Confidence: 1})
			}
		}
	}
	call, err := r.calls().Meta(MetaInput{Old: old, Page: material})
	a, usable, err := r.ask(ctx, call, err)
	if err != nil {
		return nil, err
	}
	pg.state.Meta = old
	if usable {
		if pg.state.Meta, err = readMeta(a.JSON); err != nil {
			return nil, err
		}
	}
	return pg, r.spreadMeta(ctx, pg)
}

// spreadMeta sets the summary of a chain in the pages before a new one.
func (r *run) spreadMeta(ctx context.Context, pg *midPage) error {
	var unread []uuid.UUID
	for _, id := range pg.state.Chain {
		if r.pages[id] == nil {
			unread = append(unread, id)
		}
	}
	if _, err := r.pagesOf(ctx, unread, memory.Incoming); err != nil {
		return err
	}
	for _, id := range pg.state.Chain {
		if before := r.pages[id]; before != nil && before.state.Meta != pg.state.Meta {
			before.state.Meta, before.changed = pg.state.Meta, true
		}
	}
	return nil
}

// assign sums up pages by theme, and adds each to the session of its theme. Small talk has no theme: it joins the session
// of the page before it, or else of the first page behind it.
func (r *run) assign(ctx context.Context, before *midPage, all []*midPage) error {
	pages := slices.DeleteFunc(slices.Clone(all), func(pg *midPage) bool { return r.isSmallTalk(ctx, pg.messages) })
	if len(pages) == 0 && r.newestSession() == nil {
		pages = all // it waited long enough for something to belong to
	}
	if len(pages) > 0 {
		if err := r.assignThemes(ctx, pages); err != nil {
			return err
		}
	}
	var near *session
	if before != nil {
		near = r.sessionOf(before.session)
	}
	for i, pg := range all {
		if pg.session != uuid.Nil {
			near = r.sessionOf(pg.session)
			continue
		}
		if near == nil || near.gone {
			near = r.sessionAround(all[i:])
		}
		r.join(near, []*midPage{pg}, "small talk: it joined the session of an exchange beside it")
	}
	return nil
}

// sessionAround returns the session of the first page that has one, or else the newest.
func (r *run) sessionAround(pages []*midPage) *session {
	for _, pg := range pages {
		if s := r.sessionOf(pg.session); s != nil && !s.gone {
			return s
		}
	}
	return r.newestSession()
}

// newestSession returns the session that was opened last; nil if there is none.
func (r *run) newestSession() (newest *session) {
	for _, s := range r.added {
		if !s.gone && (newest == nil || memory.CompareIDs(s.note.ID, newest.note.ID) > 0) {
			newest = s
		}
	}
	for k, s := range slices.Backward(*r.opened) {
		if s != nil && s.gone {
			continue
		}
		if newest == nil || memory.CompareIDs(r.roster.ids[k], newest.note.ID) > 0 {
			newest = r.open(k)
		}
		break // those before it are older
	}
	return newest
}

// waitForTheme returns how many of the oldest pairs leave, of at least n: while there is no session, small talk waits in the
// short tier for an exchange that opens one, and leaves with it.
func (r *run) waitForTheme(ctx context.Context, pairs []pair, n int) int {
	if n == 0 || n >= maxBatch || r.newestSession() != nil {
		return n
	}
	for i := range pairs[:n] {
		if !r.isSmallTalk(ctx, pairs[i].messages) {
			return n
		}
	}
	return 0
}

// Small talk is at most mostSmallTalk terms, and no sentence of it has leastWorth, by package said. That is the
// worth of facts, so that what is in doubt has a theme. "I won't." has nothing to be a theme. A question has one if it asks about anything.
const (
	leastWorth    = .16
	mostSmallTalk = 12
)

// isSmallTalk reports whether persons say nothing worth keeping in an exchange, in any language. What an assistant says alone is
// none.
func (r *run) isSmallTalk(ctx context.Context, messages []memory.Note) bool {
	var texts []string
	terms, asks := 0, false
	for _, u := range callPage(messages).Messages {
		if u.Role != memory.RoleUser {
			continue
		}
		if policy.IsEmptyAnswer(u.Content) {
			u.Content = ""
		}
		texts = append(texts, u.Content)
		terms += len(text.Terms(u.Content))
		asks = asks || slices.ContainsFunc(text.Sentences(u.Content), func(s string) bool { return said.Asks(s) && len(text.Terms(s)) > 1 })
	}
	if len(texts) == 0 || terms > mostSmallTalk || asks {
		return false
	}
	j, _ := policy.Weigh(ctx, r.d, texts...) // there is an answer in any case
	return !j.Happened && (j.Worth < leastWorth || len(text.Keyphrases(strings.Join(texts, "\n"), 1)) == 0)
}

// assignThemes sums up pages by theme, and adds each to the session of its theme.
func (r *run) assignThemes(ctx context.Context, pages []*midPage) error {
	material := make([]CallPage, len(pages))
	for i, pg := range pages {
		material[i] = callPage(pg.messages)
	}
	themes, pending, err := r.themes(ctx, material, pages)
	if err != nil {
		return err
	}
	for i := range themes {
		t := &themes[i]
		if len(t.Pages) == 0 {
			continue
		}
		of := make([]*midPage, len(t.Pages))
		for j, handle := range t.Pages {
			of[j] = pages[handle]
		}
		if err := r.addTheme(ctx, t, of, pending); err != nil {
			return err
		}
	}
	return nil
}

// themes returns the themes of pages, each page in one of them. pending reports that the answer could not be used.
func (r *run) themes(ctx context.Context, material []CallPage, pages []*midPage) (themes []Theme, pending bool, err error) {
	if saysNothing(material) {
		return []Theme{generalTheme(material)}, false, nil
	}
	call, err := r.calls().Themes(ThemesInput{Pages: material})
	a, usable, err := r.ask(ctx, call, err)
	if err != nil {
		return nil, false, err
	}
	if !usable {
		r.failed = append(r.failed, CallThemes)
		return []Theme{generalTheme(material)}, true, nil
	}
	read, err := ReadThemes(a.JSON, len(material))
	if err != nil {
		return nil, false, err
	}
	for i := range read.Themes {
		read.Themes[i].by = a.Analyst
	}
	if len(read.Rest) == 0 {
		return read.Themes, false, nil
	}
	vectors, err := r.d.Embed(ctx, themeTexts(read.Themes))
	if err != nil {
		return nil, false, err
	}
	for _, handle := range read.Rest {
		best, most := 0, -2.0
		for i := range read.Themes {
			if like, _ := memory.Cosine(vectors[i], meanVector(pages[handle].messages)); like > most {
				best, most = i, like
			}
		}
		read.Themes[best].Pages = append(read.Themes[best].Pages, handle)
	}
	for i := range read.Themes {
		slices.Sort(read.Themes[i].Pages)
	}
	return read.Themes, false, nil
}

// saysNothing reports whether there is nothing to sum up, such as a smiley or "none". An answer about it could not be
// used, and would be asked for again and again.
func saysNothing(material []CallPage) bool {
	for i := range material {
		for _, m := range material[i].Messages {
			if !policy.IsEmptyAnswer(m.Content) && len(text.Words(m.Content)) > 0 {
				return false
			}
		}
	}
	return true
}

// themeTexts returns the texts that are embedded for sessions of these themes.
func themeTexts(themes []Theme) []string {
	out := make([]string, len(themes))
	for i := range themes {
		n := memory.Note{}
		describe(&n, &themes[i])
		out[i] = memory.EmbedText(&n)
	}
	return out
}

// describe sets what the note of a session says of its theme.
func describe(n *memory.Note, t *Theme) {
	n.Content, n.Keywords = cmp.Or(t.Content, t.Theme, "General"), t.Keywords
}

// bestMatch returns the session that fits a theme best, and how well.
func (r *run) bestMatch(t *Theme, vector []float32) (best *session, most float64) {
	probe, keywords := memory.NewProbe(vector), foldAll(t.Keywords)
	marks := marksOf(keywords)
	fit := func(cosine float64, its uint64, say *readSession) float64 {
		if marks&its == 0 { // they share no keyword
			return cosine
		}
		return match(cosine, r.c.KeywordWeight, keywords, say.keywords)
	}
	at := -1 // of the best one, if it is as it is stored
	see := func(k int, s *session, m float64) {
		if (at < 0 && best == nil) || m > most {
			at, best, most = k, s, m
		}
	}
	seeNow := func(s *session) {
		if say := s.now(); !s.gone {
			see(-1, s, fit(probe.Cosines([]memory.Measured{say.vector})[0], say.marks, say))
		}
	}
	var cosines []float64
	for i := range r.roster.leaves {
		of, from := r.roster.leaves[i].of, r.roster.from[i]
		cosines = probe.AppendCosines(cosines[:0], of.vectors)
		for j, cosine := range cosines {
			switch s := (*r.opened)[from+j]; {
			case s != nil:
				seeNow(s)
			case marks&of.marks[j] == 0:
				see(from+j, nil, cosine)
			default:
				see(from+j, nil, fit(cosine, of.marks[j], of.lines[j].read))
			}
		}
	}
	for _, s := range r.added {
		seeNow(s)
	}
	if at >= 0 {
		best = r.open(at)
	}
	return best, most
}

// addTheme adds pages to the session that fits their theme, or opens one.
func (r *run) addTheme(ctx context.Context, t *Theme, pages []*midPage, pending bool) error {
	vectors, err := r.d.Embed(ctx, themeTexts([]Theme{*t}))
	if err != nil {
		return err
	}
	s, fit := r.bestMatch(t, vectors[0])
	var reason string
	if s == nil || fit < r.c.MergeThreshold {
		if reason = "opened a session: there is none yet"; s != nil {
			reason = fmt.Sprintf("opened a session: the best match is %.3f, below %g", fit, r.c.MergeThreshold)
		}
		s = &session{isNew: true, owned: true, read: &readSession{}, note: &memory.Note{
			ID: r.d.NewID(), Kind: memory.KindSession, Category: memory.DefaultCategory, Importance: memory.DefaultImportance,
			State: memory.StateEvolved, Analyst: t.by, OccurredAt: pages[0].messages[0].OccurredAt, Vector: vectors[0],
		}}
		s.state.Theme, s.state.Pending = t.Theme, pending
		describe(s.note, t)
		r.added = append(r.added, s)
	} else {
		reason = fmt.Sprintf("joined the session: the match is %.3f, at least %g", fit, r.c.MergeThreshold)
		s.state.Pending = s.state.Pending || pending
		if err := r.sumUp(ctx, s, t, pages); err != nil {
			return err
		}
	}
	r.join(s, pages, reason)
	return nil
}

// join adds pages to a session.
func (r *run) join(s *session, pages []*midPage, reason string) {
	n, note := int64(len(pages)), s.own()
	s.state.Interaction, s.state.Fresh, s.state.Pages = s.state.Interaction+n, s.state.Fresh+n, s.state.Pages+n
	s.state.LastVisit, s.changed = formatVisit(r.now), true
	s.newest = append(s.newest, pages...)
	for _, pg := range pages {
		pg.session, pg.state.Reason = s.note.ID, reason
		for i := range pg.messages {
			id := pg.messages[i].ID
			note.Provenance.Sources = append(note.Provenance.Sources, id)
			if id != pg.first {
				r.dec.Links = append(r.dec.Links, otherLink(s.note.ID, id, pg.first))
			}
		}
	}
	note.Provenance.Sources = newestOf(note.Provenance.Sources)
	heat := r.heat(s)
	for _, pg := range pages {
		r.move(Move{From: TierShort, To: TierMid, Note: pg.first, Session: new(s.note.ID), Reason: reason, Heat: heat})
	}
}

// otherLink returns the link from a session to a message of a page that is not its first.
func otherLink(session, message, first uuid.UUID) memory.Link {
	return memory.Link{
		LinkID: memory.LinkID{Source: session, Target: message, Relation: RelPage}, Confidence: 1, Attributes: map[string]any{"of": first.String()},
	}
}

func newestOf(ids []uuid.UUID) []uuid.UUID { return ids[max(0, len(ids)-maxSources):] }

// sumUp writes the summary of a session again: of what it says, and of pages that it gets.
func (r *run) sumUp(ctx context.Context, s *session, t *Theme, pages []*midPage) error {
	var material []CallPage
	if s.note.Content != "" {
		material = append(material, CallPage{Messages: []memory.Utterance{{Role: memory.RoleSystem, Content: s.note.Content, Time: s.note.OccurredAt}}})
	}
	for _, pg := range pages {
		material = append(material, callPage(pg.messages))
	}
	if saysNothing(material) { // its theme says it already
		describe(s.own(), t)
		s.changed = true
		return nil
	}
	call, err := r.calls().Themes(ThemesInput{Pages: material})
	a, usable, err := r.ask(ctx, call, err)
	if err != nil {
		return err
	}
	whole := Theme{Theme: cmp.Or(s.state.Theme, t.Theme), Content: joinShort(s.note.Content, t.Content)}
	keywords := append(slices.Clone(t.Keywords), s.note.Keywords...)
	if usable {
		read, err := ReadThemes(a.JSON, len(material))
		if err != nil {
			return err
		}
		whole.Content, keywords = "", nil
		for i := range read.Themes {
			whole.Content = joinShort(whole.Content, read.Themes[i].Content)
			keywords = append(keywords, read.Themes[i].Keywords...)
		}
		whole.Theme = cmp.Or(read.Themes[0].Theme, whole.Theme)
		s.own().Analyst = a.Analyst
	} else {
		r.failed = append(r.failed, CallThemes)
		s.state.Pending = true
	}
	whole.Keywords = policy.CleanKeywords(append(keywords, s.note.Keywords...), MaxKeywords, "")
	s.state.Theme, s.changed = whole.Theme, true
	describe(s.own(), &whole)
	vectors, err := r.d.Embed(ctx, themeTexts([]Theme{whole}))
	if err != nil {
		return err
	}
	s.own().Vector = vectors[0]
	return nil
}

// joinShort returns two texts as one, each shortened to half of the room where both do not fit.
func joinShort(a, b string) string {
	if a == "" || a == b {
		return policy.CleanLine(b, MaxContentChars)
	}
	_, parts := policy.FitChars([]string{a, b}, MaxContentChars-1)
	if len(parts) == 1 {
		return policy.CleanLine(parts[0], MaxContentChars)
	}
	return policy.CleanLine(parts[0]+" "+parts[1], MaxContentChars)
}

// repair sums up again the sessions whose summary is missing or stale. One whose pages are all gone is deleted.
func (r *run) repair(ctx context.Context) error {
	if err := r.repairProfile(ctx); err != nil {
		return err
	}
	done := 0
	for i := range r.roster.leaves {
		of := r.roster.leaves[i].of
		if !of.torn {
			continue
		}
		for j := range of.lines {
			if !of.lines[j].read.torn {
				continue
			}
			if done++; done > maxRepairs {
				r.later = true
				return nil
			}
			if err := r.repairSession(ctx, r.open(r.roster.from[i]+j)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) repairSession(ctx context.Context, s *session) error {
	pages, err := r.pagesOf(ctx, []uuid.UUID{s.note.ID}, memory.Outgoing)
	if err != nil {
		return err
	}
	s.changed = true
	s.state.Pages, s.state.Fresh = int64(len(pages)), countFresh(pages)
	if len(pages) == 0 {
		s.gone = true
		r.dec.Deletes = append(r.dec.Deletes, s.note.ID)
		r.move(Move{From: TierMid, To: TierEvicted, Note: s.note.ID, Reason: "its messages were deleted", Heat: r.heat(s)})
		return nil
	}
	if s.note.Provenance.Stale {
		for _, pg := range pages { // the summaries of their chains may say what a caller deleted
			pg.changed = pg.changed || pg.state.Meta != ""
			pg.state.Meta = ""
		}
	}
	pages = pages[max(0, len(pages)-maxPages):]
	if err := r.readMessages(ctx, pages); err != nil {
		return err
	}
	material := make([]CallPage, len(pages))
	var sources []uuid.UUID
	for i, pg := range pages {
		material[i] = callPage(pg.messages)
		for j := range pg.messages {
			sources = append(sources, pg.messages[j].ID)
		}
	}
	n := s.own()
	s.state.Pending, s.state.Theme = false, ""
	n.Provenance.Stale, n.Provenance.Sources = false, newestOf(sources)
	n.Content, n.Keywords = "", nil
	general := generalTheme(material)
	return r.sumUp(ctx, s, &general, pages)
}

func countFresh(pages []*midPage) int64 {
	n := int64(0)
	for _, pg := range pages {
		if !pg.state.Analyzed {
			n++
		}
	}
	return n
}

// readMessages reads the messages of pages.
func (r *run) readMessages(ctx context.Context, pages []*midPage) error {
	var ids []uuid.UUID
	for _, pg := range pages {
		if pg.messages == nil {
			ids = append(append(ids, pg.first), pg.others...)
		}
	}
	read := map[uuid.UUID]memory.Note{}
	for batch := range slices.Chunk(ids, policy.PageSize) {
		notes, err := r.d.Notes(ctx, batch)
		if err != nil {
			return err
		}
		for i := range notes {
			read[notes[i].ID] = notes[i]
		}
	}
	for _, pg := range pages {
		if pg.messages != nil {
			continue
		}
		of := append([]uuid.UUID{pg.first}, pg.others...)
		slices.SortFunc(of, memory.CompareIDs)
		for _, id := range of {
			if n, ok := read[id]; ok {
				pg.messages = append(pg.messages, n)
			}
		}
	}
	return nil
}
