package memoryos

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The bounds of a profile.
const (
	MaxProfileChars  = 2000 // of its text
	MaxEvidenceChars = 200  // of the evidence for a dimension
)

// Level is how strongly a dimension shows.
type Level string

// The levels, strongest first.
const (
	LevelHigh   Level = "High"
	LevelMedium Level = "Medium"
	LevelLow    Level = "Low"
)

// Dimension is a finding about a person.
type Dimension struct {
	Name     string `json:"name"` // of the catalog
	Level    Level  `json:"level"`
	Evidence string `json:"evidence"` // what the person said or did that shows it
}

// Profile is the answer of "profile", and what is known so far.
type Profile struct {
	Dimensions []Dimension `json:"dimensions"`
	Text       string      `json:"text"`
	// Ended are sentences of the old text and names of its dimensions that are no longer true. Only what an answer names here
	// leaves the profile.
	Ended []string `json:"ended,omitempty"`
}

// ProfileInput is the input of "profile".
type ProfileInput struct {
	Old    Profile
	Person string // name of the person; "": unknown
	Pages  []CallPage
}

// Profile returns the call that integrates what pages show of a person into the profile.
func (c *Calls) Profile(in ProfileInput) (memory.Call, error) {
	type material struct {
		Person string         `json:"person"`
		Chars  int            `json:"chars"`
		Old    Profile        `json:"old_profile"`
		Pages  []pageMaterial `json:"pages"`
	}
	old := in.Old
	old.Dimensions = slices.Concat([]Dimension{}, old.Dimensions)
	m := material{cmp.Or(in.Person, "User"), MaxProfileChars, old, c.pagesMaterial(in.Pages, false)}
	return c.build(CallProfile, m, len(m.Pages), in, lenientProfile, func(raw json.RawMessage) error { return checkProfile(raw, &in.Old) })
}

// minKeptShare is the share of the old text's length below which a new text cannot have kept what
// it said.
const minKeptShare = 1. / 3

// checkProfile refuses an answer that would destroy the old profile: an empty one, or a text that is
// much shorter.
func checkProfile(raw json.RawMessage, old *Profile) error {
	if err := policy.CheckTypes[Profile](raw); err != nil {
		return err
	}
	a, err := policy.DecodeAnswer[Profile](raw, CallProfile)
	switch {
	case err != nil:
		return err
	case policy.IsEmptyAnswer(a.Text) && len(a.Dimensions) == 0 && len(a.Ended) == 0:
		if policy.IsBlank(old.Text) && len(old.Dimensions) == 0 {
			return nil // the pages show nothing, and nothing was known
		}
		return errors.New("the profile is empty; it must keep what the old profile says")
	case len(a.Text) > 0 && float64(utf8.RuneCountInString(a.Text)) < minKeptShare*float64(utf8.RuneCountInString(withoutSentences(old.Text, a.Ended))):
		return errors.New("the text must keep what the old profile says")
	}
	return nil
}

// profileRead is what can be used of the answer of "profile".
type profileRead struct {
	Profile Profile  // the old findings, and the new ones in their place or beside them
	Ended   []string // sentences and dimensions of the old profile that are gone
	Changed bool
}

// readProfile reads the answer of "profile" and integrates it into the old profile. What the answer
// does not mention stays. Dimensions are in the order of the catalog.
func readProfile(raw json.RawMessage, old *Profile) (profileRead, error) {
	var out profileRead
	a, err := policy.DecodeAnswer[Profile](raw, CallProfile)
	if err != nil {
		return out, err
	}
	found := map[string]Dimension{}
	for _, d := range old.Dimensions {
		if ended := func(name string) bool { known, _ := DimensionName(name); return known == d.Name }; slices.ContainsFunc(a.Ended, ended) {
			out.Ended = append(out.Ended, d.Name)
			continue
		}
		found[d.Name] = d
	}
	for _, d := range a.Dimensions {
		name, known := DimensionName(d.Name)
		level, leveled := readLevel(string(d.Level))
		evidence := policy.CleanLine(d.Evidence, MaxEvidenceChars)
		if known && leveled && !policy.IsEmptyAnswer(evidence) {
			found[name] = Dimension{name, level, evidence}
		}
	}
	out.Profile.Dimensions = []Dimension{}
	for _, e := range Catalog() {
		if d, ok := found[e.Name]; ok {
			out.Profile.Dimensions = append(out.Profile.Dimensions, d)
		}
	}
	out.Profile.Text = withoutSentences(old.Text, a.Ended)
	for _, s := range text.Sentences(old.Text) {
		if !strings.Contains(out.Profile.Text, s) {
			out.Ended = append(out.Ended, s)
		}
	}
	if written := policy.CleanLine(a.Text, MaxProfileChars); !policy.IsEmptyAnswer(written) {
		out.Profile.Text = withoutSentences(written, a.Ended)
	}
	out.Changed = out.Profile.Text != old.Text || !slices.Equal(out.Profile.Dimensions, old.Dimensions)
	return out, nil
}

// withoutSentences returns a text without the sentences that are in a list.
func withoutSentences(s string, list []string) string {
	all := text.Sentences(s)
	kept := slices.DeleteFunc(slices.Clone(all), func(sentence string) bool {
		return slices.ContainsFunc(list, func(named string) bool { return text.Normalize(named) == text.Normalize(sentence) })
	})
	if len(kept) == len(all) {
		return s
	}
	return strings.Join(kept, " ")
}

func readLevel(s string) (Level, bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "high", "strong", "高":
		return LevelHigh, true
	case "medium", "moderate", "mid", "中", "中等":
		return LevelMedium, true
	case "low", "weak", "低":
		return LevelLow, true
	}
	return "", false
}

