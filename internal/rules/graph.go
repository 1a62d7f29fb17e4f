package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"

	"github.com/slipboxhq/slipbox/internal/text"
)

// The bounds of graphs by rules.
const (
	maxRuleEntities  = 48 // of one call
	maxRuleRelations = 64
	maxEntityRunes   = 60
)

// The types of entities that rules tell apart.
const (
	typePerson       = "person"
	typePlace        = "place"
	typeOrganization = "organization"
	typeTime         = "time"
	typeThing        = "thing"
)

// statement is a relation that a fact states.
type statement struct {
	source, destination mem0.Entity
	relation            string
}

// entities names the people, places and things that facts speak of: both ends
// of every relation that rules read, and whatever else has a capital.
func entities(in mem0.EntitiesInput) mem0.EntitiesFound {
	out := mem0.EntitiesFound{Entities: []mem0.Entity{}}
	people := peopleIn(in.Texts)
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
	for _, t := range in.Texts {
		for _, s := range statements(t, in.User) {
			add(s.source)
			add(s.destination)
		}
		for _, e := range named(t, people) {
			add(e)
		}
	}
	return out
}

// peopleIn gives the folded names that facts begin with and that do something.
func peopleIn(texts []string) map[string]bool {
	people := map[string]bool{}
	for _, t := range texts {
		for _, s := range text.Sentences(t) {
			s = leadingDate.ReplaceAllString(s, "")
			if m := plainName.FindStringSubmatch(s); len(m) > 1 && isSubject(m[1]) && verbBehind.MatchString(strings.TrimPrefix(s, m[1])) {
				people[text.Fold(m[1])] = true
			}
		}
	}
	return people
}

// relations states what the facts say of the entities.
func relationsAmong(in mem0.RelationsInput) mem0.RelationsFound {
	shown := map[string]string{}
	for _, e := range in.Entities {
		shown[entityKey(e.Entity)] = e.Entity
	}
	out := mem0.RelationsFound{Relations: []mem0.Triple{}}
	seen := map[mem0.Triple]bool{}
	for _, t := range in.Texts {
		for _, s := range statements(t, in.User) {
			source, ok := shown[entityKey(s.source.Entity)]
			destination, also := shown[entityKey(s.destination.Entity)]
			triple := mem0.Triple{Source: source, Relation: s.relation, Destination: destination}
			if !ok || !also || source == destination || seen[triple] || len(out.Relations) >= maxRuleRelations {
				continue
			}
			seen[triple] = true
			out.Relations = append(out.Relations, triple)
		}
	}
	return out
}

// entityKey is the form in which names are compared.
func entityKey(name string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text.Fold(name), "_", " ")), " ")
}

// oneAtATime are the relations that have one value at a time.
var oneAtATime = wordSet("lives_in works_at works_as is_named name age follows_diet has_marital_status is_married_to has_birthday born_in")

// opposites are relations that say the contrary of one another.
var opposites = map[string][]string{
	"no_longer": nil, "likes": {"dislikes"}, "dislikes": {"likes"}, "plans": {"cancelled"}, "cancelled": {"plans", "wants", "going_to"},
	"is_single": {"is_married_to"},
}

// negatedRelation begins the relation of what is not, or is no longer.
const negatedRelation = "not_"

// conflicts gives what is no longer true: another value of a relation that has
// one at a time, or the contrary of what is said now. A relation that can hold
// many values never conflicts.
func conflicts(in mem0.ConflictsInput) mem0.ConflictsFound {
	out := mem0.ConflictsFound{Invalidate: []mem0.Triple{}}
	for _, old := range in.Existing {
		o, invalid := keyed(old), false
		for _, fresh := range in.New {
			f := keyed(fresh)
			if f.Source != o.Source || f == o {
				continue
			}
			same := f.Destination == o.Destination
			switch {
			case !same && f.Relation == o.Relation && singleValued(f.Relation):
				invalid = true
			case same && (f.Relation == negatedRelation+o.Relation || o.Relation == negatedRelation+f.Relation || slices.Contains(opposites[f.Relation], o.Relation)):
				invalid = true
			}
		}
		if invalid {
			out.Invalidate = append(out.Invalidate, old)
		}
	}
	return out
}

