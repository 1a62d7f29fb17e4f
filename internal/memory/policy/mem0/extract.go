package mem0

import (
	"context"
	"crypto/md5" //nolint:gosec // names texts, as Mem0 does; protects nothing
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/quote"
	"github.com/slipboxhq/slipbox/internal/text/recalled"
)

// exchange holds the new messages of an event, as far as they may be learned from.
type exchange struct {
	messages  []memory.Note // to extract from, oldest first; without recalled memories
	otherSide []memory.Note // of the other side, if facts are extracted from one side only
	first     uuid.UUID
	last      uuid.UUID
	latest    time.Time // time of the latest of messages
	session   any
	terms     []textTerms // of each of messages
	allTerms  textTerms
	said      []string         // the texts of messages
	evidence  *policy.Evidence // of the messages and, once facts are extracted, of the background
	guidance  *memory.Guidance // what its caller wants to be learned; nil: nothing in particular
}

// newExchange returns the exchange of an event's messages, which are oldest first.
func newExchange(c *Config, messages []memory.Note) exchange {
	var x exchange
	for i := range messages {
		m := messages[i]
		if i == 0 {
			x.first = m.ID
		}
		x.last = m.ID
		if s, ok := m.Attributes[memory.AttrSession]; ok {
			x.session = s
		}
		if !memory.Learnable(&m) {
			continue
		}
		m.Content = recalled.Strip(m.Content)
		if m.Content == "" {
			continue
		}
		role := memory.UtteranceOf(&m).Role
		if c.ExtractFrom == fromUser && role != memory.RoleUser || c.ExtractFrom == fromAssistant && role != memory.RoleAssistant {
			x.otherSide = append(x.otherSide, m)
			continue
		}
		x.messages = append(x.messages, m)
		if m.OccurredAt.After(x.latest) {
			x.latest = m.OccurredAt
		}
	}
	x.allTerms = textTerms{terms: map[string]bool{}}
	for i := range x.messages {
		w := termsOf(x.messages[i].Content)
		x.terms = append(x.terms, w)
		x.allTerms.add(w)
		x.said = append(x.said, x.messages[i].Content)
	}
	x.allTerms.lang, x.allTerms.sure = text.Guess(strings.Join(x.said, "\n"))
	x.gatherEvidence(extractContext{})
	return x
}

// gatherEvidence sets what facts may take their words from: the messages, their speakers, and the background.
func (x *exchange) gatherEvidence(shown extractContext) {
	texts := []string{shown.summary}
	for _, list := range [][]memory.Note{shown.recent, x.otherSide, x.messages} {
		for i := range list {
			u := memory.UtteranceOf(&list[i])
			texts = append(texts, u.Name, u.Content)
		}
	}
	x.evidence = policy.NewEvidence(x.latest.Year(), texts...)
}

// speakers returns the terms of the names of who speaks, and of the words for them.
func (x *exchange) speakers() textTerms {
	out := termsOf("user assistant 用户 助手")
	for i := range x.messages {
		out.add(termsOf(memory.UtteranceOf(&x.messages[i]).Name))
	}
	return out
}

// utteranceMaterial is a message as the prompt of "procedure" shows it.
type utteranceMaterial struct {
	Role    memory.Role `json:"role"`
	Name    string      `json:"name,omitempty"`
	Time    string      `json:"time"` // with the day of the week, since people refer to it
	Content string      `json:"content"`
}

// spokenLine returns a message as the prompt of "extract" shows it, in one text: with its day, since people say
// "tomorrow", and the name by which a fact calls the speaker.
func spokenLine(u *memory.Utterance) string {
	speaker := policy.CleanLine(u.Name, 100)
	switch {
	case speaker != "":
	case u.Role == memory.RoleUser:
		speaker = "User"
	case u.Role == memory.RoleAssistant:
		speaker = "Assistant"
	default:
		speaker = string(u.Role)
	}
	return u.Time.Format("2006-01-02 Monday") + ", " + speaker + ": " + u.Content
}

