package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/text"
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
	for _, t := range in.Texts {
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
		return entityKey(s.source.Entity) == "" || entityKey(s.destination.Entity) == "" || entityKey(s.source.Entity) == entityKey(s.destination.Entity)
	})
}

const kinWords = `sister|brother|mother|father|mom|mum|dad|wife|husband|son|daughter|friend|cousin|aunt|uncle|grandmother|grandfather|grandma|grandpa|niece|nephew|partner|girlfriend|boyfriend|boss|colleague|coworker|co-worker|neighbor|neighbour|roommate|teacher|mentor|coach|fiance|fiancé|fiancée|dog|cat|puppy|kitten|pet|bird|horse`

var (
	kinSubject = regexp.MustCompile(`^(The user|\p{Lu}[\p{L}-]*(?: \p{Lu}[\p{L}-]*)?)'s (?:[\p{Ll}-]+ ){0,2}?(` + kinWords + `)(?: is| named| called|,)?,? (\p{Lu}[\p{L}'-]*(?: \p{Lu}[\p{L}'-]*)?)\b`)
	kinPlain   = regexp.MustCompile(`^(The user|\p{Lu}[\p{L}-]*(?: \p{Lu}[\p{L}-]*)?)'s ((?:[\p{Ll}-]+ ){0,2}?(?:` + kinWords + `))\b`)
	kinWithin  = regexp.MustCompile(`\b(?:has|met|with|adopted|got|visited|called|saw) (?:a |an |their |her |his )?(?:[\p{Ll}-]+ )?(` + kinWords + `),? (?:named |called )?(\p{Lu}[\p{L}'-]*)`)
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
	{verbForm(`(?:lives?|living|lived|resides?|based|settled)(?: \w+)? in`), "lives_in", typePlace},
	{verbForm(`(?:moved|relocated|moving|relocating)(?: back| away| over)?(?: from [\p{L} ]+?)? (?:to|into)`), "lives_in", typePlace},
	{verbForm(`(?:from|comes? from|came from|grew up in)`), "is_from", typePlace},
	{verbForm(`born in`), "born_in", typePlace},
	{verbForm(`(?:works?|working|worked|employed) (?:at|for)`), "works_at", typeOrganization},
	{verbForm(`(?:works?|working|employed) as`), "works_as", typeThing},
	{verbForm(`(?:stud(?:y|ies|ied|ying)|graduated|graduate) (?:at|from)`), "studied_at", typeOrganization},
	{verbForm(`(?:stud(?:y|ies|ied|ying)|learning|learns?|learned)`), "studies", typeThing},
	{verbForm(`(?:went|travell?ed|flew|drove|been|gone|goes|going|heading|headed) (?:back )?to`), "went_to", typePlace},
	{verbForm(`(?:visited|visits|visiting|explored)`), "visited", typePlace},
	{verbForm(`(?:married|engaged) to`), "is_married_to", typePerson},
	{verbForm(`allergic to`), "is_allergic_to", typeThing},
	{verbForm(`(?:called|named|goes by)`), "is_named", typePerson},
	{verbForm(`(?:work(?:s|ed|ing)) on`), "works_on", typeThing},
	{verbForm(`(?:interested in|keen on)`), "is_interested_in", typeThing},
	{verbForm(`(?:took up|takes up)`), "took_up", typeThing},
	{verbForm(`(?:a (?:big |huge )?fan of|into|fond of|passionate about)`), "likes", typeThing},
	{verbForm(`(?:likes?|loves?|enjoys?|adores?|liked|loved|enjoyed)(?: to)?`), "likes", typeThing},
	{verbForm(`(?:hates?|dislikes?|detests?|hated)`), "dislikes", typeThing},
	{verbForm(`(?:prefers?|preferred)`), "prefers", typeThing},
	{verbForm(`(?:planning|plans|planned|intends|decided|hopes|hoping|wants|aims) to`), "plans", typeThing},
	{verbForm(`(?:planning|plans|planned|wants)`), "plans", typeThing},
	{verbForm(`(?:cancell?ed|called off)`), "cancelled", typeThing},
	{verbForm(`(?:plays?|playing|played)`), "plays", typeThing},
	{verbForm(`(?:speaks?)`), "speaks", typeThing},
	{verbForm(`(?:bought|purchased|got|received|won)`), "got", typeThing},
	{verbForm(`(?:adopted|owns?|has|have|keeps)`), "has", typeThing},
	{verbForm(`(?:met|knows|saw)`), "met", typePerson},
	{verbForm(`(?:joined|volunteers? (?:at|for|with)|volunteered (?:at|for|with)|volunteering (?:at|for|with))`), "joined", typeOrganization},
	{verbForm(`(?:attended|attends|attending|participated in|took part in|signed up for|went)`), "attended", "event"},
	{verbForm(`(?:started|began|opened|launched|runs|founded)`), "started", typeThing},
	{verbForm(`(?:made|painted|wrote|built|created|baked|cooked|finished|published)`), "made", typeThing},
	{verbForm(`(?:read|reads|reading|watched|watches|watching)`), "read_or_watched", typeThing},
	{verbForm(`(?:teaches|taught|teaching)`), "teaches", typeThing},
	{verbForm(`(?:is|was|became|becoming|are)`), "is", typeThing},
}

