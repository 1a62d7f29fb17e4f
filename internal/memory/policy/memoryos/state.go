package memoryos

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// SessionState is what the attributes of a note of kind session say.
type SessionState struct {
	Theme       string `json:"theme"`       // its name
	Interaction int64  `json:"interaction"` // pages since the last analysis
	Fresh       int64  `json:"fresh"`       // pages that were not analyzed
	Pages       int64  `json:"pages"`       // all that it got
	Seen        int64  `json:"seen"`        // accesses at the last analysis; later ones are visits
	LastVisit   string `json:"last_visit"`  // RFC 3339: when it was opened or last got a page
	Pending     bool   `json:"pending"`     // a call failed: it has to be summed up again
	Due         bool   `json:"due"`         // it was hot and its analysis failed: it is analyzed even when it has cooled
}

// ReadSession returns the state of a session; an error says what is damaged.
func ReadSession(n *memory.Note) (SessionState, error) {
	s, err := sessionOfAttributes(n.Attributes)
	switch {
	case err != nil:
		return s, fmt.Errorf("its attributes cannot be read: %w", err)
	case n.Attributes["pages"] == nil:
		return s, fmt.Errorf("it has no attribute pages")
	case s.Interaction < 0 || s.Fresh < 0 || s.Pages < s.Fresh || s.Seen < 0:
		return s, fmt.Errorf("its counts are out of range")
	}
	return s, nil
}

// readSession is what a version of a session says. It is shared.
type readSession struct {
	state    SessionState
	damage   error
	keywords []string // folded, each once
	marks    uint64   // of the keywords: lists that share one share a mark
	visit    visit
	vector   memory.Measured
	last     uuid.UUID // of its sources
	torn     bool      // its summary is missing or stale
}

func newReadSession(n *memory.Note) *readSession {
	r := &readSession{keywords: foldAll(n.Keywords), vector: memory.Measure(n.Vector), last: lastOf(n.Provenance.Sources)}
	r.marks = marksOf(r.keywords)
	r.state, r.damage = ReadSession(n)
	r.visit, r.torn = readVisit(r.state.LastVisit), r.state.Pending || n.Provenance.Stale
	return r
}

// lastOf returns the last of some ids; uuid.Nil when there is none.
func lastOf(ids []uuid.UUID) uuid.UUID {
	if len(ids) == 0 {
		return uuid.Nil
	}
	return ids[len(ids)-1]
}

// entry is an entry of knowledge. It is shared.
type entry struct {
	*memory.Note

	of     string // OfUser, OfAssistant
	vector memory.Measured
	hash   uint64 // of its key
}

func newEntry(n *memory.Note) *entry {
	of, _ := n.Attributes[AttrOf].(string)
	return &entry{n, of, memory.Measure(n.Vector), hashOf(n.Key)}
}

// sessionOfAttributes reads the state that attributes writes, without a detour over JSON. What has another form is decoded as
// JSON.
func sessionOfAttributes(of map[string]any) (s SessionState, err error) {
	plain := true
	text := func(name string, into *string) {
		switch v := of[name].(type) {
		case nil:
		case string:
			*into = v
		default:
			plain = false
		}
	}
	number := func(name string, into *int64) {
		switch v := of[name].(type) {
		case nil:
		case int64:
			*into = v
		case float64:
			if *into = int64(v); float64(*into) != v {
				plain = false
			}
		default:
			plain = false
		}
	}
	is := func(name string, into *bool) {
		switch v := of[name].(type) {
		case nil:
		case bool:
			*into = v
		default:
			plain = false
		}
	}
	text("theme", &s.Theme)
	text("last_visit", &s.LastVisit)
	number("interaction", &s.Interaction)
	number("fresh", &s.Fresh)
	number("pages", &s.Pages)
	number("seen", &s.Seen)
	is("pending", &s.Pending)
	is("due", &s.Due)
	if plain {
		return s, nil
	}
	s = SessionState{}
	err = decodeAttributes(of, &s)
	return s, err
}

// Visits returns how often a session was read since its last analysis.
func (s *SessionState) Visits(u memory.Usage) int64 { return max(u.AccessCount-s.Seen, 0) }

// Visited returns the time of the last visit, RFC 3339: when it got a page or was read.
func (s *SessionState) Visited(u memory.Usage) string {
	was := readVisit(s.LastVisit)
	if is := was.orAccess(u.LastAccess); !is.at.Equal(was.at) {
		return formatVisit(is.at)
	}
	return s.LastVisit
}

// mayBeHot reports whether the heat of a session can reach the threshold, however recent its last visit is.
func (s *SessionState) mayBeHot(c *Config, u memory.Usage) bool {
	return c.Heat(s.Visits(u), s.Interaction, 1) >= c.HeatThreshold
}

// Heat returns the heat of a session now, and its recency.
func (s *SessionState) Heat(c *Config, u memory.Usage, now time.Time) (heat, recency float64) {
	recency = readVisit(s.LastVisit).orAccess(u.LastAccess).recency(now, c.Tau())
	return c.Heat(s.Visits(u), s.Interaction, recency), recency
}

// attributes returns the attributes of a session's note: those of the state, and others that it has.
func (s *SessionState) attributes(had map[string]any) map[string]any {
	out := maps.Clone(had)
	if out == nil {
		out = map[string]any{}
	}
	maps.Copy(out, map[string]any{
		"theme": s.Theme, "interaction": s.Interaction, "fresh": s.Fresh, "pages": s.Pages, "seen": s.Seen, "last_visit": s.LastVisit, "pending": s.Pending, "due": s.Due,
	})
	return out
}

