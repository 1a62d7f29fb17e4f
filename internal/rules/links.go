package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file decides whether two notes are about the same thing, event or interest. The decision is a logistic regression
// over a few features. Its weights are learned from judged pairs of notes by TestLinkWeights (docs/reviews/links.md).

// linkFeatures are the features of two notes, each from 0 to 1, with their weights.
var linkFeatures = []struct {
	name   string
	weight float64
}{
	{"other person", -3.29}, // both tell of somebody, and not of the same person
	{"same day", 1.46},
	{"rarity", -1.53}, // of the rarest telling stem that both have; 1: no other neighbor has it, so nothing else is about it
	{"nearest", 0.55}, // no neighbor is more similar
	{"telling", 0.89}, // how many telling stems both have, of four
	{"phrase", 0.78},  // both have a keyword of several words
	{"overlap", 0.47}, // the share of words that both have, of the shorter note
}

const (
	linkBias = 2.03
	// minLinked is the least probability with which notes are linked. It is chosen for nine right links of ten in sets
	// of conversations that did not take part in the choice of the weights.
	minLinked = 0.75
	// manyTelling is the number of telling stems beyond which more say nothing new.
	manyTelling = 4
)

// linkedPair is the new note and a neighbor.
type linkedPair struct {
	shared   []string // stems of the keywords of both
	telling  []string // those of them that say what a note is about
	features []float64
}

// probability returns how likely both notes are about the same thing.
func (p *linkedPair) probability() float64 {
	sum := linkBias
	for i, x := range p.features {
		sum += linkFeatures[i].weight * x
	}
	return logistic(sum)
}

// linkedNote is what two notes are compared by.
type linkedNote struct {
	keywordStems
	about string          // the folded name of the person of whom the note tells; "" if it is somebody's own words
	terms map[string]bool // stems of what it says, without small talk and names of speakers
}

// linkedPairs compares the new note with every neighbor.
func linkedPairs(in amem.EvolveInput) []linkedPair {
	names, people := speakerNames(in), peopleAround(in)
	own := readLinked(in.New, names, people)
	others := make([]linkedNote, len(in.Neighbors))
	pairs := make([]linkedPair, len(others))
	notesWith := map[string]int{}
	top := 0.0
	for i, n := range in.Neighbors {
		others[i] = readLinked(n, names, people)
		pairs[i].shared = own.shared(&others[i].keywordStems)
		for _, st := range pairs[i].shared {
			notesWith[st]++
			if !isWeakAlone(st) && !people[st] {
				pairs[i].telling = append(pairs[i].telling, st)
			}
		}
		top = max(top, n.Score)
	}
	for i := range pairs {
		p, n, o := &pairs[i], &in.Neighbors[i], &others[i]
		rarity := 0.0
		for _, st := range p.telling {
			rarity = max(rarity, 1/float64(notesWith[st]))
		}
		common := 0
		for t := range o.terms {
			if own.terms[t] && !people[t] {
				common++
			}
		}
		p.features = []float64{
			indicator(own.about != "" && o.about != "" && own.about != o.about),
			indicator(in.New.Time.Sub(n.Time).Abs() < 24*time.Hour),
			rarity,
			indicator(n.Score == top),
			float64(min(len(p.telling), manyTelling)) / manyTelling,
			indicator(sharePhrase(in.New.Keywords, n.Keywords)),
			float64(common) / float64(max(1, min(len(own.terms), len(o.terms)))),
		}
		slices.SortStableFunc(p.shared, func(a, b string) int { return notesWith[a] - notesWith[b] })
	}
	return pairs
}

// readLinked reads a note for a comparison. names are those of speakers, people the stems of those that notes tell of.
func readLinked(n memory.Described, names, people map[string]bool) linkedNote {
	out := linkedNote{keywordStems: stemKeywords(n, names), terms: map[string]bool{}}
	if name := personTold(n.Content); people[text.Stem(name, out.lang)] {
		out.about = name
	}
	body, _ := splitSpeaker(n.Content, "")
	for _, w := range linkWords(body, out.lang) {
		if !text.IsStopWord(w, out.lang) && !names[w] && !numberWords[w] && !text.IsSmallTalk(w) && !text.IsTimeWord(w) {
			out.terms[text.Stem(w, out.lang)] = true
		}
	}
	return out
}

var (
	openingName = regexp.MustCompile(`^(\p{Lu}\p{Ll}+)(?:['’]s)?\s`)
	// namedPeople match the name of a person behind what the person is to somebody.
	namedPeople    = regexp.MustCompile(`\b(?i:friends?|classmates?|neighbou?rs?|colleagues?|cousins?|sisters?|brothers?|sons?|daughters?|wife|husband|uncle|aunt),? (\p{Lu}\p{Ll}+)\b`)
	hanNamedPeople = regexp.MustCompile(`(?:` + hanKin + `|好友|闺蜜|和|与|跟|给)(\p{Lu}\p{Ll}+)`)
)

// personTold returns the folded name with which a note begins that tells of a person, "" if there is none.
func personTold(content string) string {
	body, speaker := splitSpeaker(content, "")
	if speaker != "" {
		return ""
	}
	if isHan(body) {
		return text.Fold(strings.TrimSpace(body[:max(0, hanNameAt(body, ""))]))
	}
	if m := openingName.FindStringSubmatch(body); len(m) > 1 && isSubjectName(m[1]) && !text.IsStopWord(strings.ToLower(m[1]), text.English) {
		return text.Fold(m[1])
	}
	return ""
}

// peopleAround returns the stems of the names of people in all notes. Two notes with somebody in common need not be about
// the same thing.
func peopleAround(in amem.EvolveInput) map[string]bool {
	notes := append([]memory.Described{in.New}, in.Neighbors...)
	known := knownNames(notes)
	people := map[string]bool{}
	for _, n := range notes {
		lang, _ := text.Guess(n.Content)
		form := namedPeople
		if lang == text.Chinese {
			form = hanNamedPeople
			people[text.Stem(personTold(n.Content), lang)] = true
		} else {
			told := peopleIn([]string{n.Content})
			told[personTold(n.Content)] = true
			for name := range told {
				if known[name] {
					people[text.Stem(name, lang)] = true
				}
			}
		}
		for _, m := range form.FindAllStringSubmatch(n.Content, -1) {
			people[text.Stem(text.Fold(m[1]), lang)] = true
		}
	}
	delete(people, "")
	return people
}

var (
	anyWord = regexp.MustCompile(`\p{L}+`)
	doer    = regexp.MustCompile(`^\p{Lu}\p{Ll}+ (?:\p{Ll}+ly )?(?:\p{Ll}+ed|felt|went|won|met|took|told|gave|bought|ate|came|left)\b`)
)

// knownNames returns the folded words with a capital that are names by their use: within a sentence, in two notes, or of
// somebody who has done something, and nowhere without the capital. At the beginning of a sentence any word has one.
func knownNames(notes []memory.Described) map[string]bool {
	uses, small := map[string]int{}, map[string]bool{}
	for _, n := range notes {
		body, _ := splitSpeaker(n.Content, "")
		inNote := map[string]int{}
		for _, s := range text.Sentences(body) {
			for i, w := range anyWord.FindAllString(s, -1) {
				switch low := text.Fold(w); {
				case !startsUpper(w):
					small[low] = true
				case i > 0 || doer.MatchString(s):
					inNote[low] = 2
				default:
					inNote[low] = max(inNote[low], 1)
				}
			}
		}
		for w, n := range inNote {
			uses[w] += n
		}
	}
	known := map[string]bool{}
	for w, n := range uses {
		known[w] = n > 1 && !small[w]
	}
	return known
}