// newUtteranceMaterial returns a message as prompts show it, shortened to so many
// characters; 0: whole.
func newUtteranceMaterial(u memory.Utterance, chars int) utteranceMaterial {
	if chars > 0 {
		u.Content = text.Shorten(u.Content, chars)
	}
	return utteranceMaterial{Role: u.Role, Name: policy.CleanLine(u.Name, 100), Time: formatWithWeekday(u.Time), Content: u.Content}
}

// formatWithWeekday returns a time as prompts show it, in its zone with the day of the week.
func formatWithWeekday(t time.Time) string { return memory.Minute(t) + t.Format(" Monday") }

type extractMaterial struct {
	Summary string   `json:"summary,omitempty"`
	Recent  []string `json:"recent,omitempty"`
	New     []string `json:"new"`

	Guidance *memory.Guidance `json:"guidance,omitempty"`
}

// candidate is an extracted fact, with what is decided about it.
type candidate struct {
	text    string
	note    memory.Note // the note if it is added: key, attributes, times, sources
	similar []memory.Neighbor
	// unrelated are memories that were found too, and that it can neither end nor change; common are the terms of all.
	unrelated []memory.Neighbor
	common    textTerms
	near      map[uuid.UUID]bool // of similar, those of the nearest that it may be about
	decision  FactDecision
	answer    memory.Answer
	settled   bool // decided without asking
	reason    string
}

// extractFacts asks for the facts of an exchange and returns those that can come from it.
func (p *Policy) extractFacts(ctx context.Context, d memory.Desk, c *Config, x *exchange, out *Outcome) ([]candidate, error) {
	recent, err := recentMessages(ctx, d, c, x)
	if err != nil {
		return nil, err
	}
	summary, err := summaryText(ctx, d, c)
	if err != nil {
		return nil, err
	}
	x.assignSpeaker(recent)
	in := ExtractInput{Summary: summary, Max: c.MaxFacts, Chars: c.FactChars, OfAgent: c.ExtractFrom == fromAssistant}
	m := extractMaterial{Summary: summary, Guidance: x.guidance}
	for i := range recent {
		u := memory.UtteranceOf(&recent[i])
		if c.RecentChars > 0 {
			u.Content = text.Shorten(u.Content, c.RecentChars)
		}
		in.Recent = append(in.Recent, u)
		m.Recent = append(m.Recent, spokenLine(&u))
	}
	if !x.continues(recent) {
		in.Recent = append(in.Recent, memory.Utterance{Role: memory.RoleAssistant}) // so that nothing answers what was said then
	}
	in.New = x.utterancesWithin(memory.MaxContentBytes, exchangeMessages*memory.MaxContentBytes)
	for _, u := range x.utterancesWithin(c.MessageChars, exchangeMessages*c.MessageChars) {
		m.New = append(m.New, spokenLine(&u))
	}
	prompt := p.prompts.extract
	if x.guidance != nil {
		prompt = p.prompts.guidedPrompt()
	}
	prompt.Schema = boundFacts(prompt.Schema, c, in.New)
	var by memory.Analyst
	if c.Extraction == extractQuoted {
		by = memory.AnalystHeuristic
	}
	e, answer, err := askFor[Extraction](ctx, c, d, question{
		name: "extract", prompt: &prompt, material: m, count: len(m.New), input: in, analyst: by,
		lenient: lenientFacts, check: policy.CheckTypes[Extraction],
	})
	out.Extract = &Phase{}
	out.Extract.addCall(prompt.Version, &answer)
	if err != nil {
		return nil, err
	}
	if x.guidance != nil && answer.Analyst == memory.AnalystHeuristic {
		out.Unguided = unguided
	}
	out.Extract.Facts = len(e.Facts)
	facts, notSaid := e.quotedFacts(x)
	out.Dropped.NotSaid += notSaid
	list := newCandidates(c, x, facts, extractContext{summary, recent}, &answer, &out.Dropped)
	e.categorize(x.guidance, list)
	return list, nil
}

// exchangeMessages is how many messages of full length an extraction sees. An exchange may
// hold hundreds, if a person writes without an answer.
const exchangeMessages = 4

