package rules

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// statement is a relation that a fact states.
type statement struct {
	source, destination mem0.Entity
	relation            string
}

// findRelations returns what the facts state about the given entities.
func findRelations(in mem0.RelationsInput) mem0.RelationsFound {
	given := map[string]string{}
	for _, e := range in.Entities {
		given[entityKey(e.Entity)] = e.Entity
	}
	out := mem0.RelationsFound{Relations: []mem0.Triple{}}
	seen := map[mem0.Triple]bool{}
	for _, t := range withoutExcerpts(in.Texts) {
		for _, s := range statements(t, in.User) {
			source, sourceKnown := given[entityKey(s.source.Entity)]
			destination, destinationKnown := given[entityKey(s.destination.Entity)]
			triple := mem0.Triple{Source: source, Relation: s.relation, Destination: destination}
			if !sourceKnown || !destinationKnown || source == destination || seen[triple] || len(out.Relations) >= maxRuleRelations {
				continue
			}
			seen[triple] = true
			out.Relations = append(out.Relations, triple)
		}
	}
	return out
}

// statements reads the relations of a text. user is the name for "the user", "I" and "me"; if it
// is empty, the name is "user".
func statements(t, user string) []statement {
	var out []statement
	for _, s := range text.Sentences(t) {
		if utf8.RuneCountInString(s) > maxFactRunes {
			continue
		}
		if isHan(s) {
			out = append(out, hanStatements(s, user)...)
		} else {
			out = append(out, englishStatements(s, user)...)
		}
	}
	return slices.DeleteFunc(out, func(s statement) bool {
		return !canBeEnd(s.source.Entity) || !canBeEnd(s.destination.Entity) || entityKey(s.source.Entity) == entityKey(s.destination.Entity)
	})
}

// canBeEnd reports whether a phrase can be an end of an edge: a time, a number or a pronoun is none.
func canBeEnd(name string) bool {
	words := lowerWords(name)
	if isHan(name) {
		return isHanThing(name) || hanNameAt(name, "") == len(name)
	}
	return slices.ContainsFunc(words, func(w string) bool {
		return !text.IsTimeWord(w) && !text.IsTimeWord(strings.TrimSuffix(w, "s")) && !numberWords[w] && hasLetter(w) && !ordinal.MatchString(w) && (!text.IsStopWord(w, text.English) || startsUpper(name))
	})
}

// ordinal matches the day of a date.
var ordinal = regexp.MustCompile(`^\d+(?:st|nd|rd|th|am|pm)$`)

const kinWords = `sister|brother|mother|father|mom|mum|dad|wife|husband|son|daughter|friend|cousin|aunt|uncle|grandmother|grandfather|grandma|grandpa|niece|nephew|partner|girlfriend|boyfriend|boss|colleague|coworker|co-worker|neighbor|neighbour|roommate|teacher|mentor|coach|fiance|fiancé|fiancée|dog|cat|puppy|kitten|pet|bird|horse`

// companions are who belongs to somebody: relatives, people one deals with, and animals.
const companions = kinWords + `|grandson|granddaughter|grandchild|stepson|stepdaughter|stepfather|stepmother|twin|godson|goddaughter|godmother|godfather|mother-in-law|father-in-law|sister-in-law|brother-in-law|son-in-law|daughter-in-law|` +
	`apprentice|assistant|intern|tutor|student|pupil|classmate|teammate|flatmate|housemate|landlord|landlady|tenant|therapist|doctor|dentist|nurse|lawyer|manager|supervisor|client|ex-wife|ex-husband|` +
	`parrot|rabbit|hamster|tortoise|turtle|goat|pony|goldfish|canary|snake|ferret|guinea pig|donkey|sheep|cow|beagle|poodle|terrier|retriever|greyhound`

