package rules

import (
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file decides whether a sentence can be understood by itself: it names what it is about, and
// refers to nothing that only another sentence names.

// reference is a word or phrase of a sentence that refers to something that the sentence does not
// name.
type reference struct {
	start, end int // in bytes
	kind       referenceKind
	head       string // of a definite phrase: its last noun, folded
}

// referenceKind is what a reference can refer to.
type referenceKind int

const (
	toThing    referenceKind = iota // "it"
	toThings                        // "them"
	toPlace                         // "there"
	toPerson                        // "she"
	toDefinite                      // "the event"
	toUnknown                       // "this", "one", "others": it cannot be completed
)

// antecedents are what the words of a sentence before a place name.
type antecedents struct {
	person, thing, things, place bool
	heads                        map[string]bool // folded nouns
}

// note adds what the word at i names.
func (a *antecedents) note(words []grammar.Word, i int) {
	w := &words[i]
	low := strings.ToLower(w.Text)
	switch {
	case low == "i" || text.IsTimeWord(low):
	case strings.HasPrefix(w.Tag, "NNP") && i > 0 && kinNouns[lowText(&words[i-1])]:
		a.person = true // "my daughter Tilda"
	case strings.HasPrefix(w.Tag, "NNP"):
		a.person, a.thing, a.things, a.place = true, true, true, true
	case strings.HasPrefix(w.Tag, "NN") && !vagueNouns[low]:
		somebody := personNouns[low] || personNouns[strings.TrimSuffix(low, "s")] || femaleKin[low] || maleKin[low]
		a.thing = a.thing || !somebody
		a.things = a.things || strings.HasSuffix(w.Tag, "S") || groupNouns[low] || i+1 < len(words) && strings.EqualFold(words[i+1].Text, "and")
		a.person = a.person || somebody || petKinds[low]
		a.place = a.place || i > 1 && slices.ContainsFunc(words[max(0, i-4):i], func(b grammar.Word) bool { return placePrepositions[strings.ToLower(b.Text)] })
		a.heads[low] = true
	case w.Tag == "VBG":
		a.thing = true // an activity
	}
}

// groupNouns are singular nouns for several people or things.
var groupNouns = wordSet("family team group band couple crew staff class community company organization school club food hair furniture music")

// referencesIn returns what a sentence refers to without naming it.
func referencesIn(words []grammar.Word) []reference {
	var out []reference
	known := antecedents{heads: map[string]bool{}}
	for i := range words {
		w := &words[i]
		low := strings.ToLower(w.Text)
		next := &grammar.Word{}
		if i+1 < len(words) {
			next = &words[i+1]
		}
		add := func(kind referenceKind) {
			out = append(out, reference{start: w.Start, end: w.End, kind: kind})
		}
		switch {
		case low == "this" || low == "these" || (low == "that" || low == "those") && (w.Tag == "DT" || w.Tag == "PRP") && !opensRelative(words, i):
			if !text.IsTimeWord(next.Text) && !timeNouns[strings.ToLower(next.Text)] {
				add(toUnknown)
			}
		case low == "there" && (w.Tag != "EX" || i > 0 && words[i-1].Tag[0] == 'V') && !known.place && next.Tag != "VBZ" && next.Tag != "VBP" && next.Tag != "VBD":
			add(toPlace)
		case (low == "him" || low == "he" || low == "she" || low == "her" || low == "his" || low == "hers") && !known.person:
			add(toPerson)
		case low == "here" && next.Tag != "IN":
			add(toUnknown)
		case (low == "him" || low == "her" && w.Tag == "PRP" || low == "them" || low == "it") && i > 0 && strings.EqualFold(words[i-1].Text, "like"):
			add(toUnknown)
		case low == "it" && (!known.thing || isFirstObject(words, i)) && i > 0 && !impersonal(words, i):
			add(toThing)
		case (low == "its" && w.Tag == "PRP$") && !known.thing:
			add(toThing)
		case (low == "them" || low == "they" || low == "their" || low == "theirs") && !known.things && (!known.person || low == "them"):
			add(toThings)
		case (low == "one" || low == "ones") && i > 0 && isPronounOne(words, i) && len(known.heads) == 0:
			add(toUnknown)
		case bareReferences[low] && !isTagged(next, "NN", "NNS", "NNP", "NNPS", "JJ", "CD", "IN", "VBG"):
			add(toUnknown)
		case (low == "other" || low == "same" || low == "similar" || low == "such") && !explainsOther(words, i):
			add(toUnknown)
		case low == "the":
			if end, head := definiteNoun(words, i); end > i && !known.heads[head] {
				out = append(out, reference{start: w.Start, end: words[end-1].End, kind: toDefinite, head: head})
			}
		}
		known.note(words, i)
	}
	return out
}

// isFirstObject reports whether the pronoun at i is the object of the first verb of a sentence, so that
// what it refers to cannot be in the sentence.
func isFirstObject(words []grammar.Word, i int) bool {
	if words[i-1].Tag[0] != 'V' {
		return false
	}
	return !slices.ContainsFunc(words[:i-1], func(w grammar.Word) bool { return w.Tag[0] == 'V' || w.Tag == "IN" || w.Tag == "," })
}

// opensRelative reports whether the "that" at i begins a clause: "the book that I read", "said that".
func opensRelative(words []grammar.Word, i int) bool {
	if i == 0 || i+1 >= len(words) {
		return false
	}
	next := &words[i+1]
	return next.Tag == "PRP" || next.Tag == "MD" || strings.HasPrefix(next.Tag, "VB") && next.Tag != "VBG" && strings.HasPrefix(words[i-1].Tag, "NN")
}

// isPronounOne reports whether the "one" at i stands for a noun: "I bought one".
func isPronounOne(words []grammar.Word, i int) bool {
	if i+1 == len(words) {
		return true
	}
	next := &words[i+1]
	return next.Tag == "." || next.Tag == "," || next.Tag == "IN" && next.Text != "of" || next.Tag == "TO" || next.Tag == "RB" || next.Tag == "CC" || next.Text[0] == '\''
}

// bareReferences refer to what a sentence does not name, unless a noun follows.
var bareReferences = wordSet("somewhere another others either neither both else elsewhere whichever latter former")

// explainsOther reports whether what "other", "same" or "such" at i compares with is in the sentence.
func explainsOther(words []grammar.Word, i int) bool {
	low := strings.ToLower(words[i].Text)
	if i > 0 && (strings.EqualFold(words[i-1].Text, "each") || strings.EqualFold(words[i-1].Text, "every")) {
		return true
	}
	if i > 0 && i+1 < len(words) && words[i-1].Tag == "CD" && words[i+1].Tag == "NNS" {
		return true // "three other girls"
	}
	rest := words[i+1:]
	for j, w := range rest {
		switch strings.ToLower(w.Text) {
		case "as", "to", "like":
			if low != "other" && (j+1 == len(rest) || !strings.EqualFold(rest[j+1].Text, "well")) {
				return true
			}
		case "than":
			return true
		case "time", "day", "year", "week", "age", "side", "people":
			if low == "same" || low == "other" {
				return true
			}
		}
	}
	return low == "such" && i+1 < len(words) && words[i+1].Tag == "DT" // "such a"
}

// definiteNoun returns the end of the phrase "the …" at i and its last noun, if the sentence does not
// say which one it is; else end is 0.
func definiteNoun(words []grammar.Word, i int) (end int, head string) {
	j := i + 1
	for j < len(words) && (words[j].Tag == "JJ" || words[j].Tag == "VBG" && j+1 < len(words) && strings.HasPrefix(words[j+1].Tag, "NN") || words[j].Tag == "VBN" || words[j].Tag == "CD" || words[j].Tag == "RB" && j+1 < len(words) && words[j+1].Tag == "JJ") {
		if uniqueAdjectives[strings.ToLower(words[j].Text)] {
			return 0, ""
		}
		j++
	}
	first := j
	for j < len(words) && strings.HasPrefix(words[j].Tag, "NN") {
		j++
	}
	if before := strings.ToLower(words[max(0, i-1)].Text); j < len(words) && words[j].Tag == "TO" && j+1 < len(words) && words[j+1].Tag == "VB" && wishVerbs[before] && j == first+1 && anaphoricNouns[strings.ToLower(words[first].Text)] {
		return j, strings.ToLower(words[first].Text) // "I wanted the painting to have"
	} else if j == first+2 && causeVerbs[before] && strings.EqualFold(words[first+1].Text, "look") && anaphoricNouns[strings.ToLower(words[first].Text)] {
		return j - 1, strings.ToLower(words[first].Text) // "make the place look", where the tagger reads a compound
	}
	if j == first || j > first+1 && !genericModifiers[strings.ToLower(words[first].Text)] {
		return 0, "" // no noun, or a compound that says which one: "the charity race"
	}
	if slices.ContainsFunc(words[i+1:j], func(w grammar.Word) bool { return strings.HasPrefix(w.Tag, "NNP") || w.Tag == "JJS" }) {
		return 0, ""
	}
	head = strings.ToLower(words[j-1].Text)
	if membershipNouns[head] && j > i+2 && i > 0 && strings.EqualFold(words[i-1].Text, "on") {
		return 0, "" // "on the basic plan"
	}
	// At the beginning of a sentence, "the" nearly always refers to what was said before.
	if !anaphoricNouns[head] && (i > 0 || text.IsTimeWord(head) || timeNouns[head]) {
		return 0, ""
	}
	if j < len(words) {
		next := &words[j]
		low := strings.ToLower(next.Text)
		switch {
		case explainingWords[low] && j+1 < len(words):
			return 0, ""
		case next.Tag == "POS", next.Tag == "PRP" && low != "it" && low != "them", next.Tag == "VBN", next.Tag == "VBG":
			return 0, ""
		case next.Tag == "NNP" || next.Tag == "DT" && j+1 < len(words) && strings.HasPrefix(words[j+1].Tag, "NN"):
			return 0, "" // "the song Ana wrote"
		}
	}
	return j, head
}

// membershipNouns name what somebody is on: "on the basic plan", "on the night shift".
var membershipNouns = wordSet("plan tariff subscription contract diet pill shift team list board committee council rota package scheme program programme ward course")

// wishVerbs and causeVerbs take a noun with what it is to be or do.
var (
	wishVerbs  = wordSet("want wanted wants need needed needs like expect expected ask asked get got")
	causeVerbs = wordSet("make made makes making let lets help helped helps see saw")
)

// explainingWords are words behind a noun that say which one it is.
var explainingWords = wordSet("of for in at from with on by about near where that which who whose to between called named when over through around inside outside next across")

// uniqueAdjectives make a definite phrase clear.
var uniqueAdjectives = wordSet("last first next second third fourth fifth only best worst most local nearby national international great outdoor outdoors")

// genericModifiers are nouns before a noun that do not say which one it is.
var genericModifiers = wordSet("whole part top team group main side home end weekend day night morning evening")

// anaphoricNouns are nouns that, with "the", mostly refer to what was said before.
var anaphoricNouns = wordSet(`destination deficit event events show shows project projects team group class classes course process idea plan plans story stories book books movie film song songs painting paintings picture
	pictures photo photos pic pics look results result support response audience crowd feedback view views feeling feelings experience experiences opportunity opportunities chance position
	offer challenge challenges problem problems issue issues situation test race logo session sessions meeting tour workshop workshops program campaign cause product products collection design
	designs character characters series ending plot message meaning colors color name person people man woman guy kid boy girl animal animals accident injury incident funds bowl recipe dish cake atmosphere
	vibe vibes energy owners attractions city competition tournament contest match game games win loss victory score performance stage lights conference convention festival concert gig exhibit exhibition piece pieces item items
	activity activities trip vacation journey hike trail spot spots place places area location venue kids community journey work task tasks effort efforts goal goals dream stuff thing things part parts
	volunteers residents students participants members organization company business shop store studio partner partners folks guests judges performers speakers speaker stories struggles
	change changes progress lesson lessons skill skills feature features game mechanic mechanics puzzle puzzles technique techniques video videos post posts article articles podcast interview deal contract
	decision option options method methods system list topic topics subject quote message note letter gift gifts present card necklace bracelet tattoo costume costumes outfit dress shirt jersey shoes`)

// hollowNouns name nothing that a reader could use, alone.
var hollowNouns = wordSet(`zen groove flow destiny awareness worry worries deficit outlook headspace weakness shots grit purpose surge bill stroke turnout reception sacrifice sacrifices compassion trust gratitude precaution fan highlight best worst bummer hurdle drive ride change changes goal goals dream dreams passion passions life lives world idea ideas fun encouragement positivity growth success challenge challenges
	situation situations choice choices decision decisions tip tips view views peace happiness beauty creativity spirit spirits heart word words conversation conversations
	talk talks chat chats message messages question questions answer answers reminder appreciation gratitude hope luck stuff example examples option options detail details
	problem problems solution solutions process approach purpose level levels skill skills future past road path scene smile smiles laugh laughs look dedication determination
	resilience kindness mindset perspective perspectives value values attention excitement stress mood adventure adventures possibility possibilities improvement improvements
	result results setback setbacks obstacle obstacles struggle struggles bond bonds surprise treat gem experience experiences reaction reactions reality story lesson lessons
	potential outlet escape balance comfort hardship hardships difficulty difficulties emotion emotions happiness satisfaction accomplishment accomplishments achievement
	achievements milestone pride motivation passion discipline focus commitment responsibility pressure anxiety relief boost zone sign signs gift blessing blessings
	compliment compliments feedback thought thoughts opinion opinions interest interests person people man woman guy friend friends somebody style taste
	trial error diversity lead leads unknown significance opponent opponents chapter moment memory connection bonding growth opportunity obstacle adversity impact influence role model vision mission
	stage phase point effort efforts hurdle hurdles task tasks something anything everything chance chances hand hands eye eyes mind minds soul body voice face feet`)

// Weights of the words that say what a sentence is about. A sentence needs fullAnchor.
const (
	fullAnchor    = 2
	genericAnchor = 1
)

// anchors weighs the words of a sentence that a reader can use: names, nouns that name something, verbs of
// an activity, and lasting states. A noun of a general kind, such as "event", weighs half.
func anchors(words []grammar.Word) int {
	seen := map[string]bool{}
	n := 0
	for i := range words {
		w := &words[i]
		low := strings.ToLower(w.Text)
		isMembership := membershipNouns[low] && i > 2 && strings.EqualFold(words[i-3].Text, "on") // "on the basic plan"
		if seen[low] || low == "i" || text.IsTimeWord(low) || timeNouns[low] || vagueNouns[low] && !isMembership || hollowNouns[low] || hollowNouns[strings.TrimSuffix(low, "s")] || len(low) < 2 ||
			interjections[low] || adverbs[low] || emptyWords[low] && (i == 0 || !startsUpper(w.Text)) {
			continue
		}
		weight := 0
		switch {
		case genericNouns[low] && !isMembership:
			weight = genericAnchor
		case strings.HasPrefix(w.Tag, "NN"), w.Tag == "FW", isLikelyNoun(words, i), i > 0 && startsUpper(w.Text) && !selfWords[low] && w.Tag != "PRP",
			w.Tag == "CD" && i > 0 && beForms[strings.ToLower(words[i-1].Text)]:
			weight = fullAnchor
		case dutyVerbs[low] && w.Tag[0] == 'V' && recursOn.MatchString(joinWords(words[i+1:])):
			weight = fullAnchor
		case w.Tag[0] == 'V' && namesActivity(low), (low == "run" || low == "runs" || low == "walk") && w.Tag[0] == 'V' && (i+1 == len(words) || words[i+1].Tag == "RB" || words[i+1].Text == "every"), lastingAdjectives[low], lastingStates[low]:
			weight = fullAnchor
		case w.Tag == "VBG" && i > 0 && likingVerbs[strings.ToLower(words[i-1].Text)] && !emptyActions[low]:
			weight = fullAnchor
		}
		if weight > 0 {
			seen[low] = true
			n += weight
		}
	}
	return n
}

// dutyVerbs say what somebody does with a day that comes again, as recursOn matches it.
var (
	dutyVerbs = wordSet("work teach train study volunteer fast shop practise practice")
	recursOn  = regexp.MustCompile(`(?i)^(?:on |at |every |only )*(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|nights|weekends?|weekdays|mornings|evenings|shifts|part[ -]time|full[ -]time)\b`)
)

// namesActivity reports whether a verb names an activity or an event of a life.
func namesActivity(low string) bool {
	stem := text.Stem(low, text.English)
	return lifeVerbs[low] || verbCues[stem] && !everydayVerbs[stem] && stem != "teach"
}

// isLikelyNoun reports whether the tagger does not know the noun at i: "I drink coffee/JJ every morning".
func isLikelyNoun(words []grammar.Word, i int) bool {
	if i == 0 {
		return false
	}
	low := strings.ToLower(words[i].Text)
	switch words[i].Tag {
	case "JJ", "VB", "VBP", "VBZ", "RB":
	default:
		return false
	}
	before := &words[i-1]
	if words[i].Tag == "RB" && (isAdverb(low) || before.Tag[0] != 'V') {
		return false
	}
	if before.Tag[0] != 'V' && !isDeterminer(before) && !isTagged(before, "IN", "JJ", "CC") || len(low) < 3 ||
		text.IsStopWord(low, text.English) || knownAdjectives[low] || moods[low] || invariantVerbs[low] || baseVerbs[low] || baseVerbs[strings.TrimSuffix(low, "s")] || isPastForm(low) || beForms[low] || weakAdjectives[low] {
		return false
	}
	if words[i].Tag == "JJ" && i+1 < len(words) && strings.HasPrefix(words[i+1].Tag, "NN") {
		return false
	}
	if before.Tag[0] == 'V' && !copulas[strings.ToLower(before.Text)] && !beForms[strings.ToLower(before.Text)] && (i+1 == len(words) || !strings.HasPrefix(words[i+1].Tag, "NN") && words[i+1].Tag != "JJ" && words[i+1].Tag != "TO" && words[i+1].Tag != "VBG") {
		return true // "I can't eat shellfish/JJ."
	}
	return !slices.ContainsFunc(adjectiveEndings, func(ending string) bool { return strings.HasSuffix(low, ending) })
}

var (
	likingVerbs    = wordSet("like likes love loves enjoy enjoys hate hates adore dislike prefer prefers started start stopped stop quit began tried try practice do go went")
	copulas        = wordSet("look looks looked sound sounds seem seems seemed become becomes became turn turned go went grow grew stay stayed remain make makes made find found taste tasted smell")
	weakAdjectives = wordSet("important different difficult worth rewarding special necessary essential hard simple eye-opening life-changing tough crucial sacred precious")
)

// genericNouns name a kind of thing; which one is said by the words around them.
var genericNouns = wordSet(`collaboration collaborations owners rollercoaster networking talent talents response responses promotion customer customers sales contacts event events activity activities project projects program programs place places area areas spot spots topic topics item items picture pictures photo photos pic pics
	game games show shows group groups team teams stories story class classes meeting meetings session sessions opportunity opportunities connection connections recipe attitude name names
	issue issues plan plans sense memory memories kind type types material materials gear tool tools technique techniques method methods strategy strategies resource resources
	environment atmosphere audience crowd member members role roles position community communities world people folks friends friend fans someone somebody person everyone others
	weekend trip trips tour tours journey practice training workout workouts routine schedule studies study homework exams exam research knowledge book books movie movies song songs art design designs
	love support help care advice encouragement feedback inspiration motivation confidence strength energy health wellness self-care balance creativity growth future family court field
	win wins victory goal goals season seasons performance performances skill skills talent product products brand business store shop company quality`)

// lastingStates are adjectives for what somebody is for long. lifeVerbs are verbs of events of a life.
var (
	lastingStates = wordSet(`vegetarian vegan pescatarian allergic intolerant diabetic asthmatic pregnant married single divorced engaged widowed retired unemployed separated
		left-handed right-handed deaf blind colorblind jewish muslim christian catholic buddhist hindu atheist bilingual self-employed celiac introverted shy gay lesbian transgender bisexual trans
		non-binary adopted homeless bankrupt fired promoted afraid scared`)
	lifeVerbs = wordSet(`married divorced graduated retired moved quit resigned promoted fired engaged died adopted separated migrated immigrated emigrated enlisted proposed
		swim ski drive juggle knit meditate smoke drink jog laid hired injured fly skateboard`)
)

// needsObject are verbs that say nothing without an object, in all their forms.
var needsObject = wordSet(`enjoy enjoyed enjoying want wanted need needed try tried trying finish finished finishing start started starting join joined joining visit visited visiting
	attend attended attending buy bought buying make made making get got getting see saw seen seeing use used using find found finding miss missed missing lose lost losing choose chose chosen
	prefer preferred discover discovered handle handled reach reached bring brought take took taken taking give gave given giving show showed share shared sharing tell told
	explore explored exploring organize organized organizing host hosted consider considered considering create created creating design designed designing build built building
	include included support supported follow followed complete completed achieve achieved improve improved love loved like liked hate hated do did doing done
	put planned plan plans planning hope hoping pick picked adopt adopting apply applied register registered enroll enrolled prepare prepared
	participate participated volunteer-for sign signed signing win won winning learn learned learning teach taught bake bring sell sold met clicked`)

// isTagged reports whether a word has one of the tags.
func isTagged(w *grammar.Word, tags ...string) bool { return slices.Contains(tags, w.Tag) }

// lacksObject reports whether a verb of a sentence has no object although it needs one, as in "I tried
// last week" and "I started two years ago".
func lacksObject(words []grammar.Word) bool {
	for i := range words {
		w := &words[i]
		low := strings.ToLower(w.Text)
		if dutyVerbs[low] && i+1 < len(words) && recursOn.MatchString(joinWords(words[i+1:])) {
			continue
		}
		if w.Tag == "" || w.Tag[0] != 'V' || !needsObject[low] || inRelativeClause(words, i) || isPassive(words, i) {
			continue
		}
		j := i + 1
		for j < len(words) && (words[j].Tag == "RP" || isAdverb(strings.ToLower(words[j].Text)) || text.IsTimeWord(words[j].Text) || verbParticles[strings.ToLower(words[j].Text)] && !takesPreposition[low+" "+strings.ToLower(words[j].Text)]) {
			j++
		}
		if j == len(words) {
			return true
		}
		next := &words[j]
		nextLow := strings.ToLower(next.Text)
		switch {
		case next.Tag == "." || next.Tag == "," || next.Tag == "CC" || next.Text == "-" || next.Text == "–" || next.Text == "—" || next.Text == ";":
			return true
		case next.Tag == "IN" && emptyComplement[nextLow] && !takesPreposition[low+" "+nextLow]:
			return true
		case next.Tag == "CD" && j+1 < len(words) && (text.IsTimeWord(words[j+1].Text) || timeNouns[strings.ToLower(words[j+1].Text)]):
			return true // "two years ago"
		}
	}
	return false
}

var (
	verbParticles = wordSet("up out back off over away again alone together along")
	// emptyComplement are prepositions that begin a time, a place or a reason, not an object.
	emptyComplement  = wordSet("in at since because as while when after before until during so if though although from with for on this last")
	takesPreposition = func() map[string]bool {
		m := map[string]bool{}
		for _, p := range []string{"participate in", "participated in", "apply for", "applied for", "apply to", "applied to", "prepare for", "prepared for", "sign up", "signed up", "signing up",
			"register for", "registered for", "enroll in", "enrolled in", "plan on", "planning on", "planned on", "start with", "started with", "started at", "start at", "started as", "start on", "started on", "starts on", "shared with",
			"win at", "get into", "got into", "getting into", "get from", "got from", "take after", "get in", "got in", "get over", "got over", "get out", "make up", "take off", "took off", "get back", "got back",
			"get along", "give up", "gave up", "tried for", "trying for", "hope for", "hoping for", "planning for", "plan for", "get on", "got on", "lost to", "won against", "learning from", "learned from", "teach at", "taught at", "taught in", "teach in",
			"get through", "got through", "see about", "visit with", "used for", "made from", "made with", "do for", "did for", "do with", "finished with", "finish with", "start from", "share with", "sold at", "try out", "tried out", "trying out"} {
			m[p] = true
		}
		return m
	}()
)

// inRelativeClause reports whether the object of the verb at i may be before it: "the car I bought",
// "what I like".
func inRelativeClause(words []grammar.Word, i int) bool {
	for j := i - 1; j >= 0 && i-j <= 6; j-- {
		low := strings.ToLower(words[j].Text)
		switch {
		case low == "that" || low == "which" || low == "what" || low == "how" || low == "who" || low == "where" || low == "whatever" || low == "than" || low == "as":
			return true
		case words[j].Tag == "PRP" && j > 0 && strings.HasPrefix(words[j-1].Tag, "NN"), words[j].Tag == "NNP" && j > 0 && words[j-1].Tag == "NN":
			return true
		case words[j].Tag == "TO" && j > 0 && strings.HasPrefix(words[j-1].Tag, "NN"), low == "to" && j > 0 && words[j-1].Tag == "JJ":
			return true // "a book to finish", "hard to find"
		}
	}
	return false
}

// isPassive reports whether the participle at i is one of the passive: "was taken".
func isPassive(words []grammar.Word, i int) bool {
	if words[i].Tag != "VBN" && words[i].Tag != "VBD" {
		return false
	}
	for j := i - 1; j >= 0 && i-j <= 3; j-- {
		switch strings.ToLower(words[j].Text) {
		case "was", "were", "been", "being", "be", "is", "are", "'m", "am", "'re", "got", "get", "getting", "'s":
			return true
		}
		if !isAdverb(strings.ToLower(words[j].Text)) {
			return strings.HasPrefix(words[j].Tag, "NN") && words[i].Tag == "VBN"
		}
	}
	return false
}

// moods are adjectives for how somebody feels at a moment.
var moods = wordSet(`happy sad excited nervous anxious thrilled stoked proud grateful thankful tired exhausted stressed overwhelmed worried relieved lucky blessed amazed inspired
	motivated pumped psyched awestruck awed upset frustrated disappointed surprised bored lonely calm glad hopeful confident down eager enthusiastic hyped pleased delighted content determined ready
	super optimistic curious impressed touched moved honored humbled fortunate ecstatic elated energized refreshed accomplished fulfilled swamped busy hooked shocked bummed great good fine
	alive comfortable appreciative encouraged nostalgic emotional devastated heartbroken conflicted lost confused stuck committed dedicated driven passionate satisfied empowered free sure`)

// isMood reports whether a sentence says only how somebody feels. Such a sentence is a fact only if it
// names what the feeling is about.
func isMood(words []grammar.Word) bool {
	for i := 1; i+1 < len(words); i++ {
		low := strings.ToLower(words[i].Text)
		if low != "was" && low != "were" && low != "is" && low != "are" || words[i-1].Tag == "PRP" {
			continue
		}
		j := i + 1
		for j < len(words) && isAdverb(strings.ToLower(words[j].Text)) {
			j++
		}
		if j < len(words) && moods[strings.ToLower(words[j].Text)] && anchors(words[j:]) < fullAnchor {
			return true
		}
		break
	}
	i := 0
	for i < len(words) && (selfWords[strings.ToLower(words[i].Text)] || isAdverb(strings.ToLower(words[i].Text)) || beForms[strings.ToLower(words[i].Text)] || words[i].Tag == "VBN" && strings.EqualFold(words[i].Text, "been")) {
		i++
	}
	return i > 1 && i < len(words) && moods[strings.ToLower(words[i].Text)]
}

var beForms = wordSet("am 'm is 's are 're was were been be being feel feeling felt feels 've have had get got getting 'd ca n't not keep stay stayed so super")

// standsAlone reports whether a sentence in the first person, in its words, says something that a reader
// who does not know the conversation can use.
func standsAlone(words []grammar.Word) bool {
	n := anchors(words)
	switch {
	case n < fullAnchor, len(referencesIn(words)) > 0, lacksObject(words):
		return false
	case isMood(words):
		return n > 2*fullAnchor || slices.ContainsFunc(words, func(w grammar.Word) bool {
			return strings.HasPrefix(w.Tag, "NNP") && !text.IsTimeWord(w.Text)
		})
	}
	return true
}
