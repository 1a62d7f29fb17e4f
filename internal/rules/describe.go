package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
)

// maxTagged is the number of bytes of a text whose words are tagged. The keywords of what follows
// are found without tags.
const maxTagged = 8_000

// taggedWords returns the tagged words of the beginning of an English text.
func taggedWords(s string) []grammar.Word {
	if len(s) > maxTagged {
		cut := strings.LastIndexByte(s[:maxTagged], ' ')
		s = s[:max(cut, 0)]
	}
	return grammar.English(strings.ReplaceAll(s, "\n", " "))
}

// nounKeywords narrows key phrases of an English text down to those with a noun, without the verbs
// and adverbs at their ends. Phrases without a noun are returned apart.
func nounKeywords(s string, phrases []string) (nouns, others []string) {
	words := taggedWords(s)
	for _, p := range phrases {
		at := strings.Index(s, p)
		from := slices.IndexFunc(words, func(w grammar.Word) bool { return w.Start >= at })
		to := from
		for to >= 0 && to < len(words) && words[to].End <= at+len(p) {
			to++
		}
		if at < 0 || from < 0 || to <= from {
			others = append(others, p)
			continue
		}
		part := words[from:to]
		for len(part) > 0 && !endsPhrase(part) {
			part = part[:len(part)-1]
		}
		for len(part) > 1 && !isNoun(&part[0]) && part[0].Tag != "JJ" && part[0].Tag != "VBN" {
			part = part[1:]
		}
		if len(part) == 0 {
			others = append(others, p)
			continue
		}
		if phrase := s[part[0].Start:part[len(part)-1].End]; vagueNouns[strings.ToLower(phrase)] || text.IsSmallTalk(phrase) {
			others = append(others, phrase)
		} else {
			nouns = append(nouns, phrase)
		}
	}
	return dedupeFold(nouns), dedupeFold(others)
}

// endsPhrase reports whether the last of some words can end a noun phrase: a noun, or behind a noun
// a word such as "rounding" or "cleaner".
func endsPhrase(words []grammar.Word) bool {
	last := &words[len(words)-1]
	return isNoun(last) || len(words) > 1 && isNoun(&words[len(words)-2]) && (last.Tag == "VBG" || last.Tag == "JJR")
}

func isNoun(w *grammar.Word) bool {
	low := strings.ToLower(w.Text)
	return (strings.HasPrefix(w.Tag, "NN") || w.Tag == "FW") && !interjections[low] && !text.IsTimeWord(low)
}

// hanKeywords returns the nouns of a Chinese text, then its verbs and adjectives until there are
// three.
func hanKeywords(s, speaker string) []string {
	var nouns, others []string
	words := joinNames(grammar.Chinese(clipBytes(s, maxTagged)))
	for i, w := range words {
		if utf8.RuneCountInString(w.Text) < 2 && w.Tag != "n" || text.IsTimeWord(w.Text) || text.IsStopWord(w.Text, text.Chinese) || strings.Contains(speaker, w.Text) {
			continue
		}
		switch tag := w.Tag; {
		case tag == "eng":
			if len(w.Text) > 1 && !text.IsStopWord(text.Fold(w.Text), text.English) {
				nouns = append(nouns, w.Text)
			}
		case tag[0] == 'n' || tag == "vn" || tag == "an" || tag == "l" || tag == "i" || tag == "s" || tag == "j":
			if utf8.RuneCountInString(w.Text) == 1 && i > 0 && words[i-1].Tag == "m" {
				continue // a measure: "三杯"
			}
			nouns = append(nouns, w.Text)
		case tag == "v" || tag == "a" || tag == "z" || tag == "x" && utf8.RuneCountInString(w.Text) > 1:
			others = append(others, w.Text)
		}
	}
	nouns, others = dedupeFold(nouns), dedupeFold(others)
	nouns = nouns[:min(len(nouns), maxKeywords)]
	if missing := minKeywords - len(nouns); missing > 0 {
		others = slices.DeleteFunc(others, func(w string) bool { return hanPlainVerbs[w] })
		nouns = append(nouns, others[:min(missing, len(others))]...)
	}
	return dedupeFold(nouns)
}

// joinNames joins single characters that follow one another and can be parts of a name that the
// dictionary does not have: "徐", "汇" and "区" are one word.
func joinNames(words []grammar.Word) []grammar.Word {
	inName := func(w grammar.Word) bool {
		return utf8.RuneCountInString(w.Text) == 1 && (w.Tag[0] == 'n' || w.Tag == "x" || w.Tag == "j")
	}
	var out []grammar.Word
	for _, w := range words {
		if last := len(out) - 1; last >= 0 && inName(w) && out[last].End == w.Start && (inName(out[last]) || out[last].Tag == "nz") {
			out[last] = grammar.Word{Text: out[last].Text + w.Text, Tag: "nz", Start: out[last].Start, End: w.End}
			continue
		}
		out = append(out, w)
	}
	return out
}