var (
	kinSubject = regexp.MustCompile(`^(The user|\p{Lu}[\p{L}-]*(?: \p{Lu}[\p{L}-]*)?)'s (?:[\p{Ll}-]+ ){0,2}?(` + companions + `)(?: is| named| called|,)?,? ((?:(?:Mr|Mrs|Ms|Dr|Prof)\. )?\p{Lu}[\p{L}'-]*(?: \p{Lu}[\p{L}'-]*)?)\b`)
	kinPlain   = regexp.MustCompile(`^(The user|\p{Lu}[\p{L}-]*(?: \p{Lu}[\p{L}-]*)?)'s ((?:[\p{Ll}-]+ ){0,2}?(?:` + companions + `))\b`)
	kinWithin  = regexp.MustCompile(`\b(?:has|met|with|adopted|got|visited|called|saw|and|from) (?:a |an |their |her |his )?(?:[\p{Ll}-]+ )?(` + companions + `),? (?:named |called )?((?:(?:Mr|Mrs|Ms|Dr|Prof)\. )?\p{Lu}[\p{L}'-]*)`)
	plainName  = regexp.MustCompile(`^(The user|I|We|\p{Lu}[\p{L}-]*(?:'\p{Lu}[\p{L}-]*)?(?: \p{Lu}[\p{L}-]*){0,2})(?:\s|'s)`)
)

// verbRule reads a relation from the words between subject and object.
type verbRule struct {
	form     *regexp.Regexp // matches the text behind the subject; the object is the last group
	relation string
	kind     string // of the object
}

const objectPhrase = `((?:(?:a|an|the|their|his|her|some|any|new|old|to|in) )?[\p{L}\d][\p{L}\d' &-]*)`

func verbForm(verbs string) *regexp.Regexp {
	return regexp.MustCompile(`^(?: (?:now|also|just|really|recently|still|currently|always|absolutely|never|has|have|had|is|was|does not|doesn't|did not|didn't|no longer|not))* (?:` + verbs + `) ` + objectPhrase)
}

var verbRules = []verbRule{
	{verbForm(`(?:gave up|given up|swore off|cut out|went off)`), "gave_up", typeThing},
	{verbForm(`(?:stopped|quit) (?:working|volunteering|teaching) (?:at|for|in)`), "quit", typeOrganization},
	{verbForm(`(?:quit|quits|resigned from|dropped out of|withdrew from|stepped down from|(?:got|was) (?:fired|let go) (?:from|by))`), "quit", typeOrganization},
	{verbForm(`(?:sold)`), "sold", typeThing},
	{verbForm(`(?:got rid of|gave away|traded in|threw away)`), "got_rid_of", typeThing},
	{verbForm(`(?:unsubscribed from)`), "cancelled", typeThing},
	{verbForm(`(?:lives?|living|lived|resides?|based|settled)(?: \w+)? in`), "lives_in", typePlace},
	{verbForm(`(?:moved|relocated)(?: back| away| over)?(?: from [\p{L} ]+?)? (?:to|into)`), "lives_in", typePlace},
	{verbForm(`(?:moving|relocating)(?: back| away| over)?(?: from [\p{L} ]+?)? (?:to|into)`), "moves_to", typePlace},
	{verbForm(`(?:from|comes? from|came from|grew up in)`), "is_from", typePlace},
	{verbForm(`born in`), "born_in", typePlace},
	{verbForm(`(?:works?|working|worked|employed) (?:at|for)`), "works_at", typeOrganization},
	{verbForm(`(?:works?|working|employed) as`), "works_as", typeThing},
	{verbForm(`(?:stud(?:y|ies|ied|ying)|graduated|graduate) (?:at|from)`), "studied_at", typeOrganization},
	{verbForm(`(?:stud(?:y|ies|ied|ying)|learning|learns?|learned)`), "studies", typeThing},
	{verbForm(`(?:went|travell?ed|flew|drove|been|gone|headed) (?:back )?to`), "went_to", typePlace},
	{verbForm(`(?:goes|going|heading|flying|travell?ing|flies|travels) (?:back )?to`), "goes_to", typePlace},
	{verbForm(`(?:visited|visits|visiting|explored)`), "visited", typePlace},
	{verbForm(`(?:married|got married) to`), "is_married_to", typePerson},
	{verbForm(`(?:got )?engaged to`), "is_engaged_to", typePerson},
	{verbForm(`allergic to`), "is_allergic_to", typeThing},
	{verbForm(`(?:called|named|goes by)`), "is_named", typePerson},
	{verbForm(`(?:work(?:s|ed|ing)) on`), "works_on", typeThing},
	{verbForm(`(?:interested in|keen on)`), "is_interested_in", typeThing},
	{verbForm(`(?:took up|takes up|taken up)`), "took_up", typeThing},
	{verbForm(`(?:a (?:big |huge )?fan of|into|fond of|passionate about)`), "likes", typeThing},
	{verbForm(`(?:likes?|loves?|enjoys?|adores?|liked|loved|enjoyed)(?: to)?`), "likes", typeThing},
	{verbForm(`(?:hates?|dislikes?|detests?|hated)`), "dislikes", typeThing},
	{verbForm(`(?:prefers?|preferred)`), "prefers", typeThing},
	{verbForm(`(?:planning|plans|planned|intends|decided|hopes|hoping|wants|aims) to`), "plans", typeThing},
	{verbForm(`(?:planning|plans|planned|wants)`), "plans", typeThing},
	{verbForm(`(?:cancell?ed|called off)`), "cancelled", typeThing},
	{verbForm(`(?:plays?|playing|played)`), "plays", typeThing},
	{verbForm(`(?:speaks?)`), "speaks", typeThing},
	{verbForm(`(?:bought|purchased|got|received)`), "got", typeThing},
	{verbForm(`won`), "won", typeThing},
	{verbForm(`(?:adopted|owns?|has|have|keeps)`), "has", typeThing},
	{verbForm(`(?:met|knows|saw)`), "met", typePerson},
	{verbForm(`(?:joined|volunteers? (?:at|for|with)|volunteered (?:at|for|with)|volunteering (?:at|for|with))`), "joined", typeOrganization},
	{verbForm(`(?:attended|attends|attending|participated in|took part in|signed up for|went)`), "attended", "event"},
	{verbForm(`(?:retired from|retires from)`), "retired_from", typeOrganization},
	{verbForm(`runs`), "runs", typeThing},
	{verbForm(`(?:started|began|opened|launched|founded)`), "started", typeThing},
	{verbForm(`(?:made|wrote|built|created|baked|cooked|published)`), "made", typeThing},
	{verbForm(`(?:finished|completed)`), "finished", typeThing},
	{verbForm(`(?:read|reads|reading|watched|watches|watching)`), "read_or_watched", typeThing},
	{verbForm(`(?:teaches|taught|teaching)`), "teaches", typeThing},
	{verbForm(`(?:is not|isn't|is no longer)`), "is", typeThing},
	{verbForm(`(?:is|was|became|becoming|are)`), "is", typeThing},
}

