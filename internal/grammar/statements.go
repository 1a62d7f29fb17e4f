package grammar

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxStatement is the number of bytes above which a sentence is not split.
const maxStatement = 400

// Statements splits a sentence in the third person into one sentence for each thing that it says of
// its subject: "Ana likes tea and coffee." is "Ana likes tea." and "Ana likes coffee." It splits
// lists behind verbs of lasting states, in the present, where each item can be understood alone. It
// does not split what happened, and any other sentence is returned as it is.
func Statements(s string) []string {
	parts := split(s)
	if parts == nil {
		return []string{s}
	}
	var out []string
	for _, p := range parts {
		out = append(out, Statements(p)...)
	}
	return out
}

// split splits a sentence at one list; nil if it has none.
func split(s string) []string {
	if len(s) > maxStatement || strings.ContainsAny(s, "?\"“”()") {
		return nil
	}
	if strings.ContainsFunc(s, isHan) {
		return splitHanList(s)
	}
	words := English(strings.TrimRight(s, ".!。 "))
	if slices.ContainsFunc(words, func(w Word) bool {
		return w.Text == "." || w.Text == "!" || w.Text == "—" || w.Text == "–" || w.Text == "-"
	}) {
		return nil
	}
	if m := worksAsAt.FindStringSubmatch(s); m != nil {
		return []string{m[1] + m[2] + ".", m[1] + m[3]}
	}
	if parts := splitPredicates(words); parts != nil {
		return parts
	}
	return splitList(words)
}

// worksAsAt matches a job with its place, each of which may change without the other.
var worksAsAt = regexp.MustCompile(`^(\p{Lu}[^,;]{0,60}? works )(as an? [\p{Ll} -]{3,40}?) ((?:at|for) \p{Lu}[\p{L}&. -]{1,40})$`)

// render returns words as a sentence, with the spaces that they had.
func render(groups ...[]Word) string {
	var b strings.Builder
	for _, group := range groups {
		for i, w := range group {
			if b.Len() > 0 && (i == 0 || w.Start > group[i-1].End) {
				b.WriteByte(' ')
			}
			b.WriteString(w.Text)
		}
	}
	return b.String() + "."
}

func lower(w *Word) string { return strings.ToLower(w.Text) }

// verbEnd returns the index behind the verb of a sentence and its auxiliaries, and the verb in its
// base form; ok is false if the sentence does not begin with a simple subject and a verb of a
// lasting state in the present.
func verbEnd(words []Word) (end int, verb string, negated, ok bool) {
	at := 0
	for at < len(words) && at < 7 && !startsVerb(&words[at]) {
		switch words[at].Text {
		case ",", "and", "or", ";", ":", "who", "which", "that", "to":
			return 0, "", false, false
		}
		if tag := words[at].Tag; at > 0 && (tag == "MD" || tag[0] == 'V' && tag != "VBG") {
			return 0, "", false, false
		}
		at++
	}
	if at == 0 || at == len(words) || at == 7 {
		return 0, "", false, false
	}
	if first := lower(&words[0]); (first == "on" || first == "in") && words[0].Text != first {
		return 0, "", false, false // it happened on a day
	}
	for at < len(words) {
		w := lower(&words[at])
		switch {
		case w == "not" || w == "n't" || w == "never" || w == "longer":
			negated = true
		case w == "does" || w == "do" || w == "also" || w == "still" || w == "really" || w == "no" || w == "now" || w == "currently" || w == "always" || words[at].Tag == "RB" && strings.HasSuffix(w, "ly"):
		case w == "is" || w == "'s" && words[at].Tag == "VBZ" || w == "are":
			if at+1 < len(words) && (lower(&words[at+1]) == "not" || lower(&words[at+1]) == "n't" || lower(&words[at+1]) == "no") {
				negated = true
			}
			return at + 1, "be", negated, true
		case startsVerb(&words[at]) || lasting[w] != "" && at > 0 && (negated || lower(&words[at-1]) == "do" || lower(&words[at-1]) == "does"):
			return at + 1, base(w), negated, true
		default:
			return 0, "", false, false
		}
		at++
	}
	return 0, "", false, false
}

// startsVerb reports whether a word behind a subject begins the verb.
func startsVerb(w *Word) bool {
	low := lower(w)
	return auxiliary[low] && (low != "'s" || w.Tag == "VBZ") || lasting[base(low)] != "" && base(low) != low
}

// auxiliary are words that may come before the verb.
var auxiliary = wordSet("is are does do not n't never also still really no now currently always 's")

