package rules

import (
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
)

// This file says of what kind things are that somebody has, does or belongs to for some time, so that "the van" can
// stand for "a 2009 Transporter" and "the course" for "a welding course".

// thingClass is a kind of what somebody has, does or belongs to for some time.
type thingClass string

const (
	classVehicle  thingClass = "vehicle"
	classPet      thingClass = "pet"
	classHome     thingClass = "home"
	classJob      thingClass = "job"
	classCourse   thingClass = "course"
	classGroup    thingClass = "group"
	classPartner  thingClass = "partner"
	classTrip     thingClass = "trip"
	classMedicine thingClass = "medicine"
)

// classOfNoun maps the stems of nouns to their classes.
var classOfNoun = func() map[string]thingClass {
	out := map[string]thingClass{}
	for class, nouns := range map[thingClass]string{
		classVehicle:  "car van truck lorry motorbike motorcycle scooter moped bike bicycle caravan camper campervan trailer boat dinghy kayak tractor jeep pickup estate hatchback convertible vehicle",
		classPet:      "pet dog cat puppy kitten bird hamster rabbit bunny parrot budgie canary turtle tortoise beagle poodle labrador husky retriever greyhound terrier collie dachshund pony horse goat hen chicken duck snake lizard goldfish ferret sheep mare donkey",
		classHome:     "flat apartment house home room bungalow cottage studio farmhouse houseboat place dorm address",
		classJob:      "job work position post career shift apprenticeship internship employer",
		classCourse:   "course class lesson degree training seminar program programme diploma tuition certificate",
		classGroup:    "club choir team orchestra band group crew league association chorus ensemble society squad gym",
		classPartner:  "boyfriend girlfriend partner fiancé fiancée fiance fiancee engagement wedding marriage",
		classTrip:     "trip holiday vacation journey cruise flight honeymoon tour getaway",
		classMedicine: "medicine medication tablet pill drug prescription injection",
	} {
		for noun := range strings.FieldsSeq(nouns) {
			out[stemOf(noun)] = class
		}
	}
	return out
}()

// generalNouns are the stems of the nouns that stand for anything of their class.
var generalNouns = func() map[string]bool {
	out := map[string]bool{}
	for noun := range strings.FieldsSeq("vehicle pet home place job work position post course class lesson club group team trip holiday vacation medicine medication tablet pill flat apartment house") {
		out[stemOf(noun)] = true
	}
	return out
}()

// namedThing is a thing as a sentence names it.
type namedThing struct {
	class  thingClass // "" if the noun says none
	head   string     // the stem of the noun
	words  []string   // the stems of all words, with the noun
	proper bool       // it has a name only: "a Triumph"
	behind string     // the word before the phrase, without articles: a verb or a preposition
}

// isGeneral reports whether a thing is named by its class alone: "the course".
func (n *namedThing) isGeneral() bool { return generalNouns[n.head] && len(n.words) == 1 }

// thingsNamed returns the things that a text names, in order. A text may lack its subject.
func thingsNamed(s string) []namedThing {
	if strings.HasPrefix(s, " ") {
		s = "They" + s // or the tagger takes the verb for a noun
	}
	words := grammar.English(s)
	var out []namedThing
	for i := 0; i < len(words); {
		end := i
		for end < len(words) && (isNounOrAdjective(&words[end]) || words[end].Tag == "CD" || isNameOfThing(words, end)) {
			end++
		}
		last := end
		for last > i && !strings.HasPrefix(words[last-1].Tag, "NN") && !isNameOfThing(words, last-1) && !isUnknownNoun(words, last-1) {
			last--
		}
		if last == i {
			i = max(end, i+1)
			continue
		}
		thing := namedThing{head: stemOf(lowText(&words[last-1])), proper: startsUpper(words[last-1].Text)}
		for _, w := range words[i:last] {
			if low := lowText(&w); w.Tag != "CD" && !text.IsTimeWord(low) && !emphasisWords[low] && low != "old" && low != "new" && low != "own" {
				thing.words = append(thing.words, stemOf(low))
			}
		}
		thing.class = classOfNoun[thing.head]
		for at := i - 1; at >= 0; at-- {
			if !isDeterminer(&words[at]) && words[at].Tag != "POS" {
				thing.behind = lowText(&words[at])
				break
			}
		}
		if len(thing.words) > 0 {
			out = append(out, thing)
		}
		i = end
	}
	return out
}

// isNamedBy reports whether the words that name a thing all name another one too, of the same noun, or are the first word
// of its name: "Hollis" of "Hollis Freight".
func (n *namedThing) isNamedBy(other *namedThing) bool {
	if n.proper && other.proper && len(n.words) == 1 && len(other.words) > 1 && other.words[0] == n.words[0] {
		return true
	}
	return n.head == other.head && !slices.ContainsFunc(n.words, func(w string) bool { return !slices.Contains(other.words, w) })
}

// isNameOfThing reports whether the word at i is a noun that the tagger takes for another word, as it does with names of
// medicines: a word behind a verb or a preposition that says no time.
func isNameOfThing(words []grammar.Word, i int) bool {
	low := lowText(&words[i])
	if i == 0 || text.IsStopWord(low, text.English) || isAdverb(low) || strings.HasSuffix(low, "ing") {
		return false
	}
	before := &words[i-1]
	isLast := i+1 == len(words) || !isNounOrAdjective(&words[i+1])
	if words[i].Tag == "JJ" && isLast && !knownAdjectives[low] && before.Tag == "VBZ" && !beForms[lowText(before)] {
		return true
	}
	isVerb := strings.HasPrefix(words[i].Tag, "VB") || words[i].Tag == "RB" || words[i].Tag == "FW"
	return isVerb && (before.Tag == "VBZ" || before.Tag == "VBD" || before.Tag == "VBG" || before.Tag == "IN" && lowText(before) != "by") && !beForms[lowText(before)]
}