// dietTerms are objects of "is" that name a diet.
var dietTerms = wordSet("vegetarian vegan pescatarian")

var maritalTerms = wordSet("married divorced engaged single widowed separated")

// englishStatements reads one English sentence in the third person.
func englishStatements(s, user string) []statement {
	var out []statement
	s = withPronouns(leadingDate.ReplaceAllString(strings.NewReplacer("’", "'").Replace(strings.TrimSpace(s)), ""))
	subject, rest := "", ""
	person := func(name string) mem0.Entity { return mem0.Entity{Entity: userName(name, user), Type: typePerson} }
	if m := kinSubject.FindStringSubmatch(s); m != nil {
		kind := typePerson
		if animals[m[2]] {
			kind = "animal"
		}
		out = append(out, statement{mem0.Entity{Entity: m[3], Type: kind}, person(m[1]), "is_" + strings.ReplaceAll(m[2], "-", "_") + "_of"})
		subject, rest = m[3], s[len(m[0]):]
	} else if m := kinPlain.FindStringSubmatch(s); m != nil {
		subject, rest = userName(m[1], user)+"'s "+m[2], s[len(m[0]):]
		out = append(out, statement{mem0.Entity{Entity: subject, Type: typePerson}, person(m[1]), "is_" + strings.ReplaceAll(lastWord(m[2]), "-", "_") + "_of"})
	} else if m := plainName.FindStringSubmatch(s); len(m) > 1 && isSubjectName(m[1]) && m[1] != "The" {
		subject, rest = userName(m[1], user), s[len(m[1]):]
	}
	if subject == "" || !namesSomebody(s) {
		return out
	}
	source := mem0.Entity{Entity: subject, Type: typePerson}
	if m := kinWithin.FindStringSubmatch(rest); len(m) > 2 && !notNames[strings.ToLower(m[2])] {
		kind := typePerson
		if animals[m[1]] {
			kind = "animal"
		}
		return append(out, statement{mem0.Entity{Entity: m[2], Type: kind}, source, "is_" + strings.ReplaceAll(m[1], "-", "_") + "_of"})
	}
	if strings.HasPrefix(rest, "'s ") {
		return append(out, ownStatements(source, rest)...)
	}
	if s, ok := statementByRule(source, rest); ok {
		out = append(out, s)
	} else if s, ok := statementByVerb(source, rest); ok {
		out = append(out, s)
	}
	return out
}