// lasting maps verbs of lasting states, which hold of each item of a list, to themselves.
var lasting = func() map[string]string {
	m := map[string]string{}
	for w := range wordSet(`like love enjoy adore hate dislike detest prefer eat drink take speak play own have teach study collect need use
		grow avoid practice practise collect`) {
		m[w] = w
	}
	return m
}()

// base returns the base form of a verb in the present.
func base(w string) string {
	switch {
	case w == "has":
		return "have"
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "sses"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss"):
		return w[:len(w)-1]
	}
	return w
}

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// objectOf are the words between "is" and a list: "is allergic to nuts and milk".
var objectOf = []string{"allergic to", "intolerant to", "intolerant of", "interested in", "fond of", "afraid of", "scared of", "a fan of", "a big fan of", "a huge fan of",
	"good at", "into", "keen on", "passionate about", "addicted to", "fluent in", "afraid of"}

// secondPredicate are the verbs that begin a second predicate of the same subject.
var secondPredicate = wordSet("is lives works likes loves hates dislikes prefers has speaks owns studies plays teaches eats drinks takes enjoys collects does")

// splitPredicates splits "Ana is a nurse and lives in Rome" before the second verb, and "Ana is
// vegetarian and allergic to nuts" between the adjectives.
func splitPredicates(words []Word) []string {
	end, verb, negated, ok := verbEnd(words)
	if !ok {
		return nil
	}
	for i := end + 1; i+1 < len(words); i++ {
		w := lower(&words[i])
		if opensClause[w] {
			return nil
		}
		joint := i
		for joint < len(words) && (words[joint].Text == "," || words[joint].Text == ";" || lower(&words[joint]) == "and" || lower(&words[joint]) == "but") {
			joint++
		}
		if joint == i || joint+1 >= len(words) {
			continue
		}
		subject := words[:subjectEnd(words)]
		rest := words[joint:]
		next := lower(&rest[0])
		for len(rest) > 2 && (next == "also" || next == "now" || next == "still" || next == "currently") {
			rest, next = rest[1:], lower(&rest[1])
		}
		switch {
		case secondPredicate[next] && rest[0].Tag != "NNS":
			return []string{render(words[:i]), render(subject, words[joint:])}
		case verb == "be" && !negated && isState(words[end:i]) && isState(words[joint:]):
			return []string{render(words[:i]), render(words[:end], words[joint:])}
		}
	}
	return nil
}

// subjectEnd returns the index of the first word behind the subject.
func subjectEnd(words []Word) int {
	for i := range words {
		if i > 0 && startsVerb(&words[i]) {
			return i
		}
	}
	return len(words)
}

// opensClause are words behind which another clause may hold what a list holds.
var opensClause = wordSet("because since when while if that which who whom whose where so although though unless until than but both between either neither as why how what")

// lastingStates are adjectives that say what somebody is for long.
var lastingStates = wordSet(`vegetarian vegan pescatarian allergic intolerant diabetic asthmatic pregnant married single divorced engaged widowed retired unemployed
	left-handed right-handed deaf blind color-blind colorblind jewish muslim christian catholic buddhist hindu atheist bilingual self-employed celiac lactose-intolerant gluten-free`)

// isState reports whether words behind "is" say what somebody is for long: an adjective of that
// kind, or a noun with an article.
func isState(words []Word) bool {
	i := 0
	for i < len(words) && (words[i].Tag == "RB" || lower(&words[i]) == "also" || lower(&words[i]) == "strictly") {
		i++
	}
	if i >= len(words) {
		return false
	}
	w := lower(&words[i])
	if (w == "a" || w == "an") && i+1 < len(words) {
		return !slices.ContainsFunc(words[i:], func(w Word) bool { return w.Tag == "CC" || w.Text == "," })
	}
	return lastingStates[w] || w == "lactose" && len(words) > i+1
}

// splitList splits the list behind a verb of a lasting state.
func splitList(words []Word) []string {
	end, verb, negated, ok := verbEnd(words)
	if !ok {
		return nil
	}
	if verb == "have" && len(words) > end && (words[end].Tag[0] == 'V' || words[end].Tag == "RB" || words[end].Tag == "TO") {
		return nil // "has been", "has to"
	}
	if verb == "be" {
		found := false
		for _, phrase := range objectOf {
			n := len(strings.Fields(phrase))
			if len(words) > end+n && strings.EqualFold(strings.TrimSuffix(render(words[end:end+n]), "."), phrase) {
				end, found = end+n, true
				break
			}
		}
		if !found {
			return nil
		}
	}
	items, tail := listItems(words[end:], verb, negated)
	if len(items) < 2 {
		return nil
	}
	shared := tail
	if len(tail) > 0 && !holdsForAll(tail) {
		if w := lower(&tail[0]); !prepositions[w] || opensClause[w] || w == "of" || w == "to" || slices.ContainsFunc(tail, func(w Word) bool { return w.Tag == "PRP" || w.Text == "," }) {
			return nil // it may say something of all items
		}
		shared = nil
	}
	var out []string
	for i, item := range items {
		rest := shared
		if i == len(items)-1 {
			rest = tail
		}
		out = append(out, render(words[:end], item, rest))
	}
	return out
}

