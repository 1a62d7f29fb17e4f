package memoryos

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// sameKnowledge is the cosine from which two entries say the same.
const sameKnowledge = 0.95

// maxEvidence is how many pieces of evidence a finding of the profile keeps, the newest ones.
const maxEvidence = 3

// analyzeHot analyzes the sessions that are hot and have pages that were not analyzed: those that wait for it, oldest
// first, then the hottest first.
func (r *run) analyzeHot(ctx context.Context) error {
	r.openWarm()
	var hot []*session
	for s := range r.looked() {
		if !s.gone && s.state.Fresh > 0 && (s.state.Due || s.state.mayBeHot(r.c, s.usage) && r.heat(s) >= r.c.HeatThreshold) {
			hot = append(hot, s)
		}
	}
	slices.SortStableFunc(hot, func(a, b *session) int {
		switch {
		case a.state.Due && b.state.Due:
			return memory.CompareIDs(a.note.ID, b.note.ID)
		case a.state.Due:
			return -1
		case b.state.Due:
			return 1
		}
		return cmp.Compare(r.heat(b), r.heat(a))
	})
	for _, s := range hot {
		if r.analyses >= maxAnalyses {
			r.later = true
			return nil
		}
		reason := fmt.Sprintf("its heat is %.3f, at least %g", r.heat(s), r.c.HeatThreshold)
		if s.state.Due {
			reason = "it was hot, and an answer of the model was missing"
		}
		done, err := r.analyze(ctx, s, reason)
		if err != nil {
			return err
		}
		if !done && !s.state.Due {
			s.state.Due, s.changed = true, true
		}
	}
	return nil
}

// openWarm opens the sessions that may be hot: of those that were never used, the ones that got many pages.
func (r *run) openWarm() {
	warm := func(s *SessionState, u memory.Usage) bool { return s.Fresh > 0 && (s.Due || s.mayBeHot(r.c, u)) }
	for i := range r.roster.leaves {
		of := r.roster.leaves[i].of
		if most := (SessionState{Fresh: 1, Due: of.due, Interaction: of.warm}); !warm(&most, memory.Usage{}) {
			continue
		}
		for j := range of.lines {
			if warm(&of.lines[j].read.state, memory.Usage{}) {
				r.open(r.roster.from[i] + j)
			}
		}
	}
	for _, k := range r.visited {
		if l := r.roster.at(k); warm(&l.read.state, r.used[l.note.ID]) {
			r.open(k)
		}
	}
}

// analyze takes profile and knowledge from the pages of a session that were not analyzed, both concurrently. done is false
// when the pages stay as they are, because one of the answers is missing.
func (r *run) analyze(ctx context.Context, s *session, reason string) (done bool, err error) {
	pages, left, err := r.freshPages(ctx, s)
	if err != nil {
		return false, err
	}
	m := material{person: r.c.UserName}
	for _, pg := range pages {
		m.add(pg.messages)
	}
	if len(m.messages) > 0 {
		r.analyses++
		if done, err = r.extract(ctx, s, &m, reason); err != nil || !done {
			return false, err
		}
	}
	heat := r.heat(s)
	for _, pg := range pages {
		pg.state.Analyzed, pg.changed = true, true
	}
	s.state.Fresh = left
	r.later = r.later || left > 0
	s.state.Interaction, s.state.Seen, s.state.Due, s.changed = 0, s.usage.AccessCount, left > 0, true
	r.move(Move{From: TierMid, To: TierLong, Note: s.note.ID, Reason: "analyzed: " + reason, Heat: heat})
	return true, nil
}

// material is what profile and knowledge are taken from.
type material struct {
	pages    []CallPage
	messages []memory.Note // that may be learned from
	person   string        // who speaks; "": unknown
}

func (m *material) add(messages []memory.Note) {
	page := callPage(messages)
	if len(page.Messages) == 0 {
		return
	}
	m.pages = append(m.pages, page)
	for i := range messages {
		if !memory.Learnable(&messages[i]) {
			continue
		}
		m.messages = append(m.messages, messages[i])
		if u := memory.UtteranceOf(&messages[i]); u.Role == memory.RoleUser {
			m.person = cmp.Or(m.person, u.Name)
		}
	}
}

