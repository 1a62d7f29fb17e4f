package text

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// timeWords name dates, periods and times of day. They are never part of a key phrase: a note's
// time is a field of its own.
var timeWords = wordSet(`today tomorrow yesterday tonight now morning afternoon evening night noon midnight day days daily week weeks weekly
	weekend weekends month months monthly year years yearly hour hours minute minutes second seconds monday tuesday wednesday
	thursday friday saturday sunday mon tue tues wed thu thurs fri sat sun january february march april june july august september
	october november december jan feb apr jun jul aug sept sep oct nov dec am pm ago last next recently lately soon later earlier
	spring summer autumn winter date time times`,
	`heute morgen gestern abend nacht tag tage woche wochen monat jahr jahre stunde montag dienstag mittwoch donnerstag freitag
	samstag sonntag januar februar märz mai juni juli oktober dezember`,
	`aujourd'hui aujourd hui demain hier matin soir nuit jour jours semaine mois an ans année heure lundi mardi mercredi jeudi
	vendredi samedi dimanche janvier février mars avril juin juillet août septembre octobre novembre décembre`,
	`hoy mañana ayer tarde noche día días semana mes meses año años hora lunes martes miércoles jueves viernes sábado domingo enero
	febrero marzo abril mayo junio julio septiembre octubre noviembre diciembre`,
	`今天 明天 昨天 今年 去年 明年 早上 上午 下午 晚上 星期 小时 分钟 今日 明日 昨日`)

// IsTimeWord reports whether the word, in any letter case, names a date, a period or a time of day
// in one of the known languages.
func IsTimeWord(word string) bool { return timeWords[Fold(word)] || chineseDate.MatchString(word) }

// chineseDate matches Chinese names of dates, days and times: "三月", "15号", "下周五".
var chineseDate = regexp.MustCompile(`^(?:上|下|这|本|每|前|去|今|明|后|大)*个?(?:` +
	`[\d零〇一二三四五六七八九十两几]+(?:年|月份?|号|日|点|点半|点钟|周|天|小时|分钟|岁)+(?:前|后|以前|以后)?|(?:周|星期|礼拜)[一二三四五六日天末]?|月|年|月份|天|晚|早|[早晚]上|上午|中午|下午|傍晚|半夜|` +
	`\d{1,4}年\d{1,2}月(?:\d{1,2}[日号])?|\d{1,2}月\d{1,2}[日号]|[一二三四五六七八九十]{1,2}月[一二三四五六七八九十]{1,3}[日号])$`)

// fillers are words of a conversation that have nothing to do with its subject. They are never part
// of a key phrase.
var fillers = wordSet(`hey hi hello hiya bye goodbye wow yeah yes yep yup nope ok okay oh ooh aw aww ah ahh hmm huh haha hahaha lol omg
	btw thanks thank please sorry well sure really actually basically literally totally definitely absolutely exactly
	certainly maybe perhaps probably pretty quite rather still even ever never always often sometimes usually already
	again almost especially simply such much many lot lots bit kind kinda sort sorta stuff thing things something
	anything nothing everything someone anyone everyone everybody somebody anybody nobody way ways gonna wanna gotta
	let lets got get gets getting gotten go goes going gone went come comes coming came make makes making made take
	takes taking took taken give gives giving gave given put keep keeps keeping kept say says saying said tell tells
	telling told see sees seeing saw seen know knows knowing knew known like likes seem seems seemed mean means meant
	able own same other others another each every few several some any all both more most less least only once first
	one two three because though although while until since around through during without within between up down out
	off away back together else yet however anyway cause cuz til till guy guys man dude ya yo im ive id ill dont cant
	wont didnt doesnt isnt wasnt thats whats youre theyre theres couldnt wouldnt shouldnt havent hasnt arent don didn
	doesn isn wasn weren won couldn wouldn shouldn haven hasn hadn aren ain shared image yourself yourselves myself
	ourselves themselves himself herself itself ones em`,
	`hallo danke bitte genau eigentlich wirklich vielleicht gerade einfach natürlich immer viel viele gut gute guten toll schön
	merci bonjour salut bien vraiment gracias hola bueno grazie ciao bene obrigado olá dank hoi привет спасибо очень`)