// dietTerms are objects of "is" that name a diet.
var dietTerms = wordSet("vegetarian vegan pescatarian")

var maritalTerms = wordSet("married divorced engaged single widowed separated")

// englishStatements reads one English sentence in the third person, clause by clause.
func englishStatements(s, user string) []statement {
	s = leadingDate.ReplaceAllString(strings.NewReplacer("’", "'").Replace(strings.TrimSpace(s)), "")
	if user != "" {
		if m := leadingPhrase.FindString(s); m != "" && strings.HasPrefix(s[len(m):], user+" ") {
			s = s[len(m):]
		}
	}
	var out []statement
	for _, c := range factClauses(s) {
		for _, found := range clauseStatements(withPronouns(c), user) {
			if !slices.Contains(out, found) {
				out = append(out, found)
			}
		}
	}
	return out
}

// leadingPhrase matches when or where something is, before the subject: "In August Ana is going to Rome".
var leadingPhrase = regexp.MustCompile(`^(?:In|On|At|During|Since|After|Before|Next|Last|This|Every) (?:[\p{Ll}\d]+ ){0,3}?(?:\p{L}+),? `)

// clauseStatements reads one clause.
func clauseStatements(s, user string) []statement {
	var out []statement
	subject, rest := "", ""
	person := func(name string) mem0.Entity { return mem0.Entity{Entity: userName(name, user), Type: typePerson} }
	if m := kinSubject.FindStringSubmatch(s); m != nil {
		kind := typePerson
		if animals[m[2]] {
			kind = "animal"
		}
		out = append(out, statement{mem0.Entity{Entity: m[3], Type: kind}, person(m[1]), companionOf(m[2])})
		subject, rest = m[3], s[len(m[0]):]
	} else if m := kinPlain.FindStringSubmatch(s); m != nil {
		subject, rest = userName(m[1], user)+"'s "+m[2], s[len(m[0]):]
		out = append(out, statement{mem0.Entity{Entity: subject, Type: typePerson}, person(m[1]), companionOf(lastWord(m[2]))})
	} else if m := plainName.FindStringSubmatch(s); len(m) > 1 && isSubjectName(m[1]) && m[1] != "The" {
		subject, rest = userName(m[1], user), s[len(m[1]):]
	}
	if subject == "" || subject != user && !namesSomebody(s) {
		return out
	}
	source := mem0.Entity{Entity: subject, Type: typePerson}
	within := ""
	for _, m := range kinWithin.FindAllStringSubmatchIndex(rest, 3) {
		kin, name := rest[m[2]:m[3]], rest[m[4]:m[5]]
		if notNames[strings.ToLower(name)] || text.IsTimeWord(name) {
			continue
		}
		kind := typePerson
		if animals[kin] {
			kind = "animal"
		}
		within = name
		out = append(out, statement{mem0.Entity{Entity: name, Type: kind}, source, companionOf(kin)})
	}
	if strings.HasPrefix(rest, "'s ") {
		return append(out, ownStatements(source, rest)...)
	}
	for _, p := range predicates(rest) {
		found := statementsByRule(source, p)
		if len(found) == 0 {
			if s, ok := statementByVerb(source, p); ok {
				found = append(found, s)
			}
		}
		for _, f := range found {
			if within == "" || !strings.Contains(f.destination.Entity, within) && !companionNoun.MatchString(f.destination.Entity) {
				out = append(out, f) // who it is has been said
			}
		}
	}
	return out
}

