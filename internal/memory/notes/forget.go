package notes

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/secret"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/quote"
)

// Sources says what happens to the notes that a deleted note was derived from.
type Sources string

// The choices. TakeSentences is the default: of a fact or a line of knowledge, the sentences that say it are taken out of
// them. KeepSources leaves them as they are, DeleteSources deletes them.
const (
	TakeSentences Sources = ""
	KeepSources   Sources = "keep"
	DeleteSources Sources = "delete"
)

// Deleted is the result of a deletion.
type Deleted struct {
	Revision memory.Revision
	// Said are notes that may still say it: those that the deleted one was derived from, if it is a summary or a triple, or if
	// no sentence of theirs was found that says it, and answers that tell it in other words.
	Said []uuid.UUID
}

// supportedKinds are the kinds of notes that are deleted with the last of their sources. Summaries, sessions and profiles
// are made again by their policy instead, and so are notes, the items of layers.
var supportedKinds = []memory.Kind{memory.KindFact, memory.KindKnowledge, memory.KindEntity, memory.KindPassage}

// consequences are what a deletion changes beside the deleted note, found at a view.
type consequences struct {
	gone  []uuid.UUID   // derived notes that nothing else supports, and sources that are deleted as well
	edits []memory.Note // notes without the sentences that say what is deleted, with their vectors
	again []uuid.UUID   // of edits: those that their policy describes again
	learn []uuid.UUID   // messages and notes that are learned from again
	// unlinks are the edges that end between entities that stay.
	unlinks []memory.LinkID
	was     *memory.Note // of a note that is not visible: its last version; nil: it has none here
	said    []uuid.UUID
	also    []memory.Note // gone, as they were, and what says or said what the deleted note does
	texts   []string      // of gone, and the sentences that were taken out
}

// finder finds the consequences of a deletion.
type finder struct {
	n *Service
	s tenant.Scope
	v memory.View
	c *memory.Collection

	supports []memory.Kind // that go with the last of their sources
	x        *influence    // of an erasure; nil: none
}

// find returns a finder for what a collection shows.
func (n *Service) find(ctx context.Context, s tenant.Scope, c *memory.Collection) (finder, error) {
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	return finder{n: n, s: s, v: v, c: c}, err
}

// history returns the versions of a note, newest first; none if there is none.
func (f *finder) history(ctx context.Context, id uuid.UUID) ([]memory.HistoryEntry, error) {
	past, err := f.n.store.History(ctx, f.s, f.v, id, 0, 0)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return past, err
}

// consequencesOf finds what the deletion of a note changes. Of a note that is not visible, only what it has written into others is
// left.
func (n *Service) consequencesOf(ctx context.Context, s tenant.Scope, c *memory.Collection, v memory.View, e *noteDeletion) (consequences, error) {
	var out consequences
	f := finder{n, s, v, c, supportedKinds, e.influence}
	if e.influence != nil {
		f.supports = append(slices.Clip(f.supports), memory.KindNote)
	}
	id, sources := e.id, e.sources
	found, err := n.store.Notes(ctx, s, v, []uuid.UUID{id}, memory.ReadOptions{})
	if err != nil || len(found) == 0 && e.influence == nil {
		return out, err
	}
	gone := []uuid.UUID{id}
	if sources == DeleteSources && len(found) > 0 {
		of, err := f.sourcesOf(ctx, &found[0])
		if err != nil {
			return out, err
		}
		for i := range of {
			gone = append(gone, of[i].ID)
		}
	}
	edges, err := f.retired(ctx, &gone)
	if err != nil {
		return out, err
	}
	if gone, err = f.supported(ctx, gone); err != nil {
		return out, err
	}
	written, err := f.writtenInto(ctx, e, &gone, edges)
	if err != nil {
		return out, err
	}
	out.again, out.learn, out.unlinks = written.again, written.learn, written.unlinks
	out.gone = gone[1:]
	if len(found) == 0 {
		out.edits = written.edits
		out.was, err = f.last(ctx, id)
		return out, err
	}
	note := &found[0]
	if sources != DeleteSources {
		out.edits, out.said, out.texts, err = f.statedBy(ctx, note, sources)
		if err != nil {
			return out, err
		}
	}
	also, err := n.store.Notes(ctx, s, v, out.gone, memory.ReadOptions{})
	if err != nil {
		return out, err
	}
	for i := range also {
		out.texts = append(out.texts, also[i].Content)
	}
	of, err := f.sourcesOf(ctx, note)
	if err != nil {
		return out, err
	}
	out.also = slices.Concat(also, of, out.edits)
	also = append(also, *note)
	shown, err := f.shownBy(ctx, also, out.edits)
	if err != nil {
		return out, err
	}
	near, err := f.beside(ctx, note)
	if err != nil {
		return out, err
	}
	told, err := f.toldBy(ctx, also, out.edits, near, append(out.texts, note.Content))
	out.edits = append(out.edits, shown...)
	for i := range written.edits {
		if !slices.ContainsFunc(out.edits, isNote(written.edits[i].ID)) {
			out.edits = append(out.edits, written.edits[i])
		}
	}
	out.said = memory.AppendNew(out.said, told...)
	return out, err
}