// sourcesOf returns the messages that an entry is likely from: those that share most words with it, more than half as
// many as the best one; all when none shares any.
func (m *material) sourcesOf(entry string) []uuid.UUID {
	of := text.TermSet(entry)
	shared, most := make([]int, len(m.messages)), 0
	for i := range m.messages {
		for t := range text.TermSet(m.messages[i].Content) {
			if of[t] {
				shared[i]++
			}
		}
		most = max(most, shared[i])
	}
	var out []uuid.UUID
	for i := range m.messages {
		if 2*shared[i] > most || most == 0 {
			out = append(out, m.messages[i].ID)
		}
	}
	return newestOf(out)
}

// newestTime returns when the newest of some messages was said. An analysis comes much later, and an entry that had its
// time would pass for newer than what was corrected meanwhile.
func (m *material) newestTime(sources []uuid.UUID, otherwise time.Time) time.Time {
	var newest time.Time
	for i := range m.messages {
		if at := m.messages[i].OccurredAt; slices.Contains(sources, m.messages[i].ID) && at.After(newest) {
			newest = at
		}
	}
	if newest.IsZero() {
		return otherwise
	}
	return newest
}

// extract asks for profile and knowledge at the same time. What one of them gives is kept when the other fails.
func (r *run) extract(ctx context.Context, s *session, m *material, reason string) (done bool, err error) {
	var asking sync.WaitGroup
	var profileErr, knowledgeErr error
	var profile *memory.Note
	var found *foundKnowledge
	both := r.c.Persons == personsOne
	if both {
		asking.Go(func() { profile, profileErr = r.askProfile(ctx, m, false) })
	}
	asking.Go(func() { found, knowledgeErr = r.askKnowledge(ctx, m) })
	asking.Wait()
	if err := errors.Join(profileErr, knowledgeErr); err != nil && (!both || profileErr != nil && knowledgeErr != nil || ctx.Err() != nil) {
		return false, err
	}
	if profile != nil {
		r.out.Profile = true
		r.putProfile(*profile)
	}
	if profileErr != nil {
		r.failed = append(r.failed, CallProfile)
	}
	if found == nil {
		r.failed = append(r.failed, CallKnowledge)
		return false, nil
	}
	if r.out.Knowledge == nil {
		r.out.Knowledge = &counted{}
	}
	r.out.Knowledge.Dropped += found.dropped
	for _, list := range []struct {
		of      string
		entries []string
	}{{OfUser, found.User}, {OfAssistant, found.Assistant}} {
		entries := list.entries
		if len(entries) > 0 && found.by != memory.AnalystHeuristic { // quotations were said
			entries, err = r.saidOf(ctx, entries, m)
		}
		if err == nil {
			r.out.Knowledge.Dropped += len(list.entries) - len(entries)
			err = r.learn(ctx, s, list.of, entries, found.by, m, reason)
		}
		if err != nil {
			return false, err
		}
	}
	return profileErr == nil, nil
}

// freshPages returns the oldest pages of a session that were not analyzed, with their messages. left is how many
// there are beside them.
func (r *run) freshPages(ctx context.Context, s *session) (pages []*midPage, left int64, err error) {
	pages = slices.Clone(s.newest)
	if !s.isNew {
		stored, err := r.pagesOf(ctx, []uuid.UUID{s.note.ID}, memory.Outgoing)
		if err != nil {
			return nil, 0, err
		}
		pages = append(stored, pages...)
	}
	pages = slices.DeleteFunc(pages, func(pg *midPage) bool { return pg.state.Analyzed })
	slices.SortFunc(pages, func(a, b *midPage) int { return memory.CompareIDs(a.first, b.first) })
	pages = slices.Compact(pages)
	some := pages[:min(len(pages), maxPages)]
	return some, int64(len(pages) - len(some)), r.readMessages(ctx, some)
}

