package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// This file replaces the pronoun at the beginning of a sentence by what it refers to: the last
// person, animal or thing that fits it, said in the same exchange. Where two fit, nothing is
// replaced.

// gender is what a pronoun must agree with.
type gender int

const (
	female gender = iota
	male
	anyone // a person of unknown gender
	animal
	object
)

// referent is what a pronoun may refer to, as the speaker calls it: "my sister Clara".
type referent struct {
	phrase string
	gender gender
}

// The relatives, other people and pets of a speaker, by gender.
var (
	femaleKin = wordSet(`sister mother mom mum mama mommy wife daughter aunt grandmother grandma granny niece girlfriend fiancée stepmother stepsister godmother sister-in-law mother-in-law`)
	maleKin   = wordSet(`brother father dad daddy papa husband son uncle grandfather grandpa nephew boyfriend fiancé stepfather stepbrother godfather brother-in-law father-in-law`)
	petKinds  = wordSet(`dog cat puppy kitten pet bird horse hamster rabbit bunny parrot turtle tortoise guinea-pig beagle poodle labrador husky retriever greyhound terrier collie dachshund
		pup kitty pony goat snake lizard goldfish`)

	ownPeople = regexp.MustCompile(`\b(?:[Mm]y|[Oo]ur|[Yy]our) ((?:[\p{Ll}-]+ ){0,2}?)(` + kinWords + `|granny|doctor|dentist|landlord|landlady|therapist|manager|supervisor|professor|trainer|sister-in-law|brother-in-law|mother-in-law|father-in-law|hamster|rabbit|parrot|beagle|poodle|labrador)\b(?:,? (?:is |named |called |is called |is named )?(\p{Lu}[\p{L}'.-]*(?: \p{Lu}[\p{L}-]+)?))?`)
	ownPet    = regexp.MustCompile(`\b(?:have|has|had|got|adopted|bought|own|rescued|get|getting) (?:an?|another|our|my) ((?:[\p{Ll}-]+ ){0,2}?)([\p{Ll}-]+)\b(?:,? (?:named|called) (\p{Lu}[\p{L}-]*))?`)
	metPeople = regexp.MustCompile(`\b(?:met|with|invited|helped|married|dating|know|named|called|friend|colleague|neighbor|boss) (?:Mr\.? |Mrs\.? |Ms\.? |Dr\.? )?(\p{Lu}\p{Ll}+)\b`)
	ownThing  = regexp.MustCompile(`\b(?:I|We|we)(?:'ve| have)? (?:just |recently |finally |also )?(?:bought|have|own|rented|built|wrote|painted|opened|moved into|live in) (?:an?|my|our) `)
	leading   = regexp.MustCompile(`^(She|He|It|Her|His|Its)('s|'ll|'d|'ve)?(\s+)`)
)

// referentsIn returns what later pronouns may refer to, in the order of the sentence.
func referentsIn(s string) []referent {
	var out []referent
	add := func(phrase string, g gender) {
		for i := range out {
			if strings.EqualFold(out[i].phrase, phrase) || strings.HasPrefix(phrase, out[i].phrase+" ") {
				out[i] = referent{phrase, g}
				return
			}
			if strings.HasSuffix(out[i].phrase, " "+phrase) {
				return
			}
		}
		out = append(out, referent{phrase, g})
	}
	for _, m := range ownPeople.FindAllStringSubmatch(s, 8) {
		kin := strings.ToLower(m[2])
		g := anyone
		switch {
		case femaleKin[kin]:
			g = female
		case maleKin[kin]:
			g = male
		case petKinds[kin]:
			g = animal
		}
		phrase := "my " + strings.ToLower(m[1]) + kin
		if name := strings.TrimRight(strings.TrimSuffix(m[3], "'s"), "."); name != "" && !text.IsTimeWord(name) && !strings.EqualFold(name, "I") && !strings.HasPrefix(name, "I'") {
			phrase += " " + name
		}
		add(phrase, g)
	}
	for _, m := range ownPet.FindAllStringSubmatch(s, 4) {
		if kind := strings.ToLower(m[2]); petKinds[kind] {
			phrase := "my " + kind
			if m[3] != "" {
				phrase += " " + m[3]
			}
			add(phrase, animal)
		}
	}
	for _, m := range metPeople.FindAllStringSubmatch(s, 8) {
		if !text.IsTimeWord(m[1]) && !notNames[strings.ToLower(m[1])] {
			add(m[1], anyone)
		}
	}
	if at := ownThing.FindStringIndex(s); at != nil {
		words := grammar.English(s)
		for i := range words {
			if words[i].Start < at[1] {
				continue
			}
			phrase, n := nounPhrase(words[i:])
			if last := strings.ToLower(lastWord(phrase)); n > 0 && !petKinds[last] && !femaleKin[last] && !maleKin[last] && !startsUpper(phrase) && !strings.HasSuffix(last, "s") {
				add("my "+phrase, object)
			}
			break
		}
	}
	return out
}

