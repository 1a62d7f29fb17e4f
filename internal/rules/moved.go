package rules

import (
	"slices"
	"strings"

	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file completes what was agreed on without saying what: "It's settled, 8 November" after "the launch is on 25
// October" moves the launch, and "改成二十九号了" after "二十八号搬" moves the moving.

const (
	calendarDay    = `(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? )?(?:the )?(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?(?:January|February|March|April|May|June|July|August|September|October|November|December)|(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{1,2}(?:st|nd|rd|th)?)`
	hanNumeralDay  = `(?:[下上这]?个?(?:周|星期|礼拜)[一二三四五六日天]|(?:\d{1,2}|[一二三四五六七八九十]{1,2})月(?:\d{1,2}|[一二三四五六七八九十]{1,3})[日号]?|(?:\d{1,2}|[一二三四五六七八九十]{1,3})[日号])`
	settlingPhrase = `(?:(?:ok|okay|great|good|perfect|then|well|so|right|fine|everyone agrees|we all agree|everybody agrees|all agreed|agreed|deal|done|it's settled|it is settled|that's settled|settled|it's fixed|it's decided|we(?:'ve| have)? (?:settled|agreed|decided) on|let's do|let's say|make it|it'll be|it's now|it's|it is)[,.:!]*(?: so| then| now)? ?)+`
)

var (
	// settledDay matches a sentence that only says the day that was agreed on.
	settledDay = regexp.MustCompile(`(?i)^` + settlingPhrase + `(?:on |for )?(?P<v>` + calendarDay + `)(?:,? (?:it is|then|it'll be|instead|now))*[.! ]*$`)
	// dayOfThing matches what is on a day: the launch, our exam.
	dayOfThing = regexp.MustCompile(`(?i)\b(?P<k>(?:the|our|my|your) (?:[\p{L}'-]+ ){0,4}?[\p{L}'-]+) (?:is|are|was|will be|takes place|starts|is planned|is set) (?:set |planned )?(?:on |for )(?P<v>` + calendarDay + `)`)
	// hanSettledDay matches the same of a Chinese sentence that says that the day was changed.
	hanSettledDay = regexp.MustCompile(`^(?:我们?|已经|日子|时间|日期|后来)*(?:改|换|挪|推迟|提前|延)(?:成|到|在|为|至)?了?(?P<v>` + hanNumeralDay + `)(?:了|吧)?(?:[，,。！!].*)?$`)
	hanDayOfThing = regexp.MustCompile(`(?:^|[，,])(?:我们?|你们?)?(?:是|定在)?(?P<v>` + hanNumeralDay + `)(?:晚上|早上|上午|下午)?(?P<k>\p{Han}{1,6}?)(?:了|的)?(?:[，,。！!]|$)`)
	hanOnlyDay    = regexp.MustCompile(`^(?:\d{1,2}|[一二三四五六七八九十]{1,3})[日号]$`)
)

// plannedThing is what was told to be on a day.
type plannedThing struct{ thing, day string }

// plannedBefore returns the last thing that was told to be on a day before an utterance, in the words of its speaker;
// no thing if two were, of which either may be meant.
func plannedBefore(all []utterance, i int) plannedThing {
	var found []plannedThing
	for j := max(0, i-maxFocus); j < i; j++ {
		owner := ""
		isOther := all[j].Role != all[i].Role || !strings.EqualFold(all[j].Name, all[i].Name)
		if isOther {
			owner = strings.Join(strings.Fields(all[j].Name), " ")
		}
		for _, s := range all[j].sentences {
			if isHan(s) {
				if p, ok := hanPlanned(s); ok && !isOther {
					found = append(found, p)
				}
				continue
			}
			for _, m := range dayOfThing.FindAllStringSubmatch(s, 4) {
				found = append(found, plannedThing{inWordsOf(m[1], owner), m[2]})
			}
		}
	}
	if len(found) == 0 {
		return plannedThing{}
	}
	// What was talked of last is meant, where several are planned.
	last := found[len(found)-1]
	isOther := func(p plannedThing) bool { return p.thing != last.thing }
	if slices.ContainsFunc(found, isOther) {
		return onlyNamed(found, all[max(0, i-2):i])
	}
	return last
}

// onlyNamed returns the one of several planned things that utterances name; none if they name another number.
func onlyNamed(found []plannedThing, utterances []utterance) plannedThing {
	named := map[string]plannedThing{}
	for _, p := range found {
		head := headOfThing(p.thing)
		for _, u := range utterances {
			if strings.Contains(strings.ToLower(u.Content), head) {
				named[p.thing] = p
			}
		}
	}
	if len(named) != 1 {
		return plannedThing{}
	}
	for _, p := range named {
		return p
	}
	return plannedThing{}
}

// headOfThing returns the noun of "the launch of our record".
func headOfThing(thing string) string {
	if isHan(thing) {
		return thing
	}
	head, _, _ := strings.Cut(thing, " of ")
	return strings.ToLower(lastWord(head))
}

// inWordsOf returns what another person says of something of theirs as the speaker would: "Ana's exam". owner is "" for
// the speaker.
func inWordsOf(thing, owner string) string {
	if owner == "" {
		return thing
	}
	return strings.NewReplacer("My ", owner+"'s ", "Our ", owner+"'s ", "my ", owner+"'s ", "our ", owner+"'s ", "Your ", "my ", "your ", "my ").Replace(thing)
}

// hanPlanned returns what a Chinese sentence says that its speaker does on a day.
func hanPlanned(s string) (p plannedThing, ok bool) {
	if hanQuestion.MatchString(s) || hanSettledDay.MatchString(s) || hanSupposed.MatchString(s) {
		return p, false
	}
	m := hanDayOfThing.FindStringSubmatch(hanWithoutLeadIns(strings.TrimSpace(s)))
	if m == nil {
		return p, false
	}
	return plannedThing{m[2], m[1]}, true
}

// movedPlan returns a sentence about a day that was agreed on with what is on that day; "" if it is no such sentence, or
// if what is meant is not certain.
func movedPlan(s string, before plannedThing) string {
	s = strings.TrimSpace(s)
	if before.thing == "" || len(s) > maxFactRunes {
		return ""
	}
	if isHan(s) {
		m := hanSettledDay.FindStringSubmatch(hanWithoutLeadIns(s))
		if m == nil || !isHan(before.thing) || m[1] == before.day {
			return ""
		}
		month := ""
		if at := strings.Index(before.day, "月"); at > 0 && hanOnlyDay.MatchString(m[1]) {
			month = before.day[:at+len("月")]
		}
		return "我改到" + month + m[1] + before.thing
	}
	m := settledDay.FindStringSubmatch(s)
	if m == nil || isHan(before.thing) || strings.EqualFold(m[1], before.day) {
		return ""
	}
	return strings.ToUpper(before.thing[:1]) + before.thing[1:] + " was moved to " + m[1]
}