// askProfile returns the profile with what the pages show; nil: it stays as it is. With again, what it said
// before is left out.
func (r *run) askProfile(ctx context.Context, m *material, again bool) (*memory.Note, error) {
	n, err := r.profileNote(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := ReadProfileNote(&n)
	if err != nil {
		r.asking.Lock()
		r.damage(Damaged{n.ID, err.Error()})
		r.asking.Unlock()
		return nil, nil //nolint:nilnil,nilerr // a damaged profile is reported, and not overwritten
	}
	old, evidence := Profile{Dimensions: []Dimension{}}, map[string][]string{}
	was := n.Provenance.Sources
	if again {
		kept, was = ProfileState{}, nil
	} else if n.ID != uuid.Nil && n.Attributes["text"] != "" {
		old.Text = n.Content
	}
	for _, k := range kept.Dimensions {
		last := ""
		if len(k.Evidence) > 0 {
			last = k.Evidence[len(k.Evidence)-1]
		}
		old.Dimensions = append(old.Dimensions, Dimension{k.Name, k.Level, last})
		evidence[k.Name] = k.Evidence
	}
	call, err := r.calls().Profile(ProfileInput{Old: old, Person: m.person, Pages: m.pages})
	a, usable, err := r.ask(ctx, call, err)
	if err != nil || !usable {
		return nil, err
	}
	read, err := readProfile(a.JSON, &old)
	if err != nil || !read.Changed {
		return nil, err
	}
	r.out.ProfileEnded += len(read.Ended) // only this call counts them
	content := read.Profile.Text
	if policy.IsBlank(content) {
		content = describeDimensions(read.Profile.Dimensions)
	}
	if content == "" {
		if len(read.Ended) > 0 && n.ID != uuid.Nil {
			r.dec.Deletes = append(r.dec.Deletes, n.ID) // nothing of it is true any more
		}
		return nil, nil //nolint:nilnil // there is nothing to say
	}
	out := policy.DerivedNote(r.d, n, memory.KindProfile, KeyProfile, content, a.Analyst, newestOf(append(slices.Clone(was), memory.IDs(m.messages)...)))
	list := make([]any, len(read.Profile.Dimensions))
	for i, d := range read.Profile.Dimensions {
		list[i] = map[string]any{"name": d.Name, "level": string(d.Level), "evidence": newestEvidence(evidence[d.Name], d.Evidence)}
	}
	out.Attributes = map[string]any{"dimensions": list, "text": read.Profile.Text}
	for chars := MaxEvidenceChars / 2; out.Check() != nil && chars > 10; chars /= 2 { // too much for the attributes of a note
		for i, d := range read.Profile.Dimensions {
			list[i] = map[string]any{"name": d.Name, "level": string(d.Level), "evidence": []any{text.Shorten(d.Evidence, chars)}}
		}
	}
	return &out, nil
}

// newestEvidence returns the last texts that show a dimension, with a new one.
func newestEvidence(why []string, found string) []any {
	if !slices.Contains(why, found) {
		why = append(slices.Clone(why), found)
	}
	why = why[max(0, len(why)-maxEvidence):]
	texts := make([]any, len(why))
	for i, w := range why {
		texts[i] = w
	}
	return texts
}

// repairProfile writes a stale profile again, from the messages that are left of its sources. Without any it is
// deleted.
func (r *run) repairProfile(ctx context.Context) error {
	n, err := r.profileNote(ctx)
	if err != nil || !n.Provenance.Stale {
		return err
	}
	messages, err := r.d.Notes(ctx, n.Provenance.Sources)
	if err != nil {
		return err
	}
	slices.SortFunc(messages, func(a, b memory.Note) int { return memory.CompareIDs(a.ID, b.ID) })
	m := material{person: r.c.UserName}
	for len(messages) > 0 {
		turn, page := messages[0].Attributes[memory.AttrTurn], 1
		for page < len(messages) && turn != nil && messages[page].Attributes[memory.AttrTurn] == turn {
			page++
		}
		m.add(messages[:page])
		messages = messages[page:]
	}
	if len(m.messages) > 0 {
		made, err := r.askProfile(ctx, &m, true)
		if err != nil {
			return err
		}
		switch {
		case made != nil:
			r.out.Profile = true
			r.putProfile(*made)
			return nil
		case len(r.out.Unusable)+len(r.out.Damaged) > 0:
			r.failed = append(r.failed, CallProfile)
			return nil
		}
	}
	r.dec.Deletes = append(r.dec.Deletes, n.ID) // it may say what a caller deleted
	return nil
}

// markStale marks the knowledge that comes from a changed or deleted message. It may still be true, and searches find
// it as before.
func (r *run) markStale(ctx context.Context, changed uuid.UUID) error {
	if changed == uuid.Nil {
		return nil
	}
	for n, err := range policy.EachNote(ctx, r.d, memory.NoteQuery{Kinds: []memory.Kind{memory.KindKnowledge}}) {
		if err != nil {
			return err
		}
		if slices.Contains(n.Provenance.Sources, changed) && !n.Provenance.Stale {
			marked := *n
			marked.Provenance.Stale = true
			r.dec.Puts = append(r.dec.Puts, marked)
		}
	}
	return nil
}

// describeDimensions returns the findings of a profile as a text.
func describeDimensions(list []Dimension) string {
	lines := make([]string, len(list))
	for i, d := range list {
		lines[i] = fmt.Sprintf("%s: %s (%s)", d.Name, strings.ToLower(string(d.Level)), d.Evidence)
	}
	return policy.CleanLine(strings.Join(lines, "; "), MaxProfileChars)
}

// profileNote returns the profile: the one of this decision, or the stored one. Its id is zero when there is none.
func (r *run) profileNote(ctx context.Context) (memory.Note, error) {
	for i := range r.dec.Puts {
		if r.dec.Puts[i].Kind == memory.KindProfile {
			return r.dec.Puts[i], nil
		}
	}
	profiles, err := r.d.All(ctx, memory.KindProfile, memory.ReadOptions{Vector: true}) // which is kept: each decision looks
	if err != nil {
		return memory.Note{}, err
	}
	at := slices.IndexFunc(profiles, func(n *memory.Note) bool { return n.Key == KeyProfile })
	if at < 0 {
		n, _, err := r.d.ByKey(ctx, memory.KindProfile, KeyProfile) // so that another decision's is a conflict
		return n, err
	}
	if slices.Contains(r.dec.Deletes, profiles[at].ID) {
		return memory.Note{}, nil
	}
	return profiles[at].Copy(), nil
}

func (r *run) putProfile(n memory.Note) {
	r.dec.Puts = slices.DeleteFunc(r.dec.Puts, func(o memory.Note) bool { return o.ID == n.ID })
	r.dec.Puts = append(r.dec.Puts, n)
}

// foundKnowledge is an answer of "knowledge".
type foundKnowledge struct {
	Knowledge
	dropped int            // entries that were left out
	by      memory.Analyst // of this answer: the profile's, asked concurrently, may have another
}

// askKnowledge returns what the pages say; nil: the answer cannot be used.
func (r *run) askKnowledge(ctx context.Context, m *material) (*foundKnowledge, error) {
	call, err := r.calls().Knowledge(KnowledgeInput{Person: m.person, Pages: m.pages})
	a, usable, err := r.ask(ctx, call, err)
	if err != nil || !usable {
		return nil, err
	}
	read, dropped, err := readKnowledge(a.JSON)
	return &foundKnowledge{read, dropped, a.Analyst}, err
}

// saidOf returns the entries that were said: none has a name or a number that is neither in the messages nor in what is known.
func (r *run) saidOf(ctx context.Context, entries []string, m *material) ([]string, error) {
	said, background := []string{}, []string{m.person}
	for i := range m.messages {
		u := memory.UtteranceOf(&m.messages[i])
		said, background = append(said, u.Content), append(background, u.Name)
	}
	for _, of := range []string{OfUser, OfAssistant} {
		known, err := r.knowledge(ctx, of)
		if err != nil {
			return nil, err
		}
		for _, n := range known.entries {
			background = append(background, n.Content)
		}
	}
	talk := policy.NewEvidence(m.newestTime(memory.IDs(m.messages), r.now).Year(), said...)
	all := talk.With(background...)
	return slices.DeleteFunc(entries, func(entry string) bool { return !talk.Shares(entry) || !all.Supports(entry) }), nil
}

// learn adds entries of knowledge that are not known yet, and removes the oldest ones at capacity.
func (r *run) learn(ctx context.Context, s *session, of string, entries []string, by memory.Analyst, m *material, reason string) error {
	if len(entries) == 0 {
		return nil
	}
	known, err := r.knowledge(ctx, of)
	if err != nil {
		return err
	}
	vectors, err := r.d.Embed(ctx, entries)
	if err != nil {
		return err
	}
	for i, told := range entries {
		key, like := knowledgeKey(of, told), memory.NewProbe(vectors[i]).Cosines(known.vectors)
		if slices.ContainsFunc(like, func(c float64) bool { return c >= sameKnowledge }) || known.has(key) {
			r.out.Knowledge.Repeated++
			continue
		}
		sources := m.sourcesOf(told)
		n := policy.DerivedNote(r.d, memory.Note{}, memory.KindKnowledge, key, told, by, sources)
		n.OccurredAt, n.Vector = m.newestTime(sources, r.now), vectors[i]
		n.Attributes = map[string]any{AttrOf: of, AttrSession: s.note.ID.String(), "reason": reason}
		known.add(newEntry(&n))
		r.dec.Puts = append(r.dec.Puts, n)
		r.dec.Learned = append(r.dec.Learned, memory.Learned{Memory: told, Event: memory.LearnedAdd, Note: n.ID})
		r.out.Knowledge.Added++
	}
	for known.filled() > r.c.KnowledgeCapacity {
		old := known.drop()
		r.out.Knowledge.Removed++
		r.dec.Learned = slices.DeleteFunc(r.dec.Learned, func(l memory.Learned) bool { return l.Note == old.ID })
		if isPut := func(n memory.Note) bool { return n.ID == old.ID }; slices.ContainsFunc(r.dec.Puts, isPut) {
			r.dec.Puts = slices.DeleteFunc(r.dec.Puts, isPut)
			continue
		}
		r.dec.Deletes = append(r.dec.Deletes, old.ID)
		r.dec.Learned = append(r.dec.Learned, memory.Learned{Memory: old.Content, Event: memory.LearnedDelete, Note: old.ID})
	}
	r.known[of] = known
	return nil
}

// QuotedAs is how many quotations take the room of one entry by a model, which says what several messages do.
const QuotedAs = 10

// knowledge returns the entries of one kind, oldest first, as they are after what was decided so far: one decision may analyze
// several sessions.
func (r *run) knowledge(ctx context.Context, of string) (*shelf, error) {
	if known, ok := r.known[of]; ok {
		return known, nil
	}
	if r.stored == nil {
		all, err := r.d.AllRead(ctx, memory.KindKnowledge, func(n *memory.Note) any { return newEntry(n) }, sumShelves)
		if err != nil {
			return nil, err
		}
		r.stored, _ = all.(shelves)
	}
	spent, _ := r.p.shelves.Get().(*shelf)
	out := r.stored.of(cmp.Or(spent, new(shelf)), of, r.dec.Deletes)
	for _, n := range r.dec.Puts {
		if n.Kind == memory.KindKnowledge && n.Attributes[AttrOf] == of {
			out.add(newEntry(&n))
		}
	}
	return out, nil
}

// knowledgeKey returns the natural key of an entry, so that two writers cannot both add it.
func knowledgeKey(of, entry string) string {
	sum := sha256.Sum256([]byte(strings.Join(text.Words(entry), " ")))
	return of + "/" + hex.EncodeToString(sum[:16])
}