// listItems returns the items of a list at the beginning of words, and the words behind it.
func listItems(words []Word, verb string, negated bool) (items [][]Word, tail []Word) {
	start, at, closed := 0, 0, false
	for at < len(words) {
		w := lower(&words[at])
		separator := w == "," || w == "and" || w == "&" || w == "or" && negated
		if separator {
			if at == start {
				return nil, nil
			}
			items = append(items, words[start:at])
			if closed { // the list continues behind "and", so it is not one list
				return nil, nil
			}
			for at < len(words) && (words[at].Text == "," || lower(&words[at]) == "and" || words[at].Text == "&" || lower(&words[at]) == "or" && negated) {
				closed = closed || words[at].Text != ","
				at++
			}
			start = at
			continue
		}
		if !inItem(&words[at], at-start) {
			break
		}
		at++
	}
	if at == start || !closed {
		return nil, nil
	}
	items, tail = append(items, words[start:at]), words[at:]
	// "daily", "a lot" and "every day" at the end are no part of the last item.
	last := items[len(items)-1]
	for n := min(3, len(last)-1); n > 0; n-- {
		if holdsForAll(last[len(last)-n:]) {
			items[len(items)-1] = last[:len(last)-n]
			tail = words[at-n:]
			break
		}
	}
	if first := items[0]; verb != "play" && lower(&first[0]) == "the" || first[0].Tag == "PRP$" || first[0].Text == "been" || len(first) > 1 && first[1].Tag == "POS" {
		return nil, nil // what "the" refers to may be said by what follows
	}
	names := 0
	for _, item := range items {
		// What somebody has, needs or uses is one thing only with an article or a number: "a dog and two
		// cats", but not "team dinners, outings and games".
		if (verb == "have" || verb == "need" || verb == "use" || verb == "take" && len(items) > 2) && item[0].Tag != "DT" && item[0].Tag != "CD" && !isNames(item) {
			return nil, nil
		}
		// "organizing workshops and events" is one activity.
		shared := items[0][0].Tag == "VBG" && len(items[0]) > 1 && item[0].Tag != "VBG"
		if len(item) > 5 || !isItem(item) || shared {
			return nil, nil
		}
		if isNames(item) {
			names++
		}
	}
	if items[0][0].Tag == "CD" && names == len(items)-1 {
		return nil, nil // "two cats, Tom and Rex"
	}
	if names > 0 && names < len(items) && isNames(items[len(items)-1]) && hasName(items[0]) {
		return nil, nil // "two cats named Tom and Rex"
	}
	for i := 1; i < len(items); i++ {
		a, b := items[i-1], items[i]
		if fixedPairs[lower(&a[len(a)-1])+" "+lower(&b[0])] {
			return nil, nil
		}
	}
	return items, tail
}

// fixedPairs are nouns that name one thing together.
var fixedPairs = func() map[string]bool {
	m := map[string]bool{}
	for pair := range strings.SplitSeq(`mac cheese,macaroni cheese,fish chips,rock roll,salt pepper,bread butter,butter jelly,bed breakfast,black white,arts crafts,
		pros cons,ups downs,trial error,drum bass,gin tonic,ham cheese,bacon eggs,ham eggs,dungeons dragons,track field,research development,r b,
		health safety,peace quiet,cream cheese,spaghetti meatballs,rice beans,sweet sour,hide seek,friends family,family friends,back forth,cheese wine,wine cheese`, ",") {
		m[strings.TrimSpace(pair)] = true
	}
	return m
}()

// inItem reports whether a word may be in an item of a list, at a place in it.
func inItem(w *Word, place int) bool {
	switch w.Tag {
	case "DT", "PRP$", "CD", "JJ", "JJR", "JJS", "NN", "NNS", "NNP", "NNPS", "POS", "VBG", "FW", "PDT":
		return !opensClause[lower(w)]
	case "VBN", "RB":
		return place == 0 && !strings.HasSuffix(w.Text, "ly")
	case "VBP", "VB", "VBZ", "IN":
		// Nouns that the tagger does not know, such as names of food and drugs.
		return !opensClause[lower(w)] && !commonVerbs[lower(w)] && !prepositions[lower(w)] && lasting[base(lower(w))] == ""
	}
	return false
}