// statementByRule reads the text behind a subject by the first rule that matches.
func statementByRule(source mem0.Entity, rest string) (statement, bool) {
	for _, r := range verbRules {
		m := r.form.FindStringSubmatchIndex(rest)
		if m == nil {
			continue
		}
		object := objectAt(rest, m[2], r.relation == "plans" || r.relation == "likes" || r.relation == "dislikes" || r.relation == "started")
		relation, kind := r.relation, r.kind
		switch {
		case object == "", relation == "plans" && !strings.Contains(object, " ") && startsWithVerb(rest[m[2]:]):
			continue
		case relation == "is" && dietTerms[lastWord(object)]:
			relation, object = "follows_diet", lastWord(object)
		case relation == "is" && maritalTerms[strings.ToLower(object)]:
			relation = "has_marital_status"
		case isDefinite(rest[m[2]:], object) && (relation == "likes" || relation == "has" || relation == "is" || relation == "read_or_watched" || relation == "works_on"):
			continue // which one is said elsewhere
		case relation == "is" && !leadingArticle.MatchString(rest[m[2]:]), relation == "has" && notPossession.MatchString(rest[m[2]:]):
			continue
		case relation == "lives_in" && !startsUpper(object) && (dwellings[lastWord(object)] || dwellings[firstWord(object)]):
			relation = "has_home" // a city and a flat do not exclude each other
		case (relation == "met" || relation == "lives_in" || relation == "is_named") && !startsUpper(object):
			continue
		}
		if kind == typePlace || kind == typeOrganization || kind == typePerson {
			if !startsUpper(object) {
				kind = typeThing
			}
		}
		if negationWords.MatchString(rest[:m[2]]) && relation != "cancelled" {
			relation = negatedRelation + relation
		}
		return statement{source, mem0.Entity{Entity: object, Type: kind}, relation}, true
	}
	return statement{}, false
}

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
	object := objectAt(rest, m[6], false)
	if !known || vagueVerbs[verb] || adverbs[verb] || object == "" || isDefinite(rest[m[6]:], object) {
		return statement{}, false
	}
	if m[4] >= 0 {
		verb += "_" + strings.TrimSpace(rest[m[4]:m[5]])
	}
	return statement{source, mem0.Entity{Entity: object, Type: typeThing}, verb}, true
}

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
		if object = objectAt(rest, at, strings.HasPrefix(what, "favorite_")); object == "" {
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
	if object == "" {
		return nil
	}
	return []statement{{source, mem0.Entity{Entity: object, Type: kind}, what}}
}

// leadingDate matches a date at the beginning of a sentence.
var leadingDate = regexp.MustCompile(`^(?:On|In) (?:the (?:week|weekend) of )?(?:\d{1,2} )?(?:(?:January|February|March|April|May|June|July|August|September|October|November|December) )?\d{4},? `)

var (
	leadingArticle = regexp.MustCompile(`^(?:an?|the) `)
	notPossession  = regexp.MustCompile(`(?i)^(?:been|still|got|to|had|always|never|also|just|[\p{L}]+ed|[\p{L}]+ing|made|done|come|gone|taken|started|no|a (?:lot|few|bit|ton|blast|hard|great|good)|so|some)\b`)
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
	switch words[0].Tag {
	case "NNS", "VBG", "RB", "VB", "VBP", "VBN", "MD", "UH":
		return len(words) > 1 && words[1].Tag == "POS"
	}
	return true
}

// objectAt returns what a verb is about: the noun phrase at a place of the text behind the subject,
// or, for a liking or a plan, the activity. It returns "" if there is none.
func objectAt(rest string, at int, action bool) string {
	words := grammar.English("X" + rest) // a subject, since the tagger expects one
	from := slices.IndexFunc(words, func(w grammar.Word) bool { return w.Start >= at+1 })
	if from < 0 {
		return ""
	}
	if first := strings.ToLower(words[from].Text); (dietTerms[first] || maritalTerms[first]) && (from+1 == len(words) || !strings.HasPrefix(words[from+1].Tag, "NN")) {
		return words[from].Text
	}
	if action {
		if object := actionPhrase(words[from:]); object != "" && (words[from].Tag == "VBG" || words[from].Tag == "VB" || words[from-1].Tag == "TO" || words[from].Tag == "TO") {
			return object
		}
	}
	phrase, n := nounPhrase(words[from:])
	if first := strings.ToLower(words[from].Text); first == "this" || first == "that" || first == "these" || first == "those" || words[from].Tag == "TO" {
		return "" // what it refers to is said elsewhere
	}
	if n == 0 || words[from].Tag == "VB" || from > 0 && words[from-1].Tag == "TO" && words[from].Tag[0] == 'V' {
		return ""
	}
	if from+n < len(words) {
		switch next := &words[from+n]; {
		case next.Tag == "RP", isDeterminer(next) && next.Tag != "PDT" && next.Text != "that" && next.Text != "really" && next.Text != "so" && next.Text != "very", next.Tag == "VB", action && next.Tag == "TO":
			return "" // "gave Ana a book", "wants the music to be heard"
		}
	}
	return strings.TrimSuffix(phrase, "'s")
}

var articles = wordSet("a an the their his her its my our some any this that really very so to")