var companionNoun = regexp.MustCompile(`(?:^|[ -])(?:` + companions + `)$`)

// companionOf returns the name of the relation of a companion.
func companionOf(kin string) string {
	return "is_" + strings.NewReplacer("-", "_", " ", "_").Replace(kin) + "_of"
}

// predicates splits the text behind a subject where a further verb of it begins: " speaks Catalan and teaches
// chemistry" has two.
func predicates(rest string) []string {
	words := grammar.English("X" + rest)
	var out []string
	start := 0
	for i := 2; i+1 < len(words); i++ {
		if low := strings.ToLower(words[i].Text); low != "and" && low != "but" && low != "then" {
			continue
		}
		next := i + 1
		for next < len(words) && (words[next].Tag == "RB" || words[next].Text == "then") {
			next++
		}
		if next == len(words) || startsUpper(words[next].Text) || endsEnumeration(rest[start:words[i].Start-1]) || words[next].Tag != "VBZ" && words[next].Tag != "VBD" && !isRuleVerb(strings.ToLower(words[next].Text)) {
			continue
		}
		end := words[i].Start - 1
		if part := strings.TrimRight(rest[start:end], " ,"); part != "" {
			out = append(out, part)
		}
		start = words[i].End - 1
	}
	return append(out, rest[start:])
}

// endsEnumeration reports whether the text before an "and" is a plan with a list, whose last item comes: "wants to have more
// strength, less pain, ".
func endsEnumeration(before string) bool {
	return strings.Contains(before, " to ") && strings.Count(before, ",") > 1 && strings.HasSuffix(before, ", ")
}

// isRuleVerb reports whether a word is a verb that a rule reads, in a form that ends a subject.
func isRuleVerb(w string) bool {
	return isPastForm(w) || strings.HasSuffix(w, "s") && slices.ContainsFunc(verbRules, func(r verbRule) bool { return r.form.MatchString(" " + w + " x") })
}

// restOfList are the relations of which a list behind the verb gives several.
var restOfList = wordSet("likes dislikes has speaks plays studies teaches got won finished is_allergic_to visited went_to made gave_up sold got_rid_of prefers is_interested_in read_or_watched started took_up takes met")