// How far around its sources it is looked for what says a fact too.
const (
	nearMessages = 20 // on each side
	nearSources  = 16 // the newest ones
)

// beside returns the messages of the same session around those that a fact or a line of knowledge was derived from.
func (f *finder) beside(ctx context.Context, note *memory.Note) (out []memory.Note, err error) {
	if note.Kind != memory.KindFact && note.Kind != memory.KindKnowledge {
		return nil, nil
	}
	of, err := f.sourcesOf(ctx, note)
	if err != nil {
		return nil, err
	}
	of = slices.DeleteFunc(of, func(n memory.Note) bool { return n.Kind != memory.KindMessage })
	for _, source := range of[max(0, len(of)-nearSources):] {
		for _, newest := range []bool{false, true} {
			list, err := f.n.store.ListNotes(ctx, f.s, f.v, memory.NoteQuery{
				Kinds: []memory.Kind{memory.KindMessage}, After: source.ID, Newest: newest, Limit: nearMessages,
			})
			if err != nil {
				return nil, err
			}
			for i := range list {
				if list[i].Attributes[memory.AttrSession] == source.Attributes[memory.AttrSession] {
					out = append(out, list[i])
				}
			}
		}
	}
	return out, nil
}

// retoldBy returns those of the messages beside a fact that say it: a sentence has most of its terms, or two of them and most of its names
// and numbers. Answers that have a name or a number of it may tell it.
func retoldBy(near []memory.Note, known map[uuid.UUID]bool, fact string) (told []uuid.UUID, answers []memory.Note) {
	w, names := newSaying(fact), namesOf(fact)
	named := saying{terms: names}
	says := func(s string) bool {
		return w.isSaidBy(s) || len(names) > 0 && named.isSaidBy(s) && w.shared(s) > 1
	}
	for i := range near {
		n := &near[i]
		role := memory.UtteranceOf(n).Role
		switch {
		case known[n.ID] || role != memory.RoleUser && role != memory.RoleAssistant:
		case slices.ContainsFunc(text.Sentences(n.Content), says):
			told, known[n.ID] = append(told, n.ID), true
		case role == memory.RoleAssistant && hasTerm(n.Content, names):
			answers = append(answers, *n)
		}
	}
	return told, answers
}

// namesOf returns the terms of a text that are numbers, or are written as names.
func namesOf(s string) map[string]bool {
	out := map[string]bool{}
	for _, sentence := range text.Sentences(wordsOf(s)) {
		for i, w := range strings.Fields(sentence) {
			first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(w, unicode.IsPunct))
			if i > 0 && unicode.IsUpper(first) || strings.ContainsFunc(w, unicode.IsNumber) {
				maps.Copy(out, text.TermSet(w))
			}
		}
	}
	return out
}