// weakWords carry little meaning, but some: they become key phrases only of a text that has fewer
// than enoughPhrases without them.
var weakWords = wordSet(`welcome congrats congratulations ask asks asked asking talk talking talked look looks looking looked think thinks
	thinking thought feel feels feeling felt want wants wanted wanting need needs needed needing liked love loves
	loved loving hope hopes hoping hoped wish try tries trying tried use uses used using find finds finding found
	guess bet agree remember forget start starts started starting stop stopped show shows showing showed shown help
	helps helped helping work works worked working happen happens happened happening believe believes wait glad happy
	excited amazing awesome great good nice cool best better fun sweet wonderful fantastic beautiful lovely super
	incredible interesting big small little huge new old long short high low right wrong real true different photo
	photos photography picture pictures photograph sounds sound stand standing part check checking`)

// IsSmallTalk reports whether the word, in any letter case, is a filler or a weak word: two texts
// that share it need not share a subject.
func IsSmallTalk(word string) bool {
	w := Fold(word)
	return fillers[w] || weakWords[w]
}

// enoughPhrases is the number of key phrases from strong words below which weak ones are
// considered.
const enoughPhrases = 3

// maxPhraseWords is the length of the longest key phrase, in words.
const maxPhraseWords = 3

// candidate is a possible key phrase: words [first, last] of one content run.
type candidate struct {
	text  string
	stems []string
	start int
	score float64
}

// content is a word that may be part of a key phrase.
type content struct {
	token
	folded, stem string
	sentence     int
	weight       float64
}

// Keyphrases returns the n phrases that describe best what s is about, best first. Each occurs
// verbatim in s, has at most three words, and contains no stop word of the language of s, no time
// word, no conversational filler, no bare number and no word of exclude (names, in any letter
// case). It returns fewer when the text has no more.
//
// The method combines RAKE's candidates (runs of content words between stop words and punctuation)
// with YAKE's features of one document: how often a word occurs, how early, whether it is
// capitalized inside a sentence. The result depends on the text and the arguments only.
func Keyphrases(s string, n int, exclude ...string) []string {
	if n <= 0 {
		return nil
	}
	lang, _ := Guess(s)
	drop := map[string]bool{}
	for _, name := range exclude {
		for _, w := range Words(name) {
			drop[w] = true
		}
	}
	out := phrases(s, lang, drop, n, nil, false)
	if n = min(n, enoughPhrases); len(out) < n {
		out = phrases(s, lang, drop, n, out, true)
	}
	return out
}

// phrases adds key phrases to the given ones until there are n. When filling, weak words count too,
// each as a phrase of its own.
func phrases(s string, lang Language, drop map[string]bool, n int, given []string, filling bool) []string {
	runs := contentRuns(s, lang, drop, filling)
	setWeights(s, runs)
	var all []candidate
	for _, run := range runs {
		if filling {
			for i := range run {
				all = append(all, candidates(s, run[i:i+1])...)
			}
			continue
		}
		all = append(all, candidates(s, run)...)
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.start, b.start), cmp.Compare(len(b.text), len(a.text)))
	})
	return choosePhrases(all, n, given, lang)
}

// choosePhrases adds the best candidates of which most words are not in earlier phrases.
func choosePhrases(all []candidate, n int, given []string, lang Language) []string {
	out := given
	seen := map[string]bool{}
	for _, g := range given {
		for _, w := range Words(g) {
			seen[Stem(w, lang)] = true
		}
	}
	for _, c := range all {
		if len(out) == n {
			break
		}
		fresh := 0
		for _, st := range c.stems {
			if !seen[st] {
				fresh++
			}
		}
		if fresh*2 <= len(c.stems) {
			continue
		}
		for _, st := range c.stems {
			seen[st] = true
		}
		out = append(out, c.text)
	}
	return out
}

// contentRuns splits s into runs of content words with only spaces, hyphens or apostrophes between
// them.
func contentRuns(s string, lang Language, drop map[string]bool, withWeak bool) [][]content {
	var runs [][]content
	var run []content
	flush := func() {
		if len(run) > 0 {
			runs = append(runs, run)
			run = nil
		}
	}
	sentence, end := 0, 0
	add := func(t token) {
		gap := s[end:t.start]
		if strings.ContainsAny(gap, ".!?\n。！？") {
			sentence++
		}
		if !joinsPhrase(gap) {
			flush()
		}
		end = t.end
		w := foldWord(s[t.start:t.end])
		if t.class == classWord && (!phraseWord(w, lang, drop) || !withWeak && weakWords[w]) || t.class == classPair && (timeWords[w] || drop[w] || stopWords[lang][w]) {
			flush()
			return
		}
		run = append(run, content{token: t, folded: w, stem: Stem(w, lang), sentence: sentence})
	}
	scan(s, func(t token) {
		if t.class == classPair {
			for _, part := range splitPairRun(s, t, lang) {
				flush()
				add(part)
				flush()
			}
			return
		}
		add(t)
	})
	flush()
	return runs
}