// statementsByRule reads the text behind a subject by the first rule that matches.
func statementsByRule(source mem0.Entity, rest string) []statement {
	for _, r := range verbRules {
		m := r.form.FindStringSubmatchIndex(rest)
		if m == nil {
			continue
		}
		object, end := objectAt(rest, m[2], r.relation == "plans" || r.relation == "likes" || r.relation == "dislikes" || r.relation == "started" || r.relation == "gave_up")
		relation, kind := r.relation, r.kind
		switch {
		case object == "", emptyActions[object], relation == "has" && saysNothing(object):
			continue
		case relation == "plans" && !strings.Contains(object, " ") && startsWithVerb(rest[m[2]:]):
			continue
		case relation == "got" && maritalTerms[object]:
			relation = "has_marital_status"
		case relation == "got" && !strings.Contains(object, " ") && isPastForm(object):
			continue // "got promoted"
		case isOver.MatchString(rest[:m[2]]) && (relation == "works_at" || relation == "lives_in"):
			relation = map[string]string{"works_at": "worked_at", "lives_in": "lived_in"}[relation]
		case relation == "is" && dietTerms[lastWord(object)]:
			relation, object = "follows_diet", lastWord(object)
		case relation == "is" && maritalTerms[strings.ToLower(object)]:
			relation = "has_marital_status"
		case isDefinite(rest[m[2]:], object) && (relation == "likes" || relation == "has" || relation == "is" && !professions.MatchString(object) || relation == "read_or_watched" || relation == "works_on"):
			continue // which one is said elsewhere
		case relation == "is" && !leadingArticle.MatchString(rest[m[2]:]), relation == "has" && notPossession.MatchString(rest[m[2]:]):
			continue
		case (relation == "lives_in" || relation == "moves_to") && strings.ContainsFunc(object+rest[m[2]:min(m[2]+1, len(rest))], unicode.IsDigit):
			relation = "has_address"
		case relation == "lives_in" && !startsUpper(object) && (dwellings[lastWord(object)] || dwellings[firstWord(object)]):
			relation = "has_home" // a city and a flat do not exclude each other
		case (relation == "met" || relation == "lives_in" || relation == "is_named" || relation == "goes_to") && !startsUpper(object):
			continue
		}
		if kind == typePlace || kind == typeOrganization || kind == typePerson {
			if !startsUpper(object) {
				kind = typeThing
			}
		}
		if (negationWords.MatchString(rest[:m[2]]) || endsBehind.MatchString(rest)) && !saysEnd[relation] {
			relation = negatedRelation + relation
		}
		out := []statement{{source, mem0.Entity{Entity: object, Type: kind}, relation}}
		if restOfList[strings.TrimPrefix(relation, negatedRelation)] {
			for _, further := range listBehind(rest, end, leadingArticle.MatchString(rest[m[2]:])) {
				out = append(out, statement{source, mem0.Entity{Entity: further, Type: kind}, relation})
			}
		}
		if m := complementPlace.FindStringIndex(rest[end:]); m != nil && (relation == "works_as" || relation == "studies") {
			if place, _ := objectAt(rest, end+m[1], false); place != "" {
				at := map[string]string{"works_as": "works_at", "studies": "studied_at"}[relation]
				out = append(out, statement{source, mem0.Entity{Entity: place, Type: typeOrganization}, at})
			}
		}
		return out
	}
	return nil
}

// endsBehind matches an end that is said behind what ended.
var endsBehind = regexp.MustCompile(`^[^,;]* no longer[.!]?$`)

// isOver matches the past of a verb of a lasting state, which "has" makes one that lasts.
var isOver = regexp.MustCompile(`^(?: (?:also|just|really|recently|once|previously|formerly))* (?:worked|lived|resided) (?:\w+ )?(?:at|for|in) $`)

// saysEnd are the relations whose verb says that something ended.
var saysEnd = wordSet("cancelled gave_up quit sold got_rid_of retired_from")

// complementPlace matches where somebody works or studies, behind what they are or learn.
var complementPlace = regexp.MustCompile(`^ (?:at|for) `)

// professions matches nouns of what somebody is.
var professions = regexp.MustCompile(`(?:er|or|ist|ian|man|woman|ant|eer|ess|head|chair|president|chef|nurse|coach)$`)