// toldBy returns the messages that may tell what goes in other words: those beside a fact that say it, and answers that have a term of it
// which no other person's message has, and were written from memory, in the same exchange, or beside the fact with a name or a number of
// it. texts are all that goes; the fact is the last.
func (f *finder) toldBy(ctx context.Context, gone, edits, beside []memory.Note, texts []string) ([]uuid.UUID, error) {
	known, turns := map[uuid.UUID]bool{}, []string(nil)
	for _, n := range slices.Concat(gone, edits) {
		known[n.ID] = true
		if turn := turnOf(&n); turn != uuid.Nil {
			turns = append(turns, turn.String())
		}
	}
	own := map[string]bool{}
	for _, s := range texts {
		maps.Copy(own, text.TermSet(wordsOf(s)))
	}
	near := filter.Or{&filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrRecall}, Op: filter.Eq, Values: []filter.Value{{Type: filter.Bool, Bool: true}}}}
	if len(turns) > 0 {
		near = append(near, filter.AttributeIs(memory.AttrTurn, turns[:min(len(turns), filter.MaxValues)]...))
	}
	answers, err := f.messages(ctx, filter.And{filter.AttributeIs(memory.AttrRole, string(memory.RoleAssistant)), near})
	if err != nil {
		return nil, err
	}
	told, more := retoldBy(beside, known, texts[len(texts)-1])
	answers = slices.DeleteFunc(append(answers, more...), func(n memory.Note) bool { return known[n.ID] || !hasTerm(n.Content, own) })
	if len(answers) == 0 {
		return told, nil
	}
	asked := map[string]bool{} // terms of the answers that no other person's message has
	for i := range answers {
		for _, t := range text.Terms(answers[i].Content) {
			if own[t] {
				asked[t] = true
			}
		}
	}
	if err := f.leaveUnsaid(ctx, asked, known); err != nil {
		return nil, err
	}
	for i := range answers {
		if hasTerm(answers[i].Content, asked) {
			told = append(told, answers[i].ID)
		}
	}
	return told, nil
}

// leaveUnsaid deletes the terms that people's messages have, but for the known ones.
func (f *finder) leaveUnsaid(ctx context.Context, terms map[string]bool, known map[uuid.UUID]bool) error {
	people := memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage}, Filter: filter.AttributeIs(memory.AttrRole, string(memory.RoleUser))}
	for n, err := range memory.EachNote(ctx, f.n.store, f.s, f.v, people) {
		if err != nil {
			return err
		}
		if !known[n.ID] {
			for _, t := range text.Terms(n.Content) {
				delete(terms, t)
			}
		}
		if len(terms) == 0 {
			break
		}
	}
	return nil
}

// hasTerm reports whether a text has one of some terms.
func hasTerm(s string, terms map[string]bool) bool {
	return slices.ContainsFunc(text.Terms(s), func(t string) bool { return terms[t] })
}

// shownBy returns the results of tools that show sentences of notes, without these: what a search of an agent has found is
// a copy of it. edits are changed already.
func (f *finder) shownBy(ctx context.Context, of, edits []memory.Note) ([]memory.Note, error) {
	if p, _ := f.n.policies.ByName(f.c.Policy); !isPager(p) {
		return nil, nil
	}
	var told []string
	for i := range of {
		for _, s := range text.Sentences(of[i].Content) {
			if !isShort(s) {
				told = append(told, s)
			}
		}
	}
	if len(told) == 0 {
		return nil, nil
	}
	results, err := f.messages(ctx, filter.AttributeIs(memory.AttrRole, string(memory.RoleTool)))
	if err != nil {
		return nil, err
	}
	var out []memory.Note
	for i := range results {
		gone := func(n memory.Note) bool { return n.ID == results[i].ID }
		if slices.ContainsFunc(of, gone) || slices.ContainsFunc(edits, gone) {
			continue
		}
		if shown := inResult(results[i].Content, told); len(shown) > 0 {
			out = append(out, without(&results[i], shown))
		}
	}
	f.embed(ctx, out)
	return out, nil
}

// inResult returns the sentences that a result of a tool shows, each so often as it does: as they are, or within JSON.
func inResult(result string, sentences []string) (out []string) {
	for _, s := range sentences {
		raw, err := json.Marshal(s)
		if err != nil {
			raw = nil
		}
		for _, form := range slices.Compact([]string{s, strings.Trim(string(raw), `"`)}) {
			if form != "" {
				out = append(out, slices.Repeat([]string{form}, strings.Count(result, form))...)
			}
		}
	}
	return out
}

func isPager(p memory.Policy) bool {
	_, ok := p.(memory.Pager)
	return ok
}

// isShort reports whether a text may be part of any other.
func isShort(s string) bool {
	return len(strings.Fields(letters(s))) < 2 && utf8.RuneCountInString(s) < leastText
}