// PageState is what the link from a session to the first message of a page says.
type PageState struct {
	Meta      string      `json:"meta"` // of the chain
	Analyzed  bool        `json:"analyzed"`
	Preloaded bool        `json:"preloaded"` // its messages say so in their attribute preloaded
	Chain     []uuid.UUID `json:"chain"`     // first messages of the pages before it in its chain, oldest first, at most maxChain
	Reason    string      `json:"reason"`
	Of        string      `json:"of,omitempty"` // set in the link to another message of the page: the first message
}

// maxPageKeywords is how many keywords a page has.
const maxPageKeywords = 5

// PageKeywords returns the keywords of a page. They are not stored: words of a message that is erased are then nowhere else.
func PageKeywords(messages []memory.Note) []string {
	var said strings.Builder
	for _, u := range callPage(messages).Messages {
		said.WriteString(u.Content + "\n")
	}
	return policy.CleanKeywords(text.Keyphrases(text.Shorten(said.String(), defaultMaterialChars), maxPageKeywords), maxPageKeywords, "")
}

// maxChain is how many pages before a new one get its chain's summary. Those further back keep the one that they have.
const maxChain = 20

// Page is a pair in the middle tier.
type Page struct {
	First    uuid.UUID // its first message
	Others   []uuid.UUID
	Session  uuid.UUID
	State    PageState
	promoted bool // its first message was deleted
}

// PagesOf returns the pages that the links from sessions lead to, oldest first, and what is damaged. A page whose first
// message was deleted begins with the next one.
func PagesOf(links []memory.Link) ([]Page, []Damaged) {
	out, loose, damaged := groupPages(links)
	out = append(out, promote(loose)...)
	slices.SortFunc(out, func(a, b Page) int { return memory.CompareIDs(a.First, b.First) })
	return out, damaged
}

// groupPages returns the pages whose links to their first messages are among links. loose are the links to other
// messages of other pages, by the first message that they name.
func groupPages(links []memory.Link) (out []Page, loose map[uuid.UUID][]*memory.Link, damaged []Damaged) {
	at := map[uuid.UUID]int{}
	loose = map[uuid.UUID][]*memory.Link{}
	for i := range links {
		l := &links[i]
		if l.Relation != RelPage {
			continue
		}
		state, of, err := readPage(l)
		switch {
		case err != nil:
			damaged = append(damaged, Damaged{l.Source, err.Error()})
		case of == l.Target:
			at[of] = len(out)
			out = append(out, Page{First: of, Session: l.Source, State: state})
		default:
			loose[of] = append(loose[of], l)
		}
	}
	for of, list := range loose {
		slices.SortFunc(list, func(a, b *memory.Link) int { return memory.CompareIDs(a.Target, b.Target) })
		i, ok := at[of]
		if !ok {
			continue
		}
		for _, l := range list {
			out[i].Others = append(out[i].Others, l.Target)
		}
		delete(loose, of)
	}
	return out, loose, damaged
}

// promote returns pages of messages whose first one is missing.
func promote(loose map[uuid.UUID][]*memory.Link) []Page {
	var out []Page
	for _, list := range loose {
		p := Page{First: list[0].Target, Session: list[0].Source, promoted: true}
		for _, l := range list[1:] {
			p.Others = append(p.Others, l.Target)
		}
		out = append(out, p)
	}
	return out
}

// readPage returns the state of a page, and its first message: the target of the link, or for a link to another
// message the one that it names. An error says what is damaged.
func readPage(l *memory.Link) (s PageState, of uuid.UUID, err error) {
	if err := decodeAttributes(l.Attributes, &s); err != nil {
		return PageState{}, uuid.Nil, fmt.Errorf("the attributes of its link to %s cannot be read: %w", l.Target, err)
	}
	if s.Of == "" {
		return s, l.Target, nil
	}
	if of, err = uuid.Parse(s.Of); err != nil {
		return PageState{}, uuid.Nil, fmt.Errorf("its link to %s names no page", l.Target)
	}
	return s, of, nil
}

func (s *PageState) attributes() map[string]any {
	chain := make([]any, len(s.Chain))
	for i, id := range s.Chain {
		chain[i] = id.String()
	}
	return map[string]any{
		"meta": s.Meta, "analyzed": s.Analyzed, "preloaded": s.Preloaded, "chain": chain, "reason": s.Reason,
	}
}

// ProfileState is what the attributes of the note of kind profile say.
type ProfileState struct {
	Dimensions []ProfileDimension `json:"dimensions"`
}

// ProfileDimension is a finding as the profile keeps it.
type ProfileDimension struct {
	Name     string   `json:"name"`
	Level    Level    `json:"level"`
	Evidence []string `json:"evidence"`
}

// ReadProfileNote returns the profile in its note.
func ReadProfileNote(n *memory.Note) (ProfileState, error) {
	var s ProfileState
	if err := decodeAttributes(n.Attributes, &s); err != nil {
		return s, fmt.Errorf("its attributes cannot be read: %w", err)
	}
	return s, nil
}

func decodeAttributes(attributes map[string]any, into any) error {
	raw, err := json.Marshal(attributes)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}