func singleValued(relation string) bool {
	return oneAtATime[relation] || strings.HasPrefix(relation, "favorite_")
}

func keyed(t mem0.Triple) mem0.Triple {
	return mem0.Triple{Source: entityKey(t.Source), Relation: strings.ReplaceAll(entityKey(t.Relation), " ", "_"), Destination: entityKey(t.Destination)}
}

// statements reads the relations of a text. user is what "the user", "I" and
// "me" stand for; "" leaves them.
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

// verbRule reads a relation from what stands between subject and object.
type verbRule struct {
	form     *regexp.Regexp // of what follows the subject, object last
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
	{verbForm(`(?:works?|working|worked|employed) (?:at|for|with)`), "works_at", typeOrganization},
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
	{verbForm(`(?:took up|took|takes up)`), "took", typeThing},
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

// dietTerms are objects of "is" that say how one eats.
var dietTerms = wordSet("vegetarian vegan pescatarian")

var maritalTerms = wordSet("married divorced engaged single widowed separated")

// objectEnds are words at which an object is over.
var objectEnds = wordSet(`and but or because since when while that which who where so as with for in on at from to by about of after before
	during if then than between until through is are was were has have had it he she they this there every not`)

// englishStatements reads one English sentence in the third person.
func englishStatements(s, user string) []statement {
	var out []statement
	s = leadingDate.ReplaceAllString(strings.NewReplacer("’", "'").Replace(strings.TrimSpace(s)), "")
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
	} else if m := plainName.FindStringSubmatch(s); len(m) > 1 && isSubject(m[1]) {
		subject, rest = userName(m[1], user), s[len(m[1]):]
	}
	if subject == "" {
		return out
	}
	source := mem0.Entity{Entity: subject, Type: typePerson}
	if m := kinWithin.FindStringSubmatch(rest); len(m) > 2 && !notNames[strings.ToLower(m[2])] {
		kind := typePerson
		if animals[m[1]] {
			kind = "animal"
		}
		out = append(out, statement{mem0.Entity{Entity: m[2], Type: kind}, source, "is_" + strings.ReplaceAll(m[1], "-", "_") + "_of"})
	}
	if strings.HasPrefix(rest, "'s ") {
		return append(out, ownStatements(source, rest)...)
	}
	if s, ok := ruled(source, rest); ok {
		out = append(out, s)
	} else if s, ok := plainStatement(source, rest); ok {
		out = append(out, s)
	}
	return out
}