// supported appends the notes that were derived from notes and that no other visible note supports.
func (f *finder) supported(ctx context.Context, gone []uuid.UUID) ([]uuid.UUID, error) {
	for from := gone; len(from) > 0; {
		next := len(gone)
		derived, err := f.learnedFrom(ctx, f.supports, from)
		if err != nil {
			return nil, err
		}
		for i := range derived {
			d := &derived[i]
			if _, triple := graph.TripleLink(d); triple || slices.Contains(gone, d.ID) {
				continue // triples are deleted with the last of their facts
			}
			if stays, err := f.staysWithout(ctx, d, gone); err != nil {
				return nil, err
			} else if !stays {
				gone = append(gone, d.ID)
			}
		}
		from = gone[next:]
	}
	return gone, nil
}

// staysWithout reports whether something else than notes supports a note.
func (f *finder) staysWithout(ctx context.Context, d *memory.Note, gone []uuid.UUID) (bool, error) {
	others := d.Provenance.Sources
	if d.Kind == memory.KindEntity { // its sources are the newest ones only; its edges have their own
		links, err := f.n.store.Links(ctx, f.s, f.v, memory.LinkQuery{Notes: []uuid.UUID{d.ID}, Direction: memory.Both})
		if err != nil {
			return false, err
		}
		others = slices.Clone(others)
		for i := range links {
			if e, ok := graph.EdgeOf(&links[i]); ok {
				others = append(others, e.Sources...)
			}
		}
	}
	others = slices.DeleteFunc(slices.Clone(others), func(id uuid.UUID) bool { return slices.Contains(gone, id) })
	left, err := f.n.store.Notes(ctx, f.s, f.v, others, memory.ReadOptions{})
	if err != nil || len(left) > 0 || d.Kind != memory.KindEntity {
		return len(left) > 0, err
	}
	for _, id := range others { // what is no longer true is the past of what was said
		if held, err := f.holds(ctx, id, gone); err != nil || held {
			return held, err
		}
	}
	return false, nil
}

// sourcesOf returns the visible notes that a note was derived from, and the messages that those are of.
func (f *finder) sourcesOf(ctx context.Context, note *memory.Note) ([]memory.Note, error) {
	return f.n.store.Notes(ctx, f.s, f.v, note.Provenance.Sources, memory.ReadOptions{})
}

func (f *finder) list(ctx context.Context, q memory.NoteQuery) ([]memory.Note, error) {
	return memory.All(memory.NotePagesOf(ctx, f.n.store, f.s, f.v, q))
}

// messages lists the messages that a filter selects. To look for some reads all notes, so it asks first whether there are any.
func (f *finder) messages(ctx context.Context, e filter.Expr) ([]memory.Note, error) {
	counts, err := f.n.store.Counts(ctx, f.s, f.v)
	if err != nil || counts.Kinds[memory.KindMessage] == 0 {
		return nil, err
	}
	return f.list(ctx, memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage}, Filter: e})
}

// statedBy returns the notes that say what a note says, without the sentences that do, and those in which none was found.
func (f *finder) statedBy(ctx context.Context, note *memory.Note, sources Sources) (edits []memory.Note, said []uuid.UUID, taken []string, err error) {
	of, err := f.sourcesOf(ctx, note)
	if err != nil || len(of) == 0 {
		return nil, nil, nil, err
	}
	_, triple := graph.TripleLink(note)
	if sources == KeepSources || triple || note.Kind != memory.KindFact && note.Kind != memory.KindKnowledge {
		for i := range of {
			said = append(said, of[i].ID)
		}
		return nil, said, nil, nil
	}
	w := newSaying(note.Content)
	for i := range of {
		if next, ok := w.takeOut(&of[i]); ok {
			edits = append(edits, next)
		} else {
			said = append(said, of[i].ID)
		}
	}
	more, err := f.repeatedBy(ctx, of, w)
	if err != nil {
		return nil, nil, nil, err
	}
	edits = append(edits, more...)
	if len(edits) > 0 {
		// A source of several messages says it in one of them.
		said = slices.DeleteFunc(said, func(id uuid.UUID) bool { return !w.mayBeSaidBy(of, id) })
	}
	f.embed(ctx, edits)
	return edits, said, slices.Collect(maps.Values(w.taken)), nil
}