// referentsBefore returns what was spoken of before an utterance: by the same speaker, and in what
// the other side said directly before it.
func referentsBefore(all []memory.Utterance, i int) [][]referent {
	var out [][]referent
	for j := max(0, i-3); j < i; j++ {
		u := all[j]
		same := u.Role == all[i].Role && strings.EqualFold(u.Name, all[i].Name)
		if !same && j < i-1 {
			continue
		}
		for _, s := range utteredSentences(u.Content) {
			if isHan(s) {
				continue
			}
			if !same {
				// What is theirs is not the speaker's; what is "yours" is.
				s = ownWords.ReplaceAllString(s, "their")
			}
			out = append(out, referentsIn(s))
		}
	}
	return out
}

var ownWords = regexp.MustCompile(`(?i)\b(?:my|our)\b`)

// fitting returns the last referent that agrees with a pronoun; ok is false if there is none or if
// the sentence has two.
func fitting(before [][]referent, fits func(gender) bool) (r referent, ok bool) {
	for i := len(before) - 1; i >= 0 && i >= len(before)-4; i-- {
		var found []referent
		for _, r := range before[i] {
			if fits(r.gender) {
				found = append(found, r)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], true
		case len(found) > 1:
			return referent{}, false
		}
	}
	return referent{}, false
}

// resolvePronoun replaces the pronoun at the beginning of a sentence; ok is false if there is none,
// or if what it refers to is not certain.
func resolvePronoun(s string, before [][]referent) (resolved string, ok bool) {
	plain := stripFiller(s)
	if plain != "" {
		plain = strings.ToUpper(plain[:1]) + plain[1:]
	}
	m := leading.FindStringSubmatch(plain)
	if m == nil || strings.Contains(plain, "?") {
		return "", false
	}
	pronoun := strings.ToLower(m[1])
	rest := plain[len(m[0]):]
	var r referent
	switch pronoun {
	case "she", "her":
		r, ok = fitting(before, func(g gender) bool { return g == female || g == anyone || g == animal })
	case "he", "his":
		r, ok = fitting(before, func(g gender) bool { return g == male || g == anyone || g == animal })
	default:
		// "It" often refers to what happened, so the thing must be said directly before, and
		// more must be said of it than praise.
		if len(before) > 0 {
			r, ok = fitting(before[len(before)-1:], func(g gender) bool { return g == animal || g == object })
		}
		ok = ok && !generalRemark.MatchString(plain) && countContentWords(lowerWords(rest)) >= 1 && saysValue.MatchString(plain)
	}
	if !ok {
		return "", false
	}
	subject := strings.ToUpper(r.phrase[:1]) + r.phrase[1:]
	switch {
	case pronoun == "her" || pronoun == "his" || pronoun == "its":
		return subject + "'s " + rest, m[2] == ""
	case m[2] == "'s":
		verb := " is "
		if words := grammar.English(rest); len(words) > 0 && words[0].Tag == "VBN" && !beingWords[strings.ToLower(words[0].Text)] {
			verb = " has "
		}
		return subject + verb + rest, true
	case m[2] == "'ve" || m[2] == "'d":
		return subject + map[string]string{"'ve": " has ", "'d": " would "}[m[2]] + rest, true
	case m[2] == "'ll":
		return subject + " will " + rest, true
	}
	return subject + " " + rest, true
}

