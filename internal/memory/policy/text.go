package policy

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// timeWords name days, spans and times of day in the most common languages. A keyword
// that consists of these and of numbers says when, not what.
var timeWords = WordSet(`today tomorrow yesterday tonight now morning afternoon evening night noon midnight day days daily week weeks
	weekly weekend weekends month months monthly year years yearly hour hours minute minutes second seconds moment date time times
	monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
	january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
	am pm ago last next this recently lately soon later earlier the of at on in
	heute morgen gestern abend tag tage woche wochen monat monate jahr jahre stunde montag dienstag mittwoch donnerstag freitag samstag sonntag
	januar februar märz mai juni juli oktober dezember
	aujourd'hui demain hier matin soir jour jours semaine mois année lundi mardi mercredi jeudi vendredi samedi dimanche
	hoy mañana ayer tarde noche día días semana mes año lunes martes miércoles jueves viernes sábado domingo
	今天 明天 昨天 今年 去年 明年 早上 上午 下午 晚上 星期 小时 分钟 今日 明日 昨日`)

// IsTimeWord reports whether a folded word names a day, a span or a time of day.
func IsTimeWord(word string) bool { return timeWords[word] }

// WordSet returns the words of a list, which are separated by spaces, as a set of
// folded words.
func WordSet(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[text.Fold(w)] = true
	}
	return set
}

// CleanLine returns an answer's text as one line: valid UTF-8, no control characters nor marks of the direction,
// single spaces, at most limit characters and memory.MaxContextBytes bytes.
func CleanLine(s string, limit int) string {
	s = strings.ToValidUTF8(s, "")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return -1 // nobody sees it, and a name with it would be another one
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > limit {
		s = text.Shorten(s, limit)
	}
	for len(s) > memory.MaxContextBytes {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}

// CleanSentence returns the first sentence of CleanLine.
func CleanSentence(s string, limit int) string {
	s = CleanLine(s, limit)
	if all := text.Sentences(s); len(all) > 1 {
		return CleanLine(all[0], limit)
	}
	return s
}

// CleanTerms cleans a list of tags or keywords. Entries are trimmed and lose a leading
// "#". Empty and oversized entries and repeats (in any letter case) are left out. It
// returns at most limit entries.
func CleanTerms(list []string, limit int) []string {
	out := make([]string, 0, min(len(list), limit))
	seen := map[string]bool{}
	for _, raw := range list {
		t := strings.TrimSpace(strings.TrimLeft(CleanLine(raw, memory.MaxTermBytes), "#"))
		key := text.Fold(t)
		if t == "" || len(t) > memory.MaxTermBytes || seen[key] {
			continue
		}
		if len(out) == limit {
			break
		}
		seen[key] = true
		out = append(out, t)
	}
	return out
}

// WithoutRedacted returns a text without the sentences in which a secret was redacted: what they say is about the secret. It is ""
// when there are no others.
func WithoutRedacted(s string) string {
	if !memory.Redacted(s) {
		return s
	}
	return strings.Join(slices.DeleteFunc(text.Sentences(s), memory.Redacted), "\n")
}

// CleanKeywords is CleanTerms with the rules of the analysis: it also leaves out the
// speaker's names, words of time, redacted secrets, and keywords all of whose words are in an earlier
// keyword.
func CleanKeywords(list []string, limit int, speaker string) []string {
	names := map[string]bool{}
	for _, w := range text.Words(speaker) {
		names[strings.TrimSuffix(w, "'s")] = true
	}
	var kept [][]string
	out := make([]string, 0, min(len(list), limit))
	for _, k := range CleanTerms(list, len(list)) {
		if len(out) == limit {
			break
		}
		words := text.Words(k)
		if len(words) == 0 || memory.Redacted(k) || isTimeOnly(words) || hanDate.MatchString(strings.ReplaceAll(k, " ", "")) || namesSpeaker(words, names) || isCovered(words, kept) {
			continue
		}
		kept = append(kept, words)
		out = append(out, k)
	}
	return out
}

func namesSpeaker(words []string, names map[string]bool) bool {
	return slices.ContainsFunc(words, func(w string) bool { return names[w] || names[strings.TrimSuffix(w, "'s")] })
}

// hanDate matches a Chinese or Japanese date, time or span, such as 三月, 四月十五号,
// 2026年3月1日, 星期五, 下周, 明晚, 三点半 and 两天前.
var hanDate = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`[0-9０-９一二三四五六七八九十百零〇两兩几幾半数數多]+[个個]?(?:年|月份?|日|号|號|点|點|时|時|小时|小時|分钟|分鐘|秒钟?|周|週|星期|礼拜|禮拜|天)半?`,
	`(?:星期|礼拜|禮拜|周|週)[一二三四五六日天末]`,
	`[上下这這][个個]?(?:月|周|週|星期|礼拜|禮拜|季度)[一二三四五六日天末]?`,
	`今[年天日晚早]|明[年天日晚早]|昨[天日晚]|前[年天日晚]|[后後][年天]|去年|[本当當每][年月日天周週]`,
	`[年月][初底末]`,
}, "|") + `)+[前后後]?$`)

// isTimeOnly reports whether the words are only a date, a time or a span.
func isTimeOnly(words []string) bool {
	named := false
	for _, w := range words {
		switch {
		case timeWords[w]:
			named = true
		case len(w) == 4 && IsNumber(w) && (strings.HasPrefix(w, "19") || strings.HasPrefix(w, "20")):
			named = true
		case IsNumber(strings.TrimRight(w, "stndrhamp")):
		default:
			return false
		}
	}
	return named
}

// IsNumber reports whether s consists of digits.
func IsNumber(s string) bool {
	for _, r := range s {
		if !unicode.IsDigit(r) {
			return false
		}
	}
	return s != ""
}

// isCovered reports whether all words are in one of the kept keywords.
func isCovered(words []string, kept [][]string) bool {
	return slices.ContainsFunc(kept, func(earlier []string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(earlier, w) })
	})
}

// SameTerms reports whether two lists hold the same terms, in any order and letter case.
func SameTerms(a, b []string) bool {
	return slices.Equal(foldedSet(a), foldedSet(b))
}

func foldedSet(list []string) []string {
	out := make([]string, 0, len(list))
	for _, t := range list {
		out = append(out, text.Fold(strings.TrimSpace(t)))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// SameLine reports whether two texts differ at most in white space.
func SameLine(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// SpeakerOf returns the name of a note's speaker: the attribute "speaker" or "name", or
// a name before a colon at the beginning ("Anna: …", "Speaker Anna Berg says: …"). It
// is empty when there is none.
func SpeakerOf(n *memory.Note) string {
	for _, field := range []string{"speaker", "name"} {
		if s, ok := n.Attributes[field].(string); ok && s != "" {
			return s
		}
	}
	head, _, ok := strings.Cut(n.Content, ":")
	if !ok || len(head) > 60 || strings.ContainsAny(head, "\n.,;!?\"") {
		return ""
	}
	words := strings.Fields(head)
	if len(words) > 0 && strings.EqualFold(words[0], "speaker") {
		words = words[1:]
	}
	if len(words) > 0 && (strings.EqualFold(words[len(words)-1], "says") || strings.EqualFold(words[len(words)-1], "said")) {
		words = words[:len(words)-1]
	}
	if len(words) == 0 || len(words) > 3 {
		return ""
	}
	for _, w := range words {
		if r, _ := utf8.DecodeRuneInString(w); unicode.IsLower(r) || !unicode.IsLetter(r) {
			return ""
		}
	}
	return strings.Join(words, " ")
}
