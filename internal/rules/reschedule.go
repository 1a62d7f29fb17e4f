package rules

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file finds that a date was moved: "the examination was moved to 26 May" ends "the examination is on 19 May".

const (
	movedWord = `(?:moved|postponed|rescheduled|pushed|shifted|put off|delayed|brought forward)(?: back| forward| up| out)?`
	dayOrDate = `(?:on |for )?(?:the )?(?:(?:week|weekend) of )?(?:next )?(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?)?(?:January|February|March|April|May|June|July|August|September|October|November|December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|week|month|year|(?:in )?\d{4})\b`
	hanMoved  = `(?:改|推迟|延迟|延期|提前|顺延|挪|调整?|延)(?:到|至|成|在)了?`
	hanDay    = `(?:\d{4}年)?(?:\d{1,2}月|[下上]个?月|[下这本]?(?:周|星期|礼拜)[一二三四五六日天末]|\d{1,2}[日号]|明天|后天|明年)`
)

var (
	hanMovedThing = regexp.MustCompile(`^的?(?:那个|这个|这次)?(?P<k>[\p{Han}A-Za-z]{2,10}?)(?:被|已经|又|也|要|时间|日期)*` + hanMoved + `(?P<v>` + hanDay + `.*)`)
	hanMovedIt    = regexp.MustCompile(`^(?:已经|又)*(?:把|将)(?P<k>[\p{Han}A-Za-z]{2,10}?)` + hanMoved + `(?P<v>` + hanDay + `.*)`)

	// newsOfDay matches a sentence that says that something was moved to another day.
	newsOfDay    = regexp.MustCompile(`(?i)^(?:the|our|my) (?:\p{L}+ ){1,4}?(?:(?:is being|was|were|has been|have been|got|had to be|has|have) )?` + movedWord + ` (?:to|until|till) ` + dayOrDate)
	hanNewsOfDay = regexp.MustCompile(`^[\p{Han}A-Za-z]{2,10}?(?:被|已经|又|也|时间|日期)*` + hanMoved + hanDay)
)

// scheduled returns the thing and the day of the forms that match a fact first, without whose it is; "" if none does.
func (f *factFrame) scheduled(forms ...*regexp.Regexp) (thing, day string) {
	rest := f.rest
	if isHan(f.text) {
		rest = strings.TrimLeft(rest, " ")
	}
	for _, form := range forms {
		if m := form.FindStringSubmatch(rest); m != nil {
			return m[form.SubexpIndex("k")], strings.TrimRight(m[form.SubexpIndex("v")], ".。!！了 ")
		}
	}
	return "", ""
}

// thingWords returns the words of the name of a thing, as stems.
func thingWords(s string) []string {
	var out []string
	for _, w := range lowerWords(s) {
		if !text.IsStopWord(w, text.English) {
			out = append(out, stemOf(w))
		}
	}
	return out
}

// endsSeveral reports whether a fact would end several different things, so that it is not certain which is meant.
func endsSeveral(f *factFrame, memories []parsedMemory) bool {
	found, changed := "", 0
	for _, m := range memories {
		if now, exact := f.changesValue(&m.whole); exact {
			return false
		} else if now != "" {
			changed++
		}
		for i := range m.clauses {
			old := &m.clauses[i]
			ended := ""
			if f.subject == old.subject {
				ended = f.endsEngagement(old)
			}
			if thing, onlyOne := f.retires(old); ended == "" && onlyOne {
				ended = thing
			}
			switch {
			case ended == "" || ended == found:
			case found != "" && !strings.HasSuffix(found, ended) && !strings.HasSuffix(ended, found):
				return true
			default:
				found = ended
			}
		}
	}
	return changed > 1
}