// repeatedBy returns other messages and copies of messages without the sentences that were taken out of the sources, and
// without those of their exchanges that say the same in other words.
func (f *finder) repeatedBy(ctx context.Context, of []memory.Note, w *saying) ([]memory.Note, error) {
	turns := map[uuid.UUID]bool{}
	skip := map[uuid.UUID]bool{}
	for i := range of {
		skip[of[i].ID] = true
		if turn := turnOf(&of[i]); turn != uuid.Nil {
			turns[turn] = true
		}
	}
	if len(w.taken) == 0 && len(turns) == 0 {
		return nil, nil
	}
	var out []memory.Note
	for n, err := range memory.EachNote(ctx, f.n.store, f.s, f.v, memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage, memory.KindNote}}) {
		if err != nil {
			return nil, err
		}
		if exchange := turns[turnOf(n)]; !skip[n.ID] && (exchange || w.mayRepeat(n)) {
			if next, ok := w.takeRepeated(n, exchange); ok {
				out = append(out, next)
			}
		}
	}
	return out, nil
}

// mayRepeat reports whether a note has the words of a sentence that was taken out, in a row: to find its sentences takes longer.
func (w *saying) mayRepeat(n *memory.Note) bool {
	words := letters(n.Content)
	for s := range w.taken {
		if strings.Contains(words, s) {
			return true
		}
	}
	return false
}

// embed sets the vectors of notes to those of their new texts, if the embedder is fast.
func (f *finder) embed(ctx context.Context, list []memory.Note) {
	f.n.embedNotes(ctx, f.s, f.c, pointers(list)...)
}

// saying finds the sentences that say what a statement says: those that it quotes, else those that share most of its
// terms.
type saying struct {
	letters string            // of the words of the statement, or of what it quotes
	terms   map[string]bool   // of the statement
	taken   map[string]string // the sentences that were taken out, by their letters
}

func newSaying(statement string) *saying {
	words := wordsOf(statement)
	return &saying{letters: letters(words), terms: text.TermSet(words), taken: map[string]string{}}
}

// wordsOf returns what a statement quotes, or else the statement.
func wordsOf(statement string) string {
	if q, ok := quote.Parse(statement); ok {
		return strings.TrimSuffix(q.Words, "…")
	}
	return statement
}