// saysValue matches what is said of a thing for long: a name, a place, a number, what it has or is
// made of.
var (
	saysValue  = regexp.MustCompile(`^It(?:'s| is| was| has| had| belongs| costs?| comes| came)? (?:called|named|in|on|near|from|made|about|an?|\d|for|with|costs?|belongs)?\b|^Its (?:name|color|colour|address|owner|author|title)`)
	beingWords = wordSet("called named born based married engaged divorced retired located made written built")
)

// hanReferent matches the persons and animals of a Chinese speaker, hanPronoun a sentence about one.
var (
	hanReferent = regexp.MustCompile(`我(?:的|家的?)?(` + hanKin + `)(?:叫(\p{Han}{2,3}))?|(?:养了?|有)了?一?[只条匹](\p{Han}{0,2}?(?:狗|猫|兔子|鸟|鱼|马|仓鼠|乌龟))`)
)

// hanIntroduced matches what a sentence introduces before it says more of it, as in "一只英短，叫豆包，它半夜…".
var hanIntroduced = regexp.MustCompile(`[一两几](?:只|条|匹|位|名|台|辆|本)\p{Han}{1,6}[，,]`)

// hanResolvePronoun replaces the pronouns of a Chinese sentence for a person or an animal, where the
// sentence before names exactly one and this one names none. ok is false if a pronoun is left.
func hanResolvePronoun(s, before string) (resolved string, ok bool) {
	words := grammar.Chinese(s)
	pronoun := func(w grammar.Word) bool { return w.Text == "她" || w.Text == "他" || w.Text == "它" }
	first := slices.IndexFunc(words, pronoun)
	if first < 0 {
		return s, true
	}
	if named := s[:words[first].Start]; hanReferent.MatchString(named) || hanIntroduced.MatchString(named) {
		return s, true // it is named in this sentence
	}
	found := hanReferent.FindAllStringSubmatch(before, 3)
	if len(found) != 1 || hanQuestion.MatchString(s) {
		return s, false
	}
	who := found[0][1]
	if who == "" {
		who = found[0][3]
	}
	for _, word := range slices.Backward(words) {
		if pronoun(word) {
			s = s[:word.Start] + "我的" + who + s[word.End:]
		}
	}
	return s, true
}

// hanDangling matches what a Chinese sentence refers to without naming it.
var hanDangling = regexp.MustCompile(`(?:这|那)(?:个|些|里|儿|次|件|种|样|款|部|本|家|位|天|是|就|真|太)|^(?:这|那|它)|它们|他们|她们|前者|后者|另一个`)

// hanThisTime matches times that say which one they are.
var hanThisTime = regexp.MustCompile(`(?:这|那)个?(?:周末?|星期|礼拜|月|季度|学期|暑假|寒假|春节|春天|夏天|秋天|冬天|年|几[天年]|段时间|时候?|些年)`)

// hanStandsAlone reports whether a Chinese sentence names what it is about.
func hanStandsAlone(s string) bool {
	return !hanDangling.MatchString(hanThisTime.ReplaceAllString(s, ""))
}

// hanSentenceBefore returns the last Chinese sentence before an utterance: of the same speaker, or of what
// the other side said directly before it, with "your" for the speaker's.
func hanSentenceBefore(all []memory.Utterance, i int) string {
	for j := i - 1; j >= max(0, i-3); j-- {
		u := all[j]
		same := u.Role == all[i].Role && strings.EqualFold(u.Name, all[i].Name)
		if !same && j < i-1 {
			continue
		}
		sentences := utteredSentences(u.Content)
		for _, s := range slices.Backward(sentences) {
			if !isHan(s) {
				continue
			}
			if !same {
				s = strings.NewReplacer("我", "", "你", "我", "您", "我").Replace(s)
			}
			if hanReferent.MatchString(s) {
				return s
			}
		}
	}
	return ""
}