// utterancesWithin returns the messages, each and all together within so many characters:
// the longest are shortened first, then the oldest left out.
func (x *exchange) utterancesWithin(each, all int) []memory.Utterance {
	texts := make([]string, len(x.messages))
	for i := range x.messages {
		texts[i] = text.Shorten(x.messages[i].Content, each)
	}
	from, texts := policy.FitChars(texts, all)
	out := make([]memory.Utterance, len(texts))
	for i, t := range texts {
		out[i] = memory.UtteranceOf(&x.messages[from+i])
		out[i].Content = t
	}
	return out
}

// assignSpeaker sets the name of the only named user on the user messages without a name,
// so that one person does not become two. With several named users it does nothing.
func (x *exchange) assignSpeaker(recent []memory.Note) {
	name, lists := "", [][]memory.Note{recent, x.messages}
	for _, list := range lists {
		for i := range list {
			u := memory.UtteranceOf(&list[i])
			switch {
			case u.Role != memory.RoleUser || u.Name == "" || u.Name == name:
			case name != "":
				return
			default:
				name = u.Name
			}
		}
	}
	if name == "" {
		return
	}
	for _, list := range lists {
		for i := range list {
			setName(&list[i], name)
		}
	}
}

// setName sets the name of a user on a message without a name.
func setName(m *memory.Note, name string) {
	if u := memory.UtteranceOf(m); u.Role != memory.RoleUser || u.Name != "" {
		return
	}
	m.OwnAttributes()[memory.AttrName] = name
}

// sameTalk is how long after a message one may answer it: of 1,761 short answers to questions in the corpus 13 came later.
const sameTalk = time.Hour

// continues reports whether the exchange may answer the message before it: in the same session, and soon.
func (x *exchange) continues(recent []memory.Note) bool {
	if len(recent) == 0 || len(x.messages) == 0 {
		return true
	}
	last := &recent[len(recent)-1]
	return last.Attributes[memory.AttrSession] == x.session && x.messages[0].OccurredAt.Sub(last.OccurredAt) <= sameTalk
}

// recentMessages returns the messages before the exchange that are its background: the
// newest m of users and assistants, or those of the newest m exchanges. If facts are
// extracted from one side only, the messages of the other side follow.
func recentMessages(ctx context.Context, d memory.Desk, c *Config, x *exchange) ([]memory.Note, error) {
	if c.RecentMessages == 0 {
		return x.otherSide, nil
	}
	// Messages of other roles are skipped, so more are read than are shown.
	found, err := d.Recent(ctx, x.first, 4*c.RecentMessages+20)
	if err != nil {
		return nil, fmt.Errorf("read recent messages: %w", err)
	}
	found = slices.DeleteFunc(found, func(n memory.Note) bool {
		role := memory.UtteranceOf(&n).Role
		inOtherSession := c.Scope == scopeSession && n.Attributes[memory.AttrSession] != x.session
		return inOtherSession || role != memory.RoleUser && role != memory.RoleAssistant
	})
	from := max(0, len(found)-c.RecentMessages)
	if c.RecentUnit == unitPairs {
		from = len(found)
		for turns, turn := 0, any(nil); from > 0; from-- {
			if t := found[from-1].Attributes[memory.AttrTurn]; t != turn || t == nil {
				if turns++; turns > c.RecentMessages {
					break
				}
				turn = t
			}
		}
	}
	return append(found[from:], x.otherSide...), nil
}

// extractContext is the background that an extraction was shown.
type extractContext struct {
	summary string
	recent  []memory.Note
}