var (
	prepositions = wordSet(`in on at to of for from with by about after before during without over under through into around near since until like
		against across along behind below beside beyond despite except inside off onto out outside past per than toward up upon via within`)
	commonVerbs = wordSet(`is are was were be been am has have had do does did go goes went make makes made get gets got feel feels think thinks know knows
		want wants need needs keep keeps help helps work works live lives say says see sees take takes come comes give gives find finds`)
)

// isItem reports whether words can be an item: they have a noun or a gerund, and no pronoun.
func isItem(item []Word) bool {
	if len(item) == 0 {
		return false
	}
	head := &item[len(item)-1]
	w := lower(head)
	if len(item) > 1 && secondPredicate[lower(&item[0])] {
		return false
	}
	if item[0].Tag == "VBN" && (len(item) == 1 || item[1].Tag == "DT" || item[1].Tag == "PRP$") {
		return false // a second verb: "likes tea and bought a boat"
	}
	if pronouns[w] || head.Tag == "DT" || head.Tag == "PRP$" || head.Tag == "POS" || head.Tag == "CD" && len(item) == 1 {
		return false
	}
	r, _ := utf8.DecodeRuneInString(head.Text)
	return unicode.IsLetter(r)
}

var pronouns = wordSet("it them him her me us you they he she this that these those one ones others other another everything everyone something someone stuff things both all more much many lot lots")

func isNames(item []Word) bool {
	return !slices.ContainsFunc(item, func(w Word) bool { return !strings.HasPrefix(w.Tag, "NNP") })
}

func hasName(item []Word) bool {
	return slices.ContainsFunc(item, func(w Word) bool { return strings.HasPrefix(w.Tag, "NNP") || w.Text == "named" || w.Text == "called" })
}

// forAll are expressions behind a list that hold for each of its items.
var forAll = []string{"daily", "weekly", "every day", "every morning", "every evening", "every night", "every week", "each day", "each morning", "twice a day", "once a day",
	"three times a day", "regularly", "a lot", "very much", "so much", "too", "as well", "now", "a great deal", "these days", "nowadays", "again", "any more", "anymore", "at home", "for breakfast", "in the morning", "fluently", "well", "at all"}

func holdsForAll(words []Word) bool {
	return slices.Contains(forAll, strings.ToLower(strings.TrimSuffix(render(words), ".")))
}

// hanListVerbs are the ends of words before a list in Chinese.
var hanListVerbs = []string{"喜欢", "喜爱", "热爱", "爱", "讨厌", "吃", "喝", "会说", "会讲", "服用", "学", "会弹", "养了", "对", "害怕", "收集", "看", "玩", "听"}

// splitHanList splits a list of nouns behind a verb, as in "小王喜欢茶和咖啡".
func splitHanList(s string) []string {
	body := strings.TrimRight(s, "。！!. ")
	if strings.ContainsAny(body, "，,；;？?了") {
		return nil
	}
	words := Chinese(body)
	first := slices.IndexFunc(words, isHanJoint)
	if first < 2 {
		return nil
	}
	start := first - 1
	before := body[:words[start].Start]
	if !slices.ContainsFunc(hanListVerbs, func(v string) bool { return strings.HasSuffix(before, v) }) {
		return nil
	}
	var items []string
	end := start
	for i := start; i < len(words); i += 2 {
		if words[i].Tag == "w" || !strings.HasPrefix(words[i].Tag, "n") && words[i].Tag != "x" && words[i].Tag != "eng" && words[i].Tag[0] != 'v' {
			return nil
		}
		items, end = append(items, words[i].Text), words[i].End
		if i+1 >= len(words) || !isHanJoint(words[i+1]) {
			break
		}
	}
	tail := body[end:]
	if len(items) < 2 || tail != "" && tail != "过敏" && tail != "感兴趣" || strings.HasSuffix(before, "对") && tail == "" {
		return nil
	}
	var out []string
	for _, item := range items {
		out = append(out, before+item+tail+"。")
	}
	return out
}

func isHanJoint(w Word) bool {
	return w.Text == "和" || w.Text == "、" || w.Text == "与" || w.Text == "以及" || w.Text == "跟" || w.Text == "还有"
}