// listBehind returns the further things of a list, whose first ends at a place of the text. What is behind a comma is
// of the list only if an "and" comes later, and no verb. articled says that the first has an article: in "a cold and
// stays at home" a verb follows.
func listBehind(rest string, end int, articled bool) []string {
	var out []string
	for {
		joint := listJoint.FindString(rest[end:])
		if joint == "" {
			return nil // an enumeration ends in "and"
		}
		next, to := objectAt(rest, end+len(joint), false)
		if next == "" || isRuleVerb(firstWord(next)) || articled && strings.HasPrefix(rest[end+len(joint):], next) && strings.HasSuffix(firstWord(next), "s") && !startsUpper(next) || clauseBehind.MatchString(rest[to:]) {
			return out
		}
		out, end = append(out, next), to
		if joint != ", " {
			return out
		}
	}
}

var (
	listJoint    = regexp.MustCompile(`^(?:,? (?:and|or|&) (?:also )?|, )`)
	clauseBehind = regexp.MustCompile(`^ (?:(?:still|also|just|never|always|now|\p{Ll}+ly) \p{Ll}|(?:is|was|are|were|has|have|had|will|would|can|could|does|did)\b)`)
)

// plainVerb matches any verb and the phrase behind it.
var plainVerb = regexp.MustCompile(`^ (?:(?:just|also|really|recently|finally|always|often|usually|even|once|has|have|is|was) )*(\p{Ll}{3,})( (?:to|in|at|on|for|with|about|from|into|as))? ` + objectPhrase)

// statementByVerb reads a relation for which there is no rule. The verb is the relation's name.
func statementByVerb(source mem0.Entity, rest string) (statement, bool) {
	m := plainVerb.FindStringSubmatchIndex(rest)
	if len(m) == 0 || negationWords.MatchString(rest[:m[3]]) {
		return statement{}, false
	}
	verb := rest[m[2]:m[3]]
	known := isPastForm(verb) || invariantVerbs[verb] && !isModal(verb) || baseVerbs[strings.TrimSuffix(verb, "s")] || strings.HasSuffix(verb, "s") && !strings.HasSuffix(verb, "ss")
	object, end := objectAt(rest, m[6], false)
	if strings.HasSuffix(verb, "ing") && !emptyActions[verb] && isDoing.MatchString(rest[:m[3]]) {
		known = true
	}
	if !known || vagueVerbs[verb] || adverbs[verb] || object == "" || isDefinite(rest[m[6]:], object) || clauseBehind.MatchString(rest[end:]) {
		return statement{}, false // "suspects the lock is broken" is not about the lock alone
	}
	if to := m[4] >= 0 && rest[m[4]:m[5]] == " to"; to && opensActivity[verb] && startsWithVerb(rest[m[6]:]) {
		return statement{}, false // "hoping to get"
	}
	if m[4] >= 0 && (rest[m[4]:m[5]] != " about" || !startsWithDigit(object)) {
		verb += "_" + strings.TrimSpace(rest[m[4]:m[5]])
	}
	if thing, last, ok := strings.Cut(object, " "); ok && strings.HasPrefix(rest[m[6]:], "their ") && strings.HasSuffix(last, "ing") {
		object = thing // "broke their wrist snowboarding"
	}
	if strings.HasSuffix(verb, "ing") {
		verb = "is_" + verb
	}
	return statement{source, mem0.Entity{Entity: object, Type: typeThing}, verb}, true
}

// opensActivity are verbs that "to" and another verb follow.
var opensActivity = wordSet("struggling struggles planning trying aiming wishing hoping hopes hoped learning learned learns promised promises agreed agrees refused refuses offered offers managed manages forgot forgets remembered remembers began begins continued continues started hesitates volunteered decided managed expects expected")

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// saysNothing reports whether no word of a phrase says which thing is meant: "different skills".
func saysNothing(phrase string) bool {
	return !slices.ContainsFunc(lowerWords(phrase), func(w string) bool {
		return !hollowNouns[w] && !vagueNouns[w] && !plainModifiers[w] && !praiseWords[w] && !weakAdjectives[w]
	})
}

// isDoing matches the auxiliary of what somebody is doing.
var isDoing = regexp.MustCompile(`\b(?:is|are|been) (?:(?:just|also|really|now|still|currently) )*\p{Ll}+$`)