// KnowledgeInput is the input of "knowledge".
type KnowledgeInput struct {
	Person string // name of the person; "": unknown
	Pages  []CallPage
}

// The bounds of knowledge.
const (
	MaxKnowledge      = 20  // entries of each list
	MaxKnowledgeChars = 400 // of one entry
)

// Knowledge is the answer of "knowledge": what is to be remembered about the person, and what the
// assistant did or recommended.
type Knowledge struct {
	User      []string `json:"user"`
	Assistant []string `json:"assistant"`
}

// Knowledge returns the call that takes knowledge from pages.
func (c *Calls) Knowledge(in KnowledgeInput) (memory.Call, error) {
	type material struct {
		Person string         `json:"person"`
		Max    int            `json:"max"`
		Pages  []pageMaterial `json:"pages"`
	}
	m := material{cmp.Or(in.Person, "User"), MaxKnowledge, c.pagesMaterial(in.Pages, false)}
	return c.build(CallKnowledge, m, len(m.Pages), in, lenientKnowledge, policy.CheckTypes[Knowledge])
}

// readKnowledge reads the answer of "knowledge". Entries that mean "none", texts of errors, repeats and what is more
// than MaxKnowledge are left out; dropped counts them.
func readKnowledge(raw json.RawMessage) (read Knowledge, dropped int, err error) {
	a, err := policy.DecodeAnswer[Knowledge](raw, CallKnowledge)
	if err != nil {
		return Knowledge{}, 0, err
	}
	read = Knowledge{User: cleanKnowledge(a.User), Assistant: cleanKnowledge(a.Assistant)}
	return read, len(a.User) + len(a.Assistant) - len(read.User) - len(read.Assistant), nil
}

func cleanKnowledge(list []string) []string {
	out := []string{}
	for _, s := range list {
		s = policy.CleanLine(strings.TrimLeft(strings.TrimSpace(s), "-*• "), MaxKnowledgeChars)
		same := func(other string) bool { return strings.EqualFold(s, other) }
		if !policy.IsEmptyAnswer(s) && !policy.IsErrorText(s) && len(out) < MaxKnowledge && !slices.ContainsFunc(out, same) {
			out = append(out, s)
		}
	}
	return out
}

// lenientProfile also accepts dimensions as an object by name, and other names of the fields.
func lenientProfile(said string) json.RawMessage {
	object, ok := findObject(said)
	if !ok {
		return nil
	}
	answer := Profile{Dimensions: []Dimension{}, Text: policy.StringField(object, "text", "profile", "summary", "description")}
	answer.Ended = entries(policy.FirstValue(object, "ended", "removed", "no_longer_true"))
	switch list := policy.FirstValue(object, "dimensions", "traits", "findings").(type) {
	case []any:
		for _, x := range list[:min(len(list), policy.MaxEntries)] {
			d, _ := x.(map[string]any)
			answer.Dimensions = append(answer.Dimensions, dimensionFrom(policy.StringField(d, "name", "dimension", "trait"), x))
		}
	case map[string]any:
		for _, e := range Catalog() { // in a fixed order
			for name, x := range list {
				if known, _ := DimensionName(name); known == e.Name {
					answer.Dimensions = append(answer.Dimensions, dimensionFrom(e.Name, x))
				}
			}
		}
	case nil:
		if answer.Text == "" {
			return nil
		}
	default:
		return nil
	}
	return policy.EncodeLenient(answer, true)
}

func dimensionFrom(name string, v any) Dimension {
	d := Dimension{Name: name}
	switch v := v.(type) {
	case map[string]any:
		d.Level = Level(policy.StringField(v, "level", "degree", "value", "strength"))
		d.Evidence = policy.StringField(v, "evidence", "reason", "quote", "because")
	case string: // "High (says that she plans everything)"
		level, evidence, _ := strings.Cut(v, "(")
		d.Level, d.Evidence = Level(level), strings.TrimRight(evidence, ") ")
	}
	level, ok := readLevel(string(d.Level))
	if !ok { // readProfile drops it
		level, d.Evidence = LevelLow, ""
	}
	d.Level = level
	return d
}

// lenientKnowledge also accepts other names of the fields, and lists as lines of one text.
func lenientKnowledge(said string) json.RawMessage {
	answer := Knowledge{User: []string{}, Assistant: []string{}}
	if policy.IsEmptyAnswer(said) {
		return policy.EncodeLenient(answer, true)
	}
	object, ok := findObject(said)
	if !ok {
		return nil
	}
	user := policy.FirstValue(object, "user", "private", "user_knowledge", "user_private_data", "user_private_knowledge", "user_facts")
	assistant := policy.FirstValue(object, "assistant", "assistant_knowledge", "agent", "assistant_facts")
	if user == nil && assistant == nil && len(object) > 0 {
		return nil
	}
	answer.User, answer.Assistant = entries(user), entries(assistant)
	return policy.EncodeLenient(answer, true)
}

// entries returns the texts in a JSON value: a list of texts or objects, or the lines of one text.
func entries(v any) []string {
	out := []string{}
	switch v := v.(type) {
	case string:
		for line := range strings.Lines(v) {
			out = append(out, strings.TrimSpace(line))
		}
	case []any:
		for _, x := range v[:min(len(v), policy.MaxEntries)] {
			switch x := x.(type) {
			case string:
				out = append(out, x)
			case map[string]any:
				out = append(out, policy.StringField(x, "text", "fact", "knowledge", "content", "description"))
			}
		}
	}
	return out
}