// phraseWord reports whether a folded word may be part of a key phrase.
func phraseWord(w string, lang Language, drop map[string]bool) bool {
	if drop[w] || stopWords[lang][w] || stopWords[English][w] || timeWords[w] || fillers[w] {
		return false
	}
	letters := 0
	for _, r := range w {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters >= 2
}

// joinsPhrase reports whether two words with gap between them may be in one phrase.
func joinsPhrase(gap string) bool {
	switch gap {
	case "", " ", "-", "'", "’", "&", " & ", "/":
		return true
	}
	return false
}

// maxPairPhrase is the length in characters of the longest key phrase in a script without spaces;
// longer runs are cut.
const maxPairPhrase = 6

// splitPairRun cuts a run of a script without spaces at its function words.
func splitPairRun(s string, t token, lang Language) []token {
	stop := stopWords[lang]
	var out []token
	start := t.start
	cut := func(to int) {
		if utf8.RuneCountInString(s[start:to]) >= 2 {
			out = append(out, token{start: start, end: to, class: classPair})
		}
	}
	for i := t.start; i < t.end; {
		r, n := utf8.DecodeRuneInString(s[i:])
		word := n
		for _, runes := range []int{3, 2} {
			if w := firstRunes(s[i:t.end], runes); w != "" && (stop[w] || timeWords[w]) {
				word = len(w)
				break
			}
		}
		switch {
		case word > n || stop[string(r)]:
			cut(i)
			start = i + word
		case utf8.RuneCountInString(s[start:i+n]) > maxPairPhrase:
			cut(i)
			start = i
		}
		i += word
	}
	cut(t.end)
	return out
}

// firstRunes returns the first n characters of s, or "" if it has fewer.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	if n == 0 {
		return s
	}
	return ""
}

// The features of a word, each a factor of its weight.
const (
	capitalFactor  = 1.4 // capitalized, not at the start of a sentence: a name
	shortFactor    = 0.7 // three letters or fewer
	verbalFactor   = 0.8 // ends like a verb or adverb: -ing, -ed, -ly
	sentenceFactor = 0.1 // loss for each sentence from the start
)

// setWeights sets the weight of every content word.
func setWeights(s string, runs [][]content) {
	freq := map[string]int{}
	for _, run := range runs {
		for _, c := range run {
			freq[c.stem]++
		}
	}
	best := map[string]float64{}
	for _, run := range runs {
		for _, c := range run {
			w := 1 + math.Log(float64(freq[c.stem]))
			if r, _ := utf8.DecodeRuneInString(s[c.start:]); unicode.IsUpper(r) && !startsSentence(s, c.start) {
				w *= capitalFactor
			}
			if c.class == classWord {
				switch {
				case utf8.RuneCountInString(c.folded) <= 3 && !isUpper(s[c.start:c.end]):
					w *= shortFactor
				case strings.HasSuffix(c.folded, "ing") || strings.HasSuffix(c.folded, "ed") || strings.HasSuffix(c.folded, "ly"):
					w *= verbalFactor
				}
			}
			w /= 1 + sentenceFactor*float64(c.sentence)
			best[c.stem] = max(best[c.stem], w)
		}
	}
	for _, run := range runs {
		for i := range run {
			run[i].weight = best[run[i].stem]
		}
	}
}

func isUpper(s string) bool { return s == strings.ToUpper(s) && s != strings.ToLower(s) }

// startsSentence reports whether only spaces and quotes are between the offset and the end of the
// previous sentence.
func startsSentence(s string, at int) bool {
	before := strings.TrimRight(s[:at], " \t\"'“‘(*_")
	if before == "" {
		return true
	}
	r, _ := utf8.DecodeLastRuneInString(before)
	return strings.ContainsRune(".!?:\n。！？…", r)
}

// candidates returns every phrase of one to three words of a run. The score of a phrase of several
// words is the damped sum of its words: it beats its parts, but a long run of weak words does not
// beat one strong word.
func candidates(s string, run []content) []candidate {
	var out []candidate
	for i := range run {
		sum := 0.0
		var stems []string
		for j := i; j < len(run) && j < i+maxPhraseWords; j++ {
			if slices.Contains(stems, run[j].stem) {
				break
			}
			sum += run[j].weight
			stems = append(stems, run[j].stem)
			words := float64(j - i + 1)
			out = append(out, candidate{
				text:  s[run[i].start:run[j].end],
				stems: slices.Clone(stems),
				start: run[i].start,
				score: sum / (1 + 0.6*(words-1)),
			})
		}
	}
	return out
}