// vagueVerbs do not say how a subject relates to an object.
var vagueVerbs = wordSet(`was has had does did gets got gonna needs need knows knew thinks thought feels felt seems seemed means meant makes made keeps kept
	lets let says said tells told used tried tries comes came been ought cannot gotta sees saw finds found wants excited interested thrilled
	gives gave helps helped reminds reminded allows allowed keeps brings brought shows showed put puts done been gone asked asks looks looked works took seen taken given shared shares`)

// dwellings are homes that are no places on a map.
var dwellings = wordSet("flat apartment house studio dorm cottage cabin condo farm village suburb loft bungalow trailer basement penthouse")

// ownedValues are nouns whose value a sentence gives: "Ana's job is nursing".
var ownedValues = wordSet("name job occupation birthday hometown address nickname hobby major nationality dream_job dream")

var (
	animals  = wordSet("dog cat puppy kitten pet bird horse")
	ownPlain = regexp.MustCompile(`^'s ((?:favou?rite )?[\p{Ll} ]{2,30}?) (?:is|are) ((?:[\p{L}\d][\p{L}\d'.@+-]*)(?: [\p{L}\d][\p{L}\d'.@+-]*){0,4})`)
)

// ownStatements reads a statement about something that belongs to somebody: "Ana's favorite color
// is red".
func ownStatements(source mem0.Entity, rest string) []statement {
	m := ownPlain.FindStringSubmatch(rest)
	if m == nil {
		return nil
	}
	what := strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(m[1], "favourite", "favorite")), " ", "_")
	object, kind := m[2], typeThing
	at := strings.Index(rest, m[2])
	switch what {
	case "name":
		if words := strings.Fields(m[2]); len(words) > 3 || !startsUpper(m[2]) {
			return nil
		}
	default:
		if object, _ = objectAt(rest, at, strings.HasPrefix(what, "favorite_")); object == "" {
			object, _, _ = strings.Cut(strings.TrimRight(m[2], ".,;!"), " ") // "red" is no noun
			if text.IsStopWord(object, text.English) {
				return nil
			}
		}
	}
	if name, ok := strings.CutPrefix(strings.Replace(m[2], "named ", "called ", 1), "called "); ok && startsUpper(name) {
		first, _, _ := strings.Cut(name, " ")
		return []statement{{source, mem0.Entity{Entity: strings.Trim(first, ".,"), Type: typeThing}, "has_" + strings.TrimPrefix(what, "has_")}}
	}
	if !strings.HasPrefix(what, "favorite_") && !ownedValues[what] {
		return nil // "Ana's hike is going well"
	}
	switch {
	case what == "name":
		what, kind = "is_named", typePerson
	case what == "job" || what == "occupation":
		what = "works_as"
	case !strings.HasPrefix(what, "favorite_"):
		what = "has_" + what
	}
	object = strings.TrimRight(object, ".")
	if object == "" {
		return nil
	}
	return []statement{{source, mem0.Entity{Entity: object, Type: kind}, what}}
}

// leadingDate matches a date at the beginning of a sentence.
var leadingDate = regexp.MustCompile(`^(?:On|In) (?:the (?:week|weekend) of )?(?:\d{1,2} )?(?:(?:January|February|March|April|May|June|July|August|September|October|November|December) )?\d{4},? `)

var (
	leadingArticle = regexp.MustCompile(`^(?:an?|the) `)
	notPossession  = regexp.MustCompile(`(?i)^(?:been|still|got|to|had|always|never|also|just|[\p{L}]+ed|[\p{L}]+ing|made|done|come|gone|taken|seen|eaten|written|given|known|grown|begun|chosen|driven|forgotten|heard|met|lost|won|found|left|started|no|a (?:lot|few|bit|ton|blast|hard|great|good)|so|some)\b`)
)

