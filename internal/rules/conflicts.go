package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// singleValuedRelations are the relations that have one value at a time.
var singleValuedRelations = wordSet("lives_in works_at works_as is_named name age follows_diet has_marital_status is_married_to has_birthday born_in has_address is_in")

// oppositeRelations lists the relations that each relation contradicts.
var oppositeRelations = map[string][]string{
	"no_longer": nil, "likes": {"dislikes"}, "dislikes": {"likes"}, "plans": {"cancelled"}, "cancelled": {"plans", "wants", "going_to", "has", "got", "signed_up_for", "joined"},
	"is_single":      {"is_married_to"},
	"sold":           {"has", "got", "owns"},
	"got_rid_of":     {"has", "got", "owns"},
	"gave_away":      {"has", "got", "owns"},
	"threw_away":     {"has", "got", "owns"},
	"quit":           {"works_at", "works_in", "joined", "studied_at", "signed_up_for", "attended"},
	"retired_from":   {"works_at", "works_in", "works_for"},
	"gave_up":        {"likes", "drinks", "eats", "smokes", "plays", "takes", "studies", "practises", "plans"},
	"separated_from": {"is_married_to", "is_engaged_to", "dates", "lives_with"},
}

// negatedRelation is the prefix of a relation that does not hold, or no longer holds.
const negatedRelation = "not_"

// maxConflictFacts is the number of facts by which edges are ended.
const maxConflictFacts = 24

// findConflicts returns the relations that are no longer true: another value of a single-valued
// relation, the opposite of a new one, or what a fact ends by the rules of decide. A relation that can have many values never conflicts
// with another value.
func findConflicts(in mem0.ConflictsInput) mem0.ConflictsFound {
	out := mem0.ConflictsFound{Invalidate: []mem0.Triple{}}
	ends := endedBy(in)
	for i, old := range in.Existing {
		o, invalid := tripleKey(old), ends[i]
		for _, fresh := range in.New {
			f := tripleKey(fresh)
			if f.Source != o.Source || f == o {
				continue
			}
			same := f.Destination == o.Destination
			switch {
			case !same && f.Relation == o.Relation && singleValued(f.Relation) && !isBeside(f.Relation, &in):
				invalid = true
			case same && (f.Relation == negatedRelation+o.Relation || o.Relation == negatedRelation+f.Relation || slices.Contains(oppositeRelations[f.Relation], o.Relation)):
				invalid = true
			}
		}
		if invalid {
			out.Invalidate = append(out.Invalidate, old)
		}
	}
	return out
}

// besideOther matches a job that somebody has beside another one.
var besideOther = regexp.MustCompile(`(?i)\b(?:also|too|as well|part[- ]time|on (?:the )?weekends?|on (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|in the evenings?|side|second job|besides?|volunteers?|freelances?)\b|兼职|也在|业余|周末|副业|同时`)

// isBeside reports whether a new value of a relation does not replace the old one: somebody may have two jobs.
func isBeside(relation string, in *mem0.ConflictsInput) bool {
	return (relation == "works_at" || relation == "works_as") && slices.ContainsFunc(in.Texts, besideOther.MatchString)
}

// endedBy reports of each existing edge whether a fact ends it, as it would end a memory that says what the edge says.
func endedBy(in mem0.ConflictsInput) []bool {
	ends := make([]bool, len(in.Existing))
	said := make([]parsedMemory, len(in.Existing))
	for i, e := range in.Existing {
		for _, s := range edgeSentences(e) {
			if f := parseFact(s); f.subject != "" {
				said[i].clauses = append(said[i].clauses, f)
			}
		}
	}
	for _, t := range in.Texts[:min(len(in.Texts), maxConflictFacts)] {
		if utf8.RuneCountInString(t) > maxCompared {
			continue
		}
		for _, c := range factClauses(t) {
			fact := parseFact(c)
			if fact.subject == "the user" {
				fact.subject = "user"
			}
			if endsSeveral(&fact, said) {
				continue
			}
			for i := range said {
				ends[i] = ends[i] || slices.ContainsFunc(said[i].clauses, func(old factFrame) bool {
					op, _ := compareFacts(fact, old)
					return op == mem0.OpDelete
				})
			}
		}
	}
	return ends
}

// hanSaid are Chinese sentences for relations, with a mark for the object.
var hanSaid = map[string][]string{
	"lives_in": {"住在%"}, "works_at": {"在%工作"}, "works_in": {"在%工作"}, "works_as": {"当%"}, "studied_at": {"在%上学"}, "studies_in": {"在%上学"}, "has": {"有%"}, "got": {"买了%"},
	"likes": {"喜欢%"}, "drinks": {"每天喝%"}, "eats": {"每天吃%"}, "plays": {"经常打%", "经常弹%"}, "practises": {"每天练%"}, "studies": {"在学%"}, "signed_up_for": {"报了%"}, "joined": {"参加了%"},
	"runs": {"开着%"}, "takes": {"每天吃%"}, "plans": {"打算%"}, "is_allergic_to": {"对%过敏"}, "is_married_to": {"和%结婚了"}, "dates": {"和%恋爱"}, "is": {"是%"},
}

// englishSaid are English sentences for relations whose name is no verb phrase.
var englishSaid = map[string][]string{
	"follows_diet": {" is %"}, "has_marital_status": {" is %"}, "works_as": {" works as a %"}, "has": {" has a %"}, "got": {" has a %"}, "owns": {" owns a %"}, "is": {" is a %"},
	"plans": {" plans to %", " plans %"}, "has_address": {" lives at %"}, "joined": {" is a member of %", " joined %"}, "is_from": nil, "born_in": nil, "is_named": nil,
}

// edgeSentences returns what an edge says, as facts say it; nil for a relation that no fact ends.
func edgeSentences(e mem0.Triple) []string {
	relation := strings.ReplaceAll(entityKey(e.Relation), " ", "_")
	if strings.HasPrefix(relation, negatedRelation) || strings.HasPrefix(relation, "is_") && strings.HasSuffix(relation, "_of") || saysEnd[relation] {
		return nil
	}
	forms, end := hanSaid[relation], "。"
	if !isHan(e.Source + e.Destination) {
		var known bool
		if forms, known = englishSaid[relation]; !known {
			forms = []string{" " + strings.ReplaceAll(relation, "_", " ") + " %"}
		}
		if what, ok := strings.CutPrefix(relation, "favorite_"); ok {
			forms = []string{"'s favorite " + strings.ReplaceAll(what, "_", " ") + " is %"}
		}
		end = "."
	}
	out := make([]string, len(forms))
	for i, f := range forms {
		out[i] = e.Source + strings.Replace(f, "%", e.Destination, 1) + end
	}
	return out
}

func singleValued(relation string) bool {
	return singleValuedRelations[relation] || strings.HasPrefix(relation, "favorite_")
}

// tripleKey returns a triple in the form in which triples are compared.
func tripleKey(t mem0.Triple) mem0.Triple {
	return mem0.Triple{Source: entityKey(t.Source), Relation: strings.ReplaceAll(entityKey(t.Relation), " ", "_"), Destination: entityKey(t.Destination)}
}
