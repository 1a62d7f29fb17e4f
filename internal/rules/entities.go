package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// The bounds of graphs by rules.
const (
	maxRuleEntities  = 48 // per call
	maxRuleRelations = 64
	maxEntityRunes   = 60
)

// The types of entities that the rules distinguish.
const (
	typePerson       = "person"
	typePlace        = "place"
	typeOrganization = "organization"
	typeTime         = "time"
	typeThing        = "thing"
)

// findEntities returns the people, places and things in the facts: both ends of every relation
// that the rules read, and every other name with a capital.
func findEntities(in mem0.EntitiesInput) mem0.EntitiesFound {
	out := mem0.EntitiesFound{Entities: []mem0.Entity{}}
	texts := withoutExcerpts(in.Texts)
	people := peopleIn(texts)
	people[text.Fold(in.User)] = in.User != ""
	seen := map[string]bool{}
	add := func(e mem0.Entity) {
		key := entityKey(e.Entity)
		if key == "" || seen[key] || utf8.RuneCountInString(e.Entity) > maxEntityRunes || len(out.Entities) >= maxRuleEntities {
			return
		}
		seen[key] = true
		out.Entities = append(out.Entities, e)
	}
	for _, t := range texts {
		for _, s := range statements(t, in.User) {
			add(s.source)
			add(s.destination)
		}
		for _, e := range capitalizedEntities(t, people) {
			isPart := slices.ContainsFunc(out.Entities, func(o mem0.Entity) bool {
				return strings.Contains(" "+o.Entity+" ", " "+e.Entity+" ") && !people[text.Fold(e.Entity)]
			})
			if !isPart && canBeEnd(e.Entity) {
				add(e)
			}
		}
	}
	return out
}

// peopleIn returns the folded names that are the subject of a sentence with a verb.
func peopleIn(texts []string) map[string]bool {
	people := map[string]bool{}
	for _, t := range texts {
		for _, s := range text.Sentences(t) {
			s = leadingDate.ReplaceAllString(s, "")
			if m := plainName.FindStringSubmatch(s); len(m) > 1 && isSubjectName(m[1]) && verbAfter.MatchString(strings.TrimPrefix(s, m[1])) {
				people[text.Fold(m[1])] = true
			}
		}
	}
	return people
}

// entityKey returns the form in which names are compared.
func entityKey(name string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text.Fold(name), "_", " ")), " ")
}

// isSubjectName reports whether a capitalized word at the beginning of a sentence is a name, not
// another word.
func isSubjectName(name string) bool {
	first := strings.ToLower(strings.Fields(name)[0])
	if first == "the" || first == "i" || first == "we" {
		return true // the user, or a name that begins with an article
	}
	return !notNames[first] && !clauseOpeners[first] && !isAdverb(first) && !text.IsStopWord(first, text.English) && !text.IsTimeWord(first)
}

// capitalizedEntities returns the capitalized names in the sentences of t. A capitalized word at
// the beginning of a sentence counts only if it is a subject.
func capitalizedEntities(t string, people map[string]bool) []mem0.Entity {
	var out []mem0.Entity
	for _, s := range text.Sentences(strings.NewReplacer("’", "'").Replace(t)) {
		s = leadingDate.ReplaceAllString(s, "")
		if utf8.RuneCountInString(s) > maxFactRunes || isHan(s) {
			continue
		}
		for _, at := range capitalSpan.FindAllStringIndex(s, 24) {
			name := strings.TrimRight(strings.TrimSuffix(s[at[0]:at[1]], "'s"), ".'-&")
			first := strings.ToLower(strings.Fields(name + " x")[0])
			switch {
			case utf8.RuneCountInString(name) < 2, strings.HasPrefix(first, "i'"), strings.HasPrefix(name, "The user"), text.IsStopWord(name, text.English), text.IsTimeWord(first):
				continue
			case at[0] == 0 && !namesSomebody(s):
				continue
			case at[0] == 0 && (!verbAfter.MatchString(s[at[1]:]) || !isSubjectName(name)):
				continue
			}
			kind := typeThing
			switch {
			case people[text.Fold(name)]:
				kind = typePerson
			case organization.MatchString(name):
				kind = typeOrganization
			case beforePerson.MatchString(s[:at[0]]), personVerb.MatchString(s[at[1]:]):
				kind = typePerson
			case beforePlace.MatchString(s[:at[0]]):
				kind = typePlace
			}
			out = append(out, mem0.Entity{Entity: name, Type: kind})
		}
	}
	return out
}

var (
	capitalSpan  = regexp.MustCompile(`\p{Lu}[\p{L}\d'&.-]*(?: (?:of |the |de )?\p{Lu}[\p{L}\d'&.-]*){0,3}`)
	organization = regexp.MustCompile(`(?i)\b(?:inc|corp|ltd|llc|gmbh|university|college|school|institute|hospital|bank|company|club|museum|foundation|association|church|center|centre|studio|agency|team|band)\b\.?$`)
	beforePlace  = regexp.MustCompile(`(?i)\b(?:in|from|near|to|visited|around|across|through)\s+(?:the\s+)?$`)
	beforePerson = regexp.MustCompile(`(?i)(?:\b(?:with|met|named|called|and)|\b(?:` + kinWords + `)),?\s+$`)
	verbAfter    = regexp.MustCompile(`^(?:'s\b| \p{Ll}+(?:s|ed)\b| (?:went|got|had|took|made|saw|met|bought|found|is|was|has|will|can|would|said|told|came|never|just|also|and)\b)`)
	personVerb   = regexp.MustCompile(`^(?:'s)? (?:is|was|has|likes?|loves?|said|says|lives|moved|works|wants|told|went|enjoys|plans|prefers|got|had|and)\b`)
)