// hanPlainVerbs name no activity.
var hanPlainVerbs = wordSet("觉得 认为 知道 可以 应该 需要 希望 打算 准备 开始 没有 喜欢 不会 想要 能够 看到 告诉 变成 成为 进行 不是 还是 就是 要是 有点 很好 非常 真的 特别")

// clipBytes returns at most n bytes of s, whole characters.
func clipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// verbCues are verbs that name a domain as its nouns do. Any other word of a domain counts only as
// a noun: "nurses run the hospital" is not about sports.
var verbCues = func() map[string]bool {
	m := map[string]bool{}
	for w := range wordSet(`cook bake eat drink taste grill travel visit hike camp swim bike cycle ski surf climb golf skate box sing draw paint sketch dance knit sew
		craft read write learn study graduate marry adopt volunteer celebrate donate drive commute rain snow code program invest clean repair renovate
		garden photograph buy purchase exercise sleep diet jog stretch inspire worry struggle motivate calm comfort design publish protest work teach tutor`) {
		m[text.Stem(w, text.English)] = true
	}
	return m
}()

// otherSenses are words with the stem of a domain's word and another sense.
var otherSenses = map[string]string{"engineering": "transport", "engineer": "transport", "engineers": "transport", "photo": "art", "photos": "art", "pic": "art", "pics": "art"}

// verbsOf returns the folded words that an English text has only as verbs. "run a marathon" keeps
// its verb: its object is of the same domain.
func verbsOf(s string) map[string]bool {
	verbs := map[string]bool{}
	words := taggedWords(s)
	for _, w := range words {
		if low := text.Fold(w.Text); w.Tag[0] == 'V' && !verbCues[text.Stem(low, text.English)] {
			verbs[low] = true
		}
	}
	for _, w := range words {
		if strings.HasPrefix(w.Tag, "NN") {
			delete(verbs, text.Fold(w.Text))
		}
	}
	return verbs
}

// subjectStems returns the stems of the words of a text that name what it is about: nouns, names,
// and verbs of an activity.
func subjectStems(s string, lang text.Language) map[string]bool {
	stems := map[string]bool{}
	if lang == text.Chinese {
		for _, w := range grammar.Chinese(clipBytes(s, maxTagged)) {
			if w.Tag[0] == 'n' || w.Tag == "vn" || w.Tag == "eng" || w.Tag == "l" || w.Tag == "v" && utf8.RuneCountInString(w.Text) > 1 && !hanPlainVerbs[w.Text] {
				for _, t := range text.Words(w.Text) {
					stems[text.Stem(t, lang)] = true
				}
			}
		}
		return stems
	}
	for _, w := range taggedWords(s) {
		low := text.Fold(w.Text)
		st := text.Stem(low, lang)
		if strings.HasPrefix(w.Tag, "NN") && !numberWords[low] || w.Tag == "FW" || verbCues[st] && !abstractNouns[low] && w.Tag[0] == 'V' && !everydayVerbs[st] || w.Tag == "JJ" && lastingAdjectives[low] {
			for _, t := range text.Words(w.Text) {
				stems[text.Stem(t, lang)] = true
			}
		}
	}
	return stems
}

// lastingAdjectives are what two notes may be about. everydayVerbs are the stems of verbs of a
// domain that say too little to relate two notes.
var (
	lastingAdjectives = wordSet("allergic vegetarian vegan pregnant diabetic lactose pescatarian")
	everydayVerbs     = func() map[string]bool {
		m := map[string]bool{}
		for w := range wordSet("learn study visit inspire worry struggle motivate calm comfort work clean eat drink read write buy purchase create design share capture") {
			m[text.Stem(w, text.English)] = true
		}
		return m
	}()
)

// numberWords are numbers in words, which relate nothing.
var numberWords = wordSet("one two three four five six seven eight nine ten eleven twelve hundred thousand million first second third dozen couple half")

// abstractNouns are words of nearly every talk among friends. Two notes that share one need not
// have a subject in common.
var abstractNouns = wordSet(`change changes goal goals dream dreams passion passions community communities friend friends family families photo photos picture
	pictures pic pics life lives world idea ideas project projects work job jobs team teams event events people kid kids group groups style fun friendship
	encouragement positivity growth success challenge challenges situation choice choices decision decisions tip tips view views peace happiness beauty creativity
	spirit heart word words place places conversation conversations talk chat message messages question questions answer story stories reminder
	appreciation gratitude hope luck guy guys man woman person child children house home area spot spots room stuff type types list lists example examples
	option options detail details problem problems solution solutions process approach information topic purpose level levels skill skills
	career future past road path season seasons shot shots scene eye eyes face smile laugh voice name names weekend vacation tour
	enjoy sounds sound look looks amaze awesome inspiring inspire motivate worry worries struggle calm comfort perfect interesting exciting important difficult different
	wonderful special favorite favourite positive negative proud grateful thankful excited supportive meaningful incredible fantastic beautiful creative
	relationship relationships environment attention effort efforts dedication determination resilience kindness mindset perspective value values`)
