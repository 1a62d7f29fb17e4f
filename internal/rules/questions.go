package rules

import (
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file reads a question as the statement that its answer completes: "Which plot do you have?" is "My
// plot is …", and "Where does she live?" after "my aunt" is "My aunt lives in …".

// gapKind is what a question asks for.
type gapKind int

const (
	gapNone   gapKind = iota // yes or no
	gapThing                 // what, which
	gapPerson                // who
	gapPlace                 // where
	gapTime                  // when, what time
	gapAmount                // how many, how old
	gapSpan                  // how long
	gapOften                 // how often
	gapManner                // how
)

// questionFrame is the statement that an answer completes, in the words of who answers.
type questionFrame struct {
	kind          gapKind
	before, after string   // around the answer; without kind, what "yes" means
	denied        string   // what "no" means; "": nothing that lasts
	noun          string   // what is asked for: "plot", "pets"; "" if the question does not name it
	owner         string   // whose noun it is: "my", "my aunt's"
	options       []string // the words of what there is to choose from; nil: anything
	object        bool     // the noun is an object, which "yes" affirms: "pets" in "do you have pets"
	lasting       bool     // "yes" alone says what holds for long
	what          bool     // it asks what something is
	bare          bool     // the answer needs no preposition
	adverbial     bool     // a place, a time or a manner completes it too
	subject       string   // whom it is about, with the form of "be": "I am"
}

// grammaticalPerson is the grammatical person and number of the subject of a statement.
type grammaticalPerson int

const (
	speakerOne grammaticalPerson = iota
	otherOne
	otherMany
)

var (
	questionWords = wordSet("what which who where when how whom")
	auxiliaryVerb = wordSet("do does did is are was were 's 're am have has had 've can could will would 'll 'd")
	// questionLeads come before a question; questionTails behind it, and are no part of what is asked.
	questionLeads  = wordSet("and so but ok okay well right then now oh great nice cool sure thanks alright also or")
	questionTails  = wordSet("then now please again though exactly actually anyway currently nowadays originally here precisely")
	questionEnding = regexp.MustCompile(`(?i)[, ]+(?:by the way|these days|at the moment|right now|if i may ask|may i ask|if you don't mind(?: me asking)?|at all)$|,\s+\p{Lu}\p{Ll}+$`)
	// contactQuestion matches questions for the way to reach somebody.
	contactQuestion = regexp.MustCompile(`(?i)^(?:how|what|where|which)\b.*\b(?:reach|contact|call|phone|get hold of|get in touch with) you\b`)
	moreOfThat      = regexp.MustCompile(`(?i)^(?:and |so )?(?:any|got any) ((?:\p{L}+ ){0,2}\p{L}+)$`)
	livingAtWork    = regexp.MustCompile(`(?i)^(?:for (?:a living|work|a job)|professionally|as a job|)$`)
	kindNouns       = wordSet("kind kinds sort sorts type types")
	// stateVerbs are verbs of what somebody does in general.
	stateVerbs = wordSet(`like love enjoy eat drink speak play smoke own drive dance sing cook work live study teach prefer need collect have keep take use wear grow sell run ride rent
		swim paint travel volunteer share commute sail fish hunt garden bake knit read`)
	stateParticiples = wordSet("working living studying taking learning renting dating teaching sharing using renting breeding growing")
	lastingPerfects  = wordSet("been lived worked studied passed moved finished")
	passingStates    = wordSet("sure ready free available okay ok fine here there back home coming going done up well interested able alright serious happy excited busy close right aware new good")
)

// frameOf returns the frame of a question. resolve returns what a pronoun or "the" with a noun refers to, as
// who answers calls it, and for "" whom a question without a subject is about; "" if that is not certain.
func frameOf(question string, resolve func(reference string) string) (f questionFrame, ok bool) {
	q := strings.TrimSpace(strings.TrimRight(question, "?! "))
	for {
		was := q
		if q = strings.TrimSpace(questionEnding.ReplaceAllString(q, "")); q == was {
			break
		}
	}
	if m := moreOfThat.FindStringSubmatch(stripFiller(q)); m != nil {
		subject := resolve("")
		if subject == "" {
			return f, false
		}
		return anyFrame(subject, map[bool]grammaticalPerson{true: speakerOne, false: otherOne}[subject == "I"], "have", m[1], ""), true
	}
	words := questionClause(grammar.English(q))
	for i := 2; i+1 < len(words); i++ {
		if low := lowText(&words[i]); (low == "," || low == "and") && (questionWords[lowText(&words[i+1])] || auxiliaryVerb[lowText(&words[i+1])] || lowText(&words[i+1]) == "and") {
			words = words[:i] // the first of two questions
			break
		}
	}
	if len(words) < 2 || len(words) > 24 {
		return f, false
	}
	if contactQuestion.MatchString(joinWords(words)) {
		return questionFrame{kind: gapManner, before: "I can be reached"}, true
	}
	p := questionParser{words: words, resolve: resolve}
	f, ok = p.parse()
	return f, ok && !strings.HasSuffix(f.before, " do") && !strings.HasSuffix(f.before, " doing") && !strings.HasSuffix(f.before, " done")
}

// questionClause returns the words of a question from its question word or auxiliary on.
func questionClause(words []grammar.Word) []grammar.Word {
	for len(words) > 2 && questionTails[lowText(&words[len(words)-1])] {
		words = words[:len(words)-1]
	}
	for i := range words {
		low := lowText(&words[i])
		if i > 0 {
			b := lowText(&words[i-1])
			if opens := b == "," || b == ":" || b == "-" || b == "–" || b == "—" || b == ";" || questionLeads[b]; !opens {
				continue
			}
		}
		if words[i].Tag == "IN" && i+1 < len(words) && questionWords[lowText(&words[i+1])] || questionWords[low] || auxiliaryVerb[low] && low[0] != '\'' {
			return words[i:]
		}
	}
	return nil
}

func lowText(w *grammar.Word) string { return strings.ToLower(w.Text) }

// questionParser reads one question.
type questionParser struct {
	words   []grammar.Word
	resolve func(string) string
	at      int // the next word to read
}

// low returns the word at i in lower case; "" behind the end.
func (p *questionParser) low(i int) string {
	if i >= len(p.words) {
		return ""
	}
	return lowText(&p.words[i])
}

// asked is what the question word and the words behind it ask for.
type asked struct {
	kind                  gapKind
	noun, adjective, prep string
	kindOf, plural        bool
}

func (p *questionParser) parse() (f questionFrame, ok bool) {
	a := asked{}
	if p.words[0].Tag == "IN" && questionWords[p.low(1)] {
		a.prep, p.at = p.low(0), 1
	}
	if questionWords[p.low(p.at)] && !p.readQuestionWord(&a) {
		return f, false
	}
	aux := p.low(p.at)
	if !auxiliaryVerb[aux] {
		return p.subjectQuestion(a)
	}
	p.at++
	subject, who, ok := p.readSubject()
	if !ok {
		if a.kind == gapPerson {
			p.at--
			return p.subjectQuestion(a)
		}
		return f, false
	}
	return p.statement(a, aux, subject, who)
}

// readQuestionWord reads what is asked for, up to the auxiliary.
func (p *questionParser) readQuestionWord(a *asked) bool {
	word := p.low(p.at)
	p.at++
	switch word {
	case "who", "whom":
		a.kind = gapPerson
	case "where":
		a.kind = gapPlace
	case "when":
		a.kind = gapTime
		if a.prep == "since" {
			a.kind = gapSpan
		}
	case "how":
		switch next := p.low(p.at); next {
		case "old", "tall", "big", "heavy", "wide", "deep", "large", "high":
			a.kind, a.adjective = gapAmount, next
		case "many", "much":
			a.kind = gapAmount
		case "long":
			a.kind = gapSpan
		case "often":
			a.kind = gapOften
		case "about", "come", "far", "well", "good":
			return false
		default:
			a.kind = gapManner
			return true
		}
		p.at++
		if a.adjective != "" || a.kind != gapAmount {
			return true
		}
	default:
		a.kind = gapThing
	}
	if a.kind != gapThing && a.kind != gapAmount {
		return true
	}
	start := p.at
	for p.at < len(p.words) && p.at-start < 6 && !auxiliaryVerb[p.low(p.at)] {
		p.at++
	}
	if p.at >= len(p.words) || p.at-start == 6 || !auxiliaryVerb[p.low(p.at)] {
		p.at = start
		for p.at < len(p.words) && p.words[p.at].Tag[0] != 'V' && !strings.HasPrefix(p.low(p.at), "suit") && (p.at == start || !strings.HasPrefix(p.low(p.at), "work")) {
			p.at++
		}
	}
	noun := p.words[start:p.at]
	if len(noun) > 2 && kindNouns[lowText(&noun[0])] && lowText(&noun[1]) == "of" {
		a.kindOf, noun = true, noun[2:]
	}
	if slices.ContainsFunc(noun, func(w grammar.Word) bool { return w.Tag == "," || w.Tag == "PRP" }) {
		return false
	}
	a.noun = strings.ToLower(joinWords(noun))
	if n := len(noun); n > 0 {
		last := lowText(&noun[n-1])
		a.plural = strings.HasSuffix(noun[n-1].Tag, "S") && strings.HasPrefix(noun[n-1].Tag, "NN")
		if a.kind == gapThing && (text.IsTimeWord(last) || last == "time" || timeNouns[last]) {
			a.kind, a.noun = gapTime, ""
		}
		if last == "one" || last == "ones" {
			return false
		}
	}
	return true
}

// readSubject reads the subject behind the auxiliary, as who answers calls it.
func (p *questionParser) readSubject() (subject string, who grammaticalPerson, ok bool) {
	if p.at >= len(p.words) {
		return "", 0, false
	}
	switch low := p.low(p.at); low {
	case "you":
		p.at++
		return "I", speakerOne, true
	case "he", "she", "it", "they":
		p.at++
		if subject = p.resolve(low); subject == "" {
			return "", 0, false
		}
		if low == "they" {
			who = otherMany
		} else {
			who = otherOne
		}
		return subject, who, true
	case "i", "we", "this", "that", "these", "those", "there", "my", "our", "me", "us":
		return "", 0, false
	}
	phrase, n := nounPhrase(p.words[p.at:])
	if n == 0 {
		// Nouns that name nothing alone may be somebody's: "your time".
		n = possessed(p.words[p.at:])
	}
	if n == 0 {
		return "", 0, false
	}
	if p.at+n == len(p.words) && n > 2 && doForms[p.low(p.at-1)] {
		n-- // the tagger reads "aunt live" as a compound
	}
	np := p.words[p.at : p.at+n]
	p.at += n
	head := &np[n-1]
	who = otherOne
	if strings.HasSuffix(head.Tag, "S") && strings.HasPrefix(head.Tag, "NN") || pluralKin[lowText(head)] {
		who = otherMany
	}
	switch first := lowText(&np[0]); first {
	case "your":
		return "my " + joinWords(np[1:]), who, true
	case "his", "her", "their", "its":
		owner := p.resolve(first)
		if owner == "" || n < 2 {
			return "", 0, false
		}
		return owner + "'s " + joinWords(np[1:]), who, true
	case "the":
		subject = p.resolve(strings.ToLower(joinWords(np)))
		return subject, who, subject != ""
	default:
		if np[0].Tag != "NNP" {
			return "", 0, false
		}
		return phrase, who, true
	}
}

var doForms = wordSet("do does did")

var pluralKin = wordSet("parents children kids twins people")

// possessed returns the number of words of "your" and nouns.
func possessed(words []grammar.Word) int {
	if len(words) < 2 || lowText(&words[0]) != "your" {
		return 0
	}
	n := 1
	for n < len(words) && isNounOrAdjective(&words[n]) {
		n++
	}
	if n == 1 || !strings.HasPrefix(words[n-1].Tag, "NN") {
		return 0
	}
	return n
}

// ownerOf returns whose something of a subject is.
func ownerOf(subject string) string {
	if subject == "I" {
		return "my"
	}
	return subject + "'s"
}

// statement builds the frame from the subject and the words behind it.
func (p *questionParser) statement(a asked, aux, subject string, who grammaticalPerson) (f questionFrame, ok bool) {
	rest := p.words[p.at:]
	f = questionFrame{kind: a.kind, noun: a.noun, owner: ownerOf(subject), what: a.kind != gapNone, subject: subject + " " + beForm("is", who)}
	if strings.HasPrefix(a.noun, "of ") || hasClause(rest) {
		return f, false
	}
	if slices.ContainsFunc(rest, func(w grammar.Word) bool {
		low := lowText(&w)
		return low == "me" || low == "us" || low == "my" || low == "our" || low == "i" || low == "we"
	}) {
		return f, false
	}
	adverbs := 0
	for adverbs < len(rest) && (rest[adverbs].Tag == "RB" || isAdverb(lowText(&rest[adverbs]))) && (adverbs+1 < len(rest) && rest[adverbs+1].Tag != "IN" || adverbs == 0 && len(rest) > 1) {
		adverbs++
	}
	var adverb strings.Builder
	for i := range adverbs {
		if low := lowText(&rest[i]); low != "ever" && low != "actually" && low != "even" && low != "already" && low != "normally" && low != "n't" {
			adverb.WriteString(low + " ")
		}
	}
	lead := adverb.String()
	rest = rest[adverbs:]
	switch aux {
	case "do", "does", "did":
		return p.withVerb(f, a, aux, subject, lead, who, rest)
	case "have", "has", "'ve", "had":
		if len(rest) > 0 && lowText(&rest[0]) == "got" {
			return p.withVerb(f, a, "do", subject, lead, who, append([]grammar.Word{{Text: "have", Tag: "VB"}}, rest[1:]...))
		}
		if len(rest) == 0 || aux == "had" {
			return f, false
		}
		verb := lowText(&rest[0])
		f.lasting = lastingPerfects[verb] && len(rest) > 2
		have := map[grammaticalPerson]string{speakerOne: "have", otherOne: "has", otherMany: "have"}[who]
		return p.around(f, a, subject+" "+have+" "+lead+verb, subject+" "+have+" not "+verb, rest[1:])
	case "can", "could", "will", "would", "'ll", "'d":
		if len(rest) == 0 || aux == "'d" || aux == "'ll" {
			return f, false
		}
		f.lasting = aux == "can" && abilities[lowText(&rest[0])]
		return p.around(f, a, subject+" "+aux+" "+lead+lowText(&rest[0]), map[bool]string{true: subject + " can't " + lowText(&rest[0])}[aux == "can"], rest[1:])
	}
	be := beForm(aux, who)
	if len(rest) > 1 && rest[0].Tag == "IN" && (a.kind == gapThing || a.kind == gapPerson || a.kind == gapAmount) && subject != "I" && rest[len(rest)-1].Tag != "IN" {
		subject += " " + p.mine(joinWords(rest)) // "your size for the shoes"
		rest = nil
	}
	if len(rest) == 0 {
		switch {
		case a.kind == gapNone || a.kind == gapManner || a.kind == gapOften || a.kind == gapSpan:
			return f, false
		case a.noun != "":
			f.before = f.owner + " " + a.noun + " is"
		default:
			f.before = subject + " " + lead + be
			f.owner, f.noun = "", ""
		}
		f.after = ""
		return f, true
	}
	first := lowText(&rest[0])
	switch {
	case rest[0].Tag == "VBG":
		f.lasting = stateParticiples[first]
	case first == "a" || first == "an" || first == "from" || first == "in" || first == "on" || first == "into" || first == "based" || first == "named" || first == "called":
		f.lasting = first != "on"
	case strings.HasPrefix(rest[0].Tag, "JJ") || rest[0].Tag == "VBN" || rest[0].Tag == "NN" || rest[0].Tag == "VBD":
		f.lasting = !moods[first] && !passingStates[first]
	}
	return p.around(f, a, subject+" "+be+" "+lead+rest[0].Text, subject+" "+be+" not "+rest[0].Text, rest[1:])
}

// hasClause reports whether the words behind the subject of a question have a clause of their own.
func hasClause(rest []grammar.Word) bool {
	return slices.ContainsFunc(rest[min(1, len(rest)):], func(w grammar.Word) bool {
		low := lowText(&w)
		return questionWords[low] || low == "that" || low == "'s" || low == "'ve" || low == "'re" || low == "'d" || w.Tag == "VBZ" || w.Tag == "MD" || w.Tag == "PRP" && low != "you" && low != "it" && low != "them" && low != "her" && low != "him"
	})
}

var abilities = wordSet("swim drive cook ski dance sing speak play ride eat drink read write knit sail")

// beForm returns the form of "be" of an auxiliary for a person.
func beForm(aux string, who grammaticalPerson) string {
	past := aux == "was" || aux == "were"
	switch {
	case past && who == otherMany:
		return "were"
	case past:
		return "was"
	case who == speakerOne:
		return "am"
	case who == otherMany:
		return "are"
	}
	return "is"
}

// withVerb builds the frame of a question with "do".
func (p *questionParser) withVerb(f questionFrame, a asked, aux, subject, lead string, who grammaticalPerson, rest []grammar.Word) (questionFrame, bool) {
	if len(rest) == 0 || rest[0].Tag == "PRP" || rest[0].Tag == "DT" {
		return f, false
	}
	verb := lowText(&rest[0])
	tail := rest[1:]
	if aux != "did" && (verb == "think" || verb == "know" || verb == "mean" || verb == "mind" || verb == "remember" || verb == "want" && a.kind == gapNone || verb == "feel") {
		return f, false
	}
	form := verb
	switch {
	case aux == "did":
		form = pastForm(verb)
	case who == otherOne:
		form, _ = inflect(verb)
	}
	f.lasting = aux != "did" && (stateVerbs[verb] || lead == "still ")
	after := joinWords(tail)
	switch {
	case a.kind == gapThing && verb == "do" && a.noun == "":
		switch {
		case aux == "did":
			return f, false
		case livingAtWork.MatchString(after):
			work := inflectFor("work", who)
			f.before = subject + " " + lead + work + " as"
			f.noun, f.owner = "", ""
			return f, true
		case len(tail) > 0 && (tail[0].Tag == "IN" && lowText(&tail[0]) != "when" && lowText(&tail[0]) != "if"):
			use := inflectFor("use", who)
			f.before, f.after = subject+" "+lead+use, p.mine(after)
			return f, true
		}
		return f, false
	case a.kind == gapThing && a.noun != "" && !a.plural && !a.kindOf && (verb == "have" || verb == "own"):
		f.before, f.after = f.owner+" "+a.noun+" is", p.mine(after)
		return f, true
	case a.kind == gapAmount && a.noun != "" && len(tail) > 0 && tail[0].Tag == "PRP":
		return f, false
	}
	deny := "don't"
	switch {
	case aux == "did":
		deny = "didn't"
	case who == otherOne:
		deny = "doesn't"
	}
	return p.around(f, a, subject+" "+lead+form, subject+" "+deny+" "+lead+verb, tail)
}

func inflectFor(verb string, who grammaticalPerson) string {
	if who == otherOne {
		verb, _ = inflect(verb)
	}
	return verb
}

// around places the gap between the words behind the verb.
func (p *questionParser) around(f questionFrame, a asked, head, denied string, tail []grammar.Word) (questionFrame, bool) {
	switch a.kind {
	case gapNone:
		if or := slices.IndexFunc(tail, func(w grammar.Word) bool { return lowText(&w) == "or" }); or >= 0 {
			// One of two: the answer is the object, or what somebody is.
			if or+1 == len(tail) || slices.ContainsFunc(tail, func(w grammar.Word) bool { return w.Tag == "PRP" || w.Tag[0] == 'V' || w.Tag == "MD" }) {
				return f, false
			}
			f.kind, f.before, f.lasting, f.options = gapThing, head, false, strings.Fields(joinWords(tail))
			if first := lowText(&tail[0]); tail[0].Tag == "IN" && len(tail) > 1 {
				f.before += " " + first
			} else if tail[or+1].Tag == "IN" {
				f.kind = gapManner // "alone or with your parents"
			}
			return f, true
		}
		if anyAt := slices.IndexFunc(tail, isAnyWord); anyAt >= 0 {
			if !f.lasting && !strings.Contains(head, " am ") && !strings.Contains(head, " is ") && !strings.Contains(head, " are ") {
				return f, false
			}
			return anyObject(f, head, tail, anyAt, p), true
		}
		f.before = strings.TrimSpace(head + " " + p.mine(joinWords(tail)))
		if denied != "" && f.lasting {
			f.denied = strings.TrimSpace(denied + " " + p.mine(joinWords(tail)))
		}
		f.adverbial = true
		if at := bareObject(head, tail); at > 0 {
			f.kind, f.noun, f.adverbial = gapThing, strings.ToLower(joinWords(tail[:at])), false
			f.before, f.after = head, p.mine(joinWords(tail[at:]))
			f.object = true
		}
		return f, true
	case gapThing, gapPerson, gapAmount:
		if last := len(tail) - 1; last >= 0 && (tail[last].Tag == "IN" || tail[last].Tag == "TO" || tail[last].Tag == "RP") || a.prep != "" {
			f.before = strings.TrimSpace(head + " " + p.mine(joinWords(tail)) + " " + a.prep)
			return f, true
		}
		at := 0
		for at < len(tail) && (tail[at].Tag == "RP" || tail[at].Tag == "TO" && at+1 < len(tail) && tail[at+1].Tag[0] == 'V' || at > 0 && tail[at-1].Tag == "TO" || tail[at].Tag == "VBG" && at == 0) {
			at++
		}
		if at < len(tail) && (tail[at].Tag == "PRP" || tail[at].Tag == "DT" && lowText(&tail[at]) != "the" && (at+1 == len(tail) || !text.IsTimeWord(tail[at+1].Text) && !timeNouns[lowText(&tail[at+1])])) {
			return f, false // it has an object
		}
		f.before = strings.TrimSpace(head + " " + p.mine(joinWords(tail[:at])))
		f.after = p.mine(joinWords(tail[at:]))
		return f, true
	default:
		if n := len(tail); a.kind == gapPlace && n > 2 && lowText(&tail[n-2]) == "this" && (text.IsTimeWord(lowText(&tail[n-1])) || timeNouns[lowText(&tail[n-1])]) {
			tail = tail[:n-2] // "off to this year"
		}
		f.before = strings.TrimSpace(head + " " + p.mine(joinWords(tail)))
		if a.prep != "" && a.prep != "since" {
			f.before += " " + a.prep
		}
		return f, true
	}
}

func isAnyWord(w grammar.Word) bool {
	low := lowText(&w)
	return low == "any" || low == "anything" || low == "anyone" || low == "anybody"
}

// bareObject returns the number of words of the object behind "have" that an answer names: "pets" in "do you
// have pets at home"; 0 if there is none.
func bareObject(head string, tail []grammar.Word) int {
	verb := lastWord(head)
	if verb != "have" && verb != "has" && verb != "own" && verb != "owns" && verb != "keep" && verb != "keeps" && verb != "need" && verb != "needs" && verb != "speak" && verb != "play" && verb != "take" {
		return 0
	}
	at := 0
	for at < len(tail) && (isNounOrAdjective(&tail[at]) || at == 0 && (tail[0].Tag == "DT" && lowText(&tail[0]) != "the") || lowText(&tail[at]) == "or" || lowText(&tail[at]) == "and") {
		at++
	}
	if at == 0 || tail[at-1].Tag[0] != 'N' {
		return 0
	}
	return at
}

// anyObject returns the frame of a question with "any", whose answer names one.
func anyObject(f questionFrame, head string, tail []grammar.Word, at int, p *questionParser) questionFrame {
	f.kind = gapThing
	end := at + 1
	if lowText(&tail[at]) == "any" {
		for end < len(tail) && (isNounOrAdjective(&tail[end]) || lowText(&tail[end]) == "of") {
			end++
		}
	}
	f.noun = strings.ToLower(joinWords(tail[at+1 : end]))
	f.owner = ""
	before := joinWords(tail[:at])
	if len(f.noun) > 2 && strings.HasPrefix(f.noun[strings.LastIndex(f.noun, " ")+1:], "allerg") {
		subject, _, _ := strings.Cut(head, " ha")
		return anyFrame(strings.TrimSpace(subject), map[bool]grammaticalPerson{true: speakerOne, false: otherOne}[subject == "I"], "have", f.noun, "")
	}
	f.before, f.after = strings.TrimSpace(head+" "+p.mine(before)), p.mine(joinWords(tail[end:]))
	return f
}

// anyFrame returns the frame of "do you have any", and of "any" alone.
func anyFrame(subject string, who grammaticalPerson, verb, noun, after string) questionFrame {
	f := questionFrame{kind: gapThing, noun: strings.ToLower(noun), after: after}
	if strings.HasPrefix(f.noun[strings.LastIndex(f.noun, " ")+1:], "allerg") {
		f.before = subject + " " + beForm("is", who) + " allergic to"
		return f
	}
	form := inflectFor(verb, who)
	f.before = subject + " " + form
	return f
}

// subjectQuestion returns the frame of a question for its subject, such as "Who looks after the boat?".
func (p *questionParser) subjectQuestion(a asked) (f questionFrame, ok bool) {
	rest := p.words[p.at:]
	if suits := a.kind == gapTime && suitsMe.MatchString(joinWords(rest)); suits {
		return questionFrame{kind: gapTime, after: p.mine(joinWords(rest)), bare: true}, true
	}
	isVerb := len(rest) > 1 && (rest[0].Tag[0] == 'V' || rest[0].Tag == "MD")
	if a.kind != gapPerson || !isVerb || slices.ContainsFunc(rest, func(w grammar.Word) bool {
		low := lowText(&w)
		return low == "i" || low == "we" || low == "me" || low == "us" || low == "my" || low == "our" || low == "it" || low == "that" || low == "this" || low == "there" || low == "she" || low == "he"
	}) {
		return f, false
	}
	verb := joinWords(rest)
	if first := lowText(&rest[0]); first == "'s" {
		verb = "is" + verb[len("'s"):]
	}
	return questionFrame{kind: gapPerson, after: p.mine(verb)}, true
}

// suitsMe matches the end of a question for the time that somebody likes.
var suitsMe = regexp.MustCompile(`(?i)^(?:suits? you(?: best)?|(?:is|are|works?|would be|would work) (?:best|good|fine|convenient|better) for you|works? for you(?: best)?)$`)

var yourWords = regexp.MustCompile(`(?i)\b(?:your|yours|yourself|you)\b`)

// mine returns words of a question in the words of who answers.
func (p *questionParser) mine(s string) string {
	return yourWords.ReplaceAllStringFunc(s, func(w string) string {
		return map[string]string{"your": "my", "yours": "mine", "yourself": "myself", "you": "me"}[strings.ToLower(w)]
	})
}

// irregularPast has the past of common irregular verbs.
var irregularPast = func() map[string]string {
	m := map[string]string{}
	for pair := range strings.FieldsSeq(`go:went take:took get:got buy:bought have:had do:did see:saw eat:ate meet:met leave:left grow:grew choose:chose pay:paid find:found make:made
		write:wrote break:broke lose:lost win:won hear:heard spend:spent sell:sold teach:taught come:came drive:drove give:gave become:became begin:began know:knew send:sent speak:spoke
		read:read hurt:hurt put:put run:ran sit:sat tell:told say:said think:thought bring:brought build:built catch:caught cost:cost cut:cut draw:drew drink:drank fall:fell feel:felt fly:flew
		forget:forgot hit:hit hold:held keep:kept lend:lent let:let ride:rode ring:rang sing:sang sleep:slept stand:stood swim:swam throw:threw understand:understood wear:wore quit:quit set:set study:studied try:tried marry:married move:moved`) {
		base, past, _ := strings.Cut(pair, ":")
		m[base] = past
	}
	return m
}()

// pastForm returns the past of a verb.
func pastForm(verb string) string {
	switch past := irregularPast[verb]; {
	case past != "":
		return past
	case strings.HasSuffix(verb, "e"):
		return verb + "d"
	case strings.HasSuffix(verb, "y") && len(verb) > 2 && !strings.ContainsRune("aeiou", rune(verb[len(verb)-2])):
		return verb[:len(verb)-1] + "ied"
	}
	return verb + "ed"
}