// newCandidates cleans the facts of an answer: one line each, without repeats, without
// facts that are not in the new messages or of which a secret was redacted, and at most the limit.
func newCandidates(c *Config, x *exchange, facts []string, shown extractContext, by *memory.Answer, drop *FactsDropped) []candidate {
	said := policy.NewEvidence(x.latest.Year(), x.said...)
	if len(x.allTerms.terms) < 2 && len(shown.recent) > 0 {
		// "Yes, I do." means what it answers.
		said = said.With(shown.recent[len(shown.recent)-1].Content)
	}
	summary := policy.NewEvidence(x.latest.Year(), shown.summary)
	x.gatherEvidence(shown)
	var out []candidate
	seen := map[string]bool{}
	for _, raw := range facts {
		fact := policy.CleanLine(raw, memory.MaxContentBytes/4)
		switch {
		case !strings.ContainsFunc(fact, unicode.IsLetter) || policy.IsEmptyAnswer(fact):
			drop.Malformed++
			continue
		case len([]rune(fact)) > c.FactChars:
			drop.TooLong++
			continue
		case memory.Redacted(fact):
			drop.Secrets++
			continue
		case seen[text.Fold(fact)]:
			drop.Repeats++
			continue
		}
		// A fact is not from the new messages if it shares no word with them, or fewer than
		// half of its words while the summary has all of them; or if it has names or numbers that nobody said.
		shared, all := said.Count(fact)
		known, old := summary.Count(fact)
		if !said.Shares(fact) || shared > 0 && 2*shared < all && known == old || !x.evidence.Supports(fact) {
			drop.NotSaid++
			continue
		}
		seen[text.Fold(fact)] = true
		if len(out) == c.MaxFacts {
			drop.OverLimit++
			continue
		}
		f := candidate{text: fact, note: x.newFact(c, fact, termsOf(fact), by.Analyst), answer: *by}
		addAnswered(&f.note, shown.recent)
		out = append(out, f)
	}
	return out
}

// newFact returns the note of a fact of the exchange. Its main source is the message with
// most of its words. Messages with words that this one lacks are sources too.
func (x *exchange) newFact(c *Config, content string, w textTerms, by memory.Analyst) memory.Note {
	best, most := 0, -1
	for i := range x.messages {
		if n := x.terms[i].countShared(w.terms); n > most {
			best, most = i, n
		}
	}
	m := &x.messages[best]
	n := memory.Note{
		Kind: memory.KindFact, Content: content, Context: memory.DefaultContext, Category: memory.DefaultCategory, Importance: memory.DefaultImportance,
		OccurredAt: m.OccurredAt, State: memory.StateEvolved, Analyst: by, Attributes: map[string]any{},
	}
	for name, v := range m.Attributes {
		if name != memory.AttrTurn && name != memory.AttrRecall && name != memory.AttrDigest {
			n.Attributes[name] = v
		}
	}
	if at, ok := memory.ExpiryOf(n.Attributes); ok {
		n.ExpireAt(at)
	}
	n.Key = factKey(c, &n)
	for i := range x.messages {
		lacking := false
		for t := range w.terms {
			lacking = lacking || x.terms[i].terms[t] && !x.terms[best].terms[t]
		}
		if i == best || lacking || most <= 0 {
			n.Provenance.Sources = append(n.Provenance.Sources, x.messages[i].ID)
		}
	}
	return n
}

// addAnswered adds the earlier message of which a quotation has what it answers to the sources of a fact.
func addAnswered(n *memory.Note, recent []memory.Note) {
	q, ok := quote.Parse(n.Content)
	before := lettersOf(q.Before)
	if !ok || before == "" {
		return
	}
	for i := range slices.Backward(recent) {
		if strings.Contains(lettersOf(recent[i].Content), before) {
			n.Provenance.Sources = memory.AppendNew(n.Provenance.Sources, recent[i].ID)
			return
		}
	}
}

// factKey returns the natural key of a fact: the hash of its text, as in Mem0. If sessions
// are kept apart, each of them may have a fact with the same text.
func factKey(c *Config, n *memory.Note) string {
	s := n.Content
	if session, ok := n.Attributes[memory.AttrSession]; ok && c.Scope == scopeSession {
		s = fmt.Sprint(session) + "\x00" + s
	}
	sum := md5.Sum([]byte(s)) //nolint:gosec // as above
	return "md5:" + hex.EncodeToString(sum[:])
}

// similarFilter returns the condition for memories that a fact of the exchange is compared
// with; nil: none.
func (x *exchange) similarFilter(c *Config) filter.Expr {
	if c.Scope != scopeSession {
		return nil
	}
	leaf := &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrSession}, Op: filter.Exists} // Want is false
	if session, ok := filter.Scalar(x.session); ok {
		leaf.Op, leaf.Values = filter.Eq, []filter.Value{session}
	}
	return leaf
}

// notAfter reports whether id a was created no later than id b.
func notAfter(a, b uuid.UUID) bool { return memory.CompareIDs(a, b) <= 0 }