func startsUpper(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

// userName replaces a word for the user by the user's name, or by "user" if it is empty.
func userName(name, user string) string {
	switch strings.ToLower(name) {
	case "the user", "i", "we", "me":
		if user != "" {
			return user
		}
		return "user"
	}
	return name
}

func lastWord(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }

// isDefinite reports whether a phrase is "the" and one common noun, which only the sentences before
// could explain.
func isDefinite(phrase, object string) bool {
	if _, rest, ok := strings.Cut(phrase, object); ok && explains.MatchString(rest) {
		return false // "the lease for the studio"
	}
	return strings.HasPrefix(strings.ToLower(phrase), "the ") && !strings.Contains(object, " ") && !startsUpper(object)
}

// explains matches the words behind a noun that say which one it is.
var explains = regexp.MustCompile(`^ (?:for|of|in|at|from|with|on|by) (?:the |an? |my |their )?\p{L}`)

// startsWithVerb reports whether a phrase begins with a verb, as that of a plan does.
func startsWithVerb(s string) bool {
	words := grammar.English("to " + strings.TrimPrefix(s, "to "))
	return len(words) > 1 && words[1].Tag[0] == 'V'
}

// namesSomebody reports whether a sentence does not begin with an ordinary word, such as a plural
// or a gerund. "Conversations like this" has no person.
func namesSomebody(s string) bool {
	words := grammar.English(s)
	if len(words) == 0 {
		return false
	}
	first := strings.ToLower(words[0].Text)
	switch words[0].Tag {
	case "NNS":
		if !strings.HasSuffix(first, "s") && !irregularPlurals[first] {
			return true // the tagger takes "Ana" for a plural
		}
		return len(words) > 1 && words[1].Tag == "POS"
	case "VBG", "RB", "VB", "VBP", "VBN", "MD", "UH":
		return len(words) > 1 && words[1].Tag == "POS"
	}
	return true
}

var irregularPlurals = wordSet("people children men women feet teeth mice geese media data police staff folk")

// objectAt returns what a verb is about: the noun phrase at a place of the text behind the subject,
// or, for a liking or a plan, the activity, and where it ends. It returns "" if there is none.
func objectAt(rest string, at int, action bool) (object string, end int) {
	tagged := rest
	if before, ok := strings.CutSuffix(rest[:at], " to "); ok && !action {
		tagged = before + " of " + rest[at:] // behind "to" the tagger expects a verb
	}
	words := grammar.English("X" + tagged) // a subject, since the tagger expects one
	from := slices.IndexFunc(words, func(w grammar.Word) bool { return w.Start >= at+1 })
	if from < 0 {
		return "", 0
	}
	if first := strings.ToLower(words[from].Text); (dietTerms[first] || maritalTerms[first]) && (from+1 == len(words) || !strings.HasPrefix(words[from+1].Tag, "NN")) {
		return words[from].Text, words[from].End - 1
	}
	if action {
		if object := actionPhrase(words[from:]); object != "" && (words[from].Tag == "VBG" || words[from].Tag == "VB" || words[from-1].Tag == "TO" || words[from].Tag == "TO") {
			return object, words[from].Start - 1 + len(object)
		}
	}
	phrase, n := nounPhrase(words[from:])
	if first := strings.ToLower(words[from].Text); first == "this" || first == "that" || first == "these" || first == "those" || words[from].Tag == "TO" {
		return "", 0 // what it refers to is said elsewhere
	}
	if n == 0 || words[from].Tag == "VB" || from > 0 && words[from-1].Tag == "TO" && words[from].Tag[0] == 'V' {
		return "", 0
	}
	if from+n < len(words) {
		switch next := &words[from+n]; {
		case next.Text == "to" && startsUpper(phrase): // "is going to Rome to see the Pope"
		case next.Tag == "RP", isDeterminer(next) && next.Tag != "PDT" && next.Text != "that" && next.Text != "really" && next.Text != "so" && next.Text != "very", next.Tag == "VB", action && next.Tag == "TO":
			return "", 0 // "gave Ana a book", "wants the music to be heard"
		}
	}
	phrase = strings.TrimRight(strings.TrimSuffix(phrase, "'s"), " –—-")
	if count, named, ok := strings.Cut(phrase, " "); ok && numberWords[strings.ToLower(count)] && !startsUpper(count) {
		phrase = named // "three hens"
	}
	return phrase, words[from+n-1].End - 1
}

var articles = wordSet("a an the their his her its my our some any this that really very so to")