// ruled reads what follows a subject by the first rule that fits.
func ruled(source mem0.Entity, rest string) (statement, bool) {
	for _, r := range verbRules {
		m := r.form.FindStringSubmatchIndex(rest)
		if m == nil {
			continue
		}
		object := cutObject(rest[m[2]:], r.relation == "plans" || r.relation == "likes")
		if object == "" || substance(lowerWords(object)) == 0 && !dietTerms[lastWord(object)] {
			continue
		}
		relation, kind := r.relation, r.kind
		switch {
		case relation == "is" && dietTerms[lastWord(object)]:
			relation, object = "follows_diet", lastWord(object)
		case relation == "is" && maritalTerms[strings.ToLower(object)]:
			relation = "has_marital_status"
		case relation == "is" && !aKind.MatchString(rest[m[2]:]), relation == "has" && notHad.MatchString(rest[m[2]:]):
			continue
		case relation == "met" && !startsUpper(object):
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

// plainVerb is any verb and the phrase behind it.
var plainVerb = regexp.MustCompile(`^ (?:(?:just|also|really|recently|finally|always|often|usually|even|once|has|have|is|was) )*(\p{Ll}{3,})( (?:to|in|at|on|for|with|about|from|into|as))? ` + objectPhrase)

// plainStatement reads a relation that no rule knows: the verb names it.
func plainStatement(source mem0.Entity, rest string) (statement, bool) {
	m := plainVerb.FindStringSubmatchIndex(rest)
	if len(m) == 0 || negationWords.MatchString(rest[:m[3]]) {
		return statement{}, false
	}
	verb := rest[m[2]:m[3]]
	known := pastForm(verb) || unbending[verb] && !isModal(verb) || baseVerbs[strings.TrimSuffix(verb, "s")] || strings.HasSuffix(verb, "s") && !strings.HasSuffix(verb, "ss")
	object := cutObject(rest[m[6]:], false)
	if !known || vagueVerbs[verb] || adverbs[verb] || substance(lowerWords(object)) == 0 {
		return statement{}, false
	}
	if m[4] >= 0 {
		verb += "_" + strings.TrimSpace(rest[m[4]:m[5]])
	}
	return statement{source, mem0.Entity{Entity: object, Type: typeThing}, verb}, true
}

// vagueVerbs say nothing of what somebody has to do with something.
var vagueVerbs = wordSet(`was has had does did gets got gonna needs need knows knew thinks thought feels felt seems seemed means meant makes made keeps kept
	lets let says said tells told used tried tries comes came been ought cannot gotta sees saw finds found wants excited interested thrilled`)

var (
	animals  = wordSet("dog cat puppy kitten pet bird horse")
	ownPlain = regexp.MustCompile(`^'s ((?:favou?rite )?[\p{Ll} ]{2,30}?) (?:is|are) ((?:[\p{L}\d][\p{L}\d'.@+-]*)(?: [\p{L}\d][\p{L}\d'.@+-]*){0,4})`)
)

// ownStatements reads what somebody's own is: "Ana's favorite color is red".
func ownStatements(source mem0.Entity, rest string) []statement {
	m := ownPlain.FindStringSubmatch(rest)
	if m == nil {
		return nil
	}
	what := strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(m[1], "favourite", "favorite")), " ", "_")
	object, kind := cutObject(m[2], false), typeThing
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

// leadingDate is a date in front of a sentence.
var leadingDate = regexp.MustCompile(`^(?:On|In) (?:the (?:week|weekend) of )?(?:\d{1,2} )?(?:(?:January|February|March|April|May|June|July|August|September|October|November|December) )?\d{4},? `)

var (
	aKind  = regexp.MustCompile(`^(?:an?|the) `)
	notHad = regexp.MustCompile(`(?i)^(?:been|still|got|to|had|always|never|also|just|[\p{L}]+ed|[\p{L}]+ing|made|done|come|gone|taken|started|no|a (?:lot|few|bit|ton|blast|hard|great|good)|so|some)\b`)
)

func startsUpper(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

// isSubject tells a name at the beginning of a sentence from another word.
func isSubject(name string) bool {
	first := strings.ToLower(strings.Fields(name)[0])
	if first == "the" || first == "i" || first == "we" {
		return true // the user; no other article gets here
	}
	return !notNames[first] && !opens[first] && !isAdverb(first) && !text.IsStopWord(first, text.English) && !text.IsTimeWord(first)
}

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

// cutObject gives the noun phrase that an object begins with: up to four words,
// without articles. An infinitive or a gerund may take a word more.
func cutObject(s string, action bool) string {
	var words []string
	for _, p := range pieces(s) {
		if !p.word {
			if strings.TrimSpace(p.s) != "" && strings.TrimSpace(p.s) != "&" {
				break
			}
			continue
		}
		w := strings.ToLower(p.s)
		if len(words) == 0 && articles[w] {
			continue
		}
		inAction := action && len(words) == 1 && (w == "to" || w == "the" || w == "a")
		if objectEnds[w] && !inAction || len(words) > 0 && text.IsTimeWord(w) {
			break
		}
		words = append(words, p.s)
		if len(words) == 4 {
			break
		}
	}
	for len(words) > 0 && (text.IsStopWord(words[len(words)-1], text.English) || adverbs[strings.ToLower(words[len(words)-1])]) {
		words = words[:len(words)-1]
	}
	out := strings.TrimSuffix(strings.Join(words, " "), "'s")
	if utf8.RuneCountInString(out) < 2 {
		return ""
	}
	return out
}

var articles = wordSet("a an the their his her its my our some any this that really very so to")

var (
	capitalSpan  = regexp.MustCompile(`\p{Lu}[\p{L}\d'&.-]*(?: (?:of |the |de )?\p{Lu}[\p{L}\d'&.-]*){0,3}`)
	organization = regexp.MustCompile(`(?i)\b(?:inc|corp|ltd|llc|gmbh|university|college|school|institute|hospital|bank|company|club|museum|foundation|association|church|center|centre|studio|agency|team|band)\b\.?$`)
	beforePlace  = regexp.MustCompile(`(?i)\b(?:in|from|near|to|visited|around|across|through)\s+(?:the\s+)?$`)
	beforePerson = regexp.MustCompile(`(?i)(?:\b(?:with|met|named|called|and)|\b(?:` + kinWords + `)),?\s+$`)
	verbBehind   = regexp.MustCompile(`^(?:'s\b| \p{Ll}+(?:s|ed)\b| (?:went|got|had|took|made|saw|met|bought|found|is|was|has|will|can|would|said|told|came|never|just|also|and)\b)`)
	personVerb   = regexp.MustCompile(`^(?:'s)? (?:is|was|has|likes?|loves?|said|says|lives|moved|works|wants|told|went|enjoys|plans|prefers|got|had|and)\b`)
)

// named gives what has a capital inside a sentence, or is a name at its beginning.
func named(t string, people map[string]bool) []mem0.Entity {
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
			case at[0] == 0 && (!verbBehind.MatchString(s[at[1]:]) || !isSubject(name)):
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
	hanKinNamed = regexp.MustCompile(`^(用户|我|\p{Han}{2,3}?|[A-Za-z]+ ?)的(` + hanKin + `)(?:叫|是|名叫)?([A-Za-z]+|\p{Han}{2,3}?)(?:住|在|搬|喜欢|是|去|[，,。]|$)`)
	hanKinPlain = regexp.MustCompile(`^(用户|我|\p{Han}{2,3}?|[A-Za-z]+ ?)的(` + hanKin + `)`)
	hanPerson   = regexp.MustCompile(`^(用户|我|\p{Han}{2,3}?|[A-Za-z]+) ?(?:现在|最近|今年|已经|也|很|非常|不再|不|打算|计划|\d{4}年(?:\d+月)?(?:\d+日)?)*(?:住|在|搬|喜欢|爱|讨厌|去|是|叫|有|养|吃|买|学|参加|想|准备|取消|结婚|从)`)
)

const hanObject = `([\p{Han}A-Za-z0-9]{1,12}?)(?:[，,。；、！!]|$|了|的时候|工作|上班|上学|吃饭|和|因为)`

var hanVerbRules = []verbRule{
	{regexp.MustCompile(`(?:住在|定居在?|生活在)` + hanObject), "lives_in", typePlace},
	{regexp.MustCompile(`搬(?:家)?(?:到|去|来)了?` + hanObject), "lives_in", typePlace},
	{regexp.MustCompile(`来自` + hanObject), "is_from", typePlace},
	{regexp.MustCompile(`在([\p{Han}A-Za-z]{2,12}?)(?:工作|上班|任职)`), "works_at", typeOrganization},
	{regexp.MustCompile(`在([\p{Han}A-Za-z]{2,12}?)(?:上学|读书|学习)`), "studied_at", typeOrganization},
	{regexp.MustCompile(`对([\p{Han}]{1,6}?)过敏`), "is_allergic_to", typeThing},
	{regexp.MustCompile(`(?:名字是|名字叫|叫)` + hanObject), "is_named", typePerson},
	{regexp.MustCompile(`(?:不喜欢|讨厌)(?:吃|看|听|玩|去)?` + hanObject), "dislikes", typeThing},
	{regexp.MustCompile(`(?:喜欢|热爱|爱)(?:吃|看|听|玩|去)?` + hanObject), "likes", typeThing},
	{regexp.MustCompile(`(?:取消了?|放弃了?)` + hanObject), "cancelled", typeThing},
	{regexp.MustCompile(`(?:打算|计划|准备|想)(?:去)?` + hanObject), "plans", typeThing},
	{regexp.MustCompile(`(?:去了|去过|参观了?)` + hanObject), "went_to", typePlace},
	{regexp.MustCompile(`(?:养了?|有)(?:一)?(?:只|个|条|位|名|辆)` + hanObject), "has", typeThing},
	{regexp.MustCompile(`(?:买了|收到了?)(?:一)?(?:只|个|条|辆|台|本)?` + hanObject), "got", typeThing},
	{regexp.MustCompile(`(素食)(?:主义)?者?|(?:吃素)`), "follows_diet", typeThing},
	{regexp.MustCompile(`是(?:一)?(?:名|位|个)` + hanObject), "is", typeThing},
}

// hanStatements reads one Chinese sentence in the third person.
func hanStatements(s, user string) []statement {
	person := func(name string) mem0.Entity {
		name = strings.TrimSpace(name)
		if name == "用户" || name == "我" {
			if name = user; name == "" {
				name = "用户"
			}
		}
		return mem0.Entity{Entity: name, Type: typePerson}
	}
	var out []statement
	var source mem0.Entity
	rest := s
	if m := hanKinNamed.FindStringSubmatch(s); m != nil {
		source = mem0.Entity{Entity: m[3], Type: typePerson}
		out = append(out, statement{source, person(m[1]), "is_" + hanKinRelation(m[2]) + "_of"})
	} else if m := hanKinPlain.FindStringSubmatch(s); m != nil {
		source = mem0.Entity{Entity: person(m[1]).Entity + "的" + m[2], Type: typePerson}
		out = append(out, statement{source, person(m[1]), "is_" + hanKinRelation(m[2]) + "_of"})
		rest = s[len(m[0]):]
	} else if m := hanPerson.FindStringSubmatch(s); m != nil {
		source = person(m[1])
		rest = s[len(m[1]):]
	} else {
		return nil
	}
	for _, r := range hanVerbRules {
		at := r.form.FindStringSubmatchIndex(rest)
		if at == nil {
			continue
		}
		object := "素食"
		if at[2] >= 0 && r.relation != "follows_diet" {
			object = rest[at[2]:at[3]]
		}
		relation := r.relation
		if hanNegation.MatchString(rest[:at[0]]) && relation != "dislikes" && relation != "cancelled" {
			relation = negatedRelation + relation
		}
		out = append(out, statement{source, mem0.Entity{Entity: object, Type: r.kind}, relation})
		break
	}
	return out
}

// hanKinRelation names a relation in English, as relations are in every language.
func hanKinRelation(kin string) string {
	for name, list := range hanKinNames {
		if slices.Contains(strings.Fields(list), kin) {
			return name
		}
	}
	return "relative"
}

var hanKinNames = map[string]string{
	"mother": "妈妈 母亲 妈", "father": "爸爸 父亲 爸", "sister": "姐姐 妹妹 姐 妹", "brother": "哥哥 弟弟 哥 弟", "wife": "妻子 老婆", "husband": "丈夫 老公",
	"son": "儿子", "daughter": "女儿", "child": "孩子", "friend": "朋友", "colleague": "同事", "roommate": "室友", "boss": "老板", "neighbor": "邻居",
	"classmate": "同学", "teacher": "老师", "girlfriend": "女朋友 女友", "boyfriend": "男朋友 男友", "grandfather": "爷爷 外公 姥爷", "grandmother": "奶奶 外婆 姥姥",
	"parents": "父母", "family": "家人", "cousin": "表哥 表弟 表姐 表妹 堂哥 堂弟", "uncle": "叔叔 舅舅", "aunt": "阿姨 姑姑",
}