// letters returns the words of a text, folded, without punctuation, with a space around each run of letters and digits.
func letters(s string) string {
	words := strings.FieldsFunc(text.Fold(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ") + " "
}

// shared counts the terms of the statement that a text has.
func (w *saying) shared(s string) int {
	n := 0
	for t := range text.TermSet(s) {
		if w.terms[t] {
			n++
		}
	}
	return n
}

// isSaidBy reports whether a sentence has most of the terms of the statement.
func (w *saying) isSaidBy(sentence string) bool { return 2*w.shared(sentence) > len(w.terms) }

// quotes reports whether the statement quotes a sentence, or a part of it.
func (w *saying) quotes(sentence string) bool {
	l := letters(sentence)
	return l != "" && w.letters != "" && (strings.Contains(w.letters, l) || strings.Contains(l, w.letters))
}

// takeOut returns a source of the statement without the sentences that say it; ok is false if none was found.
func (w *saying) takeOut(n *memory.Note) (next memory.Note, ok bool) {
	sentences := text.Sentences(n.Content)
	out := slices.DeleteFunc(slices.Clone(sentences), func(s string) bool { return !w.quotes(s) })
	if len(out) == 0 {
		best := 0
		for _, s := range sentences {
			best = max(best, w.shared(s))
		}
		for _, s := range sentences {
			if n := w.shared(s); n > 0 && n == best {
				out = append(out, s)
			}
		}
	}
	for _, s := range out {
		w.taken[letters(s)] = s
	}
	return without(n, out), len(out) > 0
}

// takeRepeated returns another note without the sentences that were taken out of the sources. In a message of the same
// exchange, a sentence with most of the terms of the statement says the same.
func (w *saying) takeRepeated(n *memory.Note, exchange bool) (next memory.Note, ok bool) {
	var out []string
	for _, s := range text.Sentences(n.Content) {
		if w.taken[letters(s)] != "" || exchange && w.isSaidBy(s) {
			out = append(out, s)
		}
	}
	return without(n, out), len(out) > 0
}

// mayBeSaidBy reports whether a source has a term of the statement.
func (w *saying) mayBeSaidBy(of []memory.Note, id uuid.UUID) bool {
	return slices.ContainsFunc(of, func(n memory.Note) bool { return n.ID == id && w.shared(n.Content) > 0 })
}

// without returns a note with a mark in place of sentences. It remembers what it was, so that a client that sends it again
// does not bring the sentences back.
func without(n *memory.Note, sentences []string) memory.Note {
	next := *n
	for _, s := range sentences {
		next.Content = strings.Replace(next.Content, s, secret.Mark(memory.DeletedKind), 1)
	}
	if attributes := next.OwnAttributes(); attributes[memory.AttrDigest] == nil {
		attributes[memory.AttrDigest] = strconv.FormatInt(memory.DigestOf(n), 16)
	}
	// What described the text may repeat it.
	if !slices.Contains(n.Supplied, memory.FieldContext) && n.Analyst != "" {
		next.Context = memory.DefaultContext
	}
	if !slices.Contains(n.Supplied, memory.FieldKeywords) && n.Analyst != "" {
		next.Keywords = nil
	}
	next.Embed(memory.Embedding{}, "")
	return next
}

// apply deletes and changes what a deletion affects. It returns the versions of before, and of edits those of after.
func (x *consequences) apply(ctx context.Context, s tenant.Scope, tx memory.Tx, c *memory.Collection, d *derivation) error {
	gone, err := tx.Notes(ctx, x.gone, memory.ReadOptions{Vector: true})
	if err != nil {
		return err
	}
	for i := range gone {
		if err := deleteTriples(ctx, tx, gone[i].ID); err != nil {
			return err
		}
		if err := d.refresh(ctx, tx, c, &gone[i], nil); err != nil {
			return err
		}
		if err := tx.Delete(ctx, gone[i].ID); err != nil {
			return err
		}
	}
	for i := range x.edits {
		old, err := readVisible(ctx, tx, x.edits[i].ID)
		if err != nil {
			return err
		}
		if old == nil {
			continue
		}
		next := x.edits[i]
		if _, err := tx.Put(ctx, next); err != nil {
			return err
		}
		if job := noteJob(s, c, &next, slices.Contains(x.again, next.ID)); job != nil {
			if _, err := tx.Enqueue(ctx, *job); err != nil {
				return err
			}
		}
		if err := d.refresh(ctx, tx, c, old, &next); err != nil {
			return err
		}
	}
	for _, id := range x.unlinks {
		if _, err := tx.Unlink(ctx, id); err != nil {
			return err
		}
	}
	return learnAgain(ctx, tx, c, x.learn)
}

// attrMeta is the attribute of a page's link to its session that sums up the pages before it. The next
// page makes it again.
const attrMeta = "meta"

// clear takes what was said out of where no note shows it: the results of jobs, and the links of summaries and sessions
// that are made again.
func (x *consequences) clear(ctx context.Context, tx memory.Tx, d *derivation, gone ...memory.Note) error {
	var texts []string
	for i := range gone {
		texts = append(texts, gone[i].Content)
		if gone[i].Kind == memory.KindMessage || gone[i].Kind == memory.KindNote {
			texts = append(texts, text.Sentences(gone[i].Content)...)
		}
	}
	texts = append(texts, x.texts...)
	texts = slices.DeleteFunc(texts, isShort)
	if err := tx.ClearJobs(ctx, texts, memory.Begun(slices.Concat(gone, x.also)...)); err != nil {
		return err
	}
	for page := range slices.Chunk(d.sessions, sessionsAtOnce) {
		links, err := tx.Links(ctx, memory.LinkQuery{Notes: page, Direction: memory.Both, Limit: math.MaxInt32})
		if err != nil {
			return err
		}
		for i := range links {
			l := links[i]
			meta, _ := l.Attributes[attrMeta].(string)
			again := slices.Contains(d.ids, l.Source) || slices.Contains(d.ids, l.Target)
			if meta == "" || !again && !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(meta, s) }) {
				continue
			}
			l.Attributes = maps.Clone(l.Attributes)
			l.Attributes[attrMeta] = ""
			if _, err := tx.Link(ctx, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// sessionsAtOnce is of how many sessions the links are read in one call.
const sessionsAtOnce = 100

// leastText is how many characters a text of one word has that is looked for in the results of jobs.
const leastText = 6

// changed returns the ids of the notes that a deletion changes, which others may be derived from.
func (x *consequences) changed(ids ...uuid.UUID) []uuid.UUID {
	out := append(slices.Clone(ids), x.gone...)
	for i := range x.edits {
		out = append(out, x.edits[i].ID)
	}
	return out
}
