package rules

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
	"github.com/slipboxhq/slipbox/internal/when"
)

// This file says what changed as a whole fact: "they've pushed it back to the 17th" after "Lena's dentist appointment is
// on 12 March" is "Lena's dentist appointment is now on 17 March".

// maxRetold bounds how far back changes of changes are followed.
const maxRetold = 3

// changedFacts returns what a sentence says of something that was told before, with what changed. found are the facts of
// the sentences before it. isChange says that the sentence tells a change, whether or not it is certain of what.
func (r *utteranceReader) changedFacts(s string, found []string) (facts []string, isChange bool) {
	changes := changesIn(s)
	if c, ok := changeByAnswer(r.question, s); ok && len(changes) == 0 {
		changes = append(changes, c)
	}
	for i := range changes {
		for _, kind := range changes[i].value.comparable() {
			if old, ok := onlyValue(r.question, kind); ok {
				changes[i].was = old.text
			}
		}
	}
	if len(changes) == 0 || r.agent || r.depth >= maxRetold {
		return nil, false
	}
	told := append(r.toldBefore(), found...)
	if old := r.meantBy(&changes[0], told); old != "" {
		facts = append(facts, withChanges(old, changes, r.u.Time))
	}
	if said := r.saidToChange(changes); len(facts) == 0 && said != "" {
		return r.stated(said), true
	}
	return facts, true
}

// saidToChange returns a change of what nothing was told of, as a statement; "" if it is not said what changed. A memory
// of before may tell of it.
func (r *utteranceReader) saidToChange(changes []change) string {
	c := &changes[0]
	switch {
	case c.thing == "" || c.canceled || c.value.kind == valuePlace:
		return ""
	case isHan(c.thing):
		if _, _, owned := cutOwner(c.thing); owned || c.value.kind == valueAmount {
			return ""
		}
		return "我的" + c.thing + "改到" + c.value.text + c.more
	case c.value.kind == valueAmount:
		return ""
	}
	return upperFirst(c.thing) + " was moved to " + c.value.dateOf(r.u.Time)
}

// toldBefore returns the facts of what the speaker said before, and of what others said that is not about themselves.
func (r *utteranceReader) toldBefore() []string {
	var out []string
	for j := max(0, r.at-maxFocus); j < r.at; j++ {
		u := &r.all[j]
		if u.Role != memory.RoleUser {
			continue
		}
		before := readerOf(r.all, j)
		before.depth = r.depth + 1
		facts := before.facts()
		if !strings.EqualFold(u.Name, r.u.Name) {
			facts = slices.DeleteFunc(facts, func(f string) bool { return strings.Contains(f, before.factSpeaker(f)) })
		}
		out = append(out, facts...)
	}
	return out
}

// meantBy returns the fact that a change is about: the last one that names what changed, or that the question before
// is about, or the last one of which such a value is told; "" if there is none.
func (r *utteranceReader) meantBy(c *change, told []string) string {
	topic := r.question
	if c.agreed {
		topic = ""
		if r.at > 1 {
			topic = r.all[r.at-2].Content + " "
		}
		if r.at > 0 {
			topic += r.all[r.at-1].Content
		}
	}
	best, most, others := "", -1, 0
	for _, f := range told {
		if c.thing != "" && !namesThing(f, c.thing) || hasHappened(f) || withChange(f, c, r.u.Time) == "" {
			continue
		}
		if best != "" {
			others++
		}
		n := sharedTerms(f, topic)
		if c.was != "" && strings.Contains(f, c.was) {
			n++
		}
		if n >= most {
			best, most = f, n
		}
	}
	if most == 0 && (c.agreed && others > 0 || c.vague && c.thing == "" && c.mayTellTheTime(r.u.Time)) {
		return "" // any of them may be meant, or none
	}
	return best
}

// mayTellTheTime reports whether a value may be the time at which it is said.
func (c *change) mayTellTheTime(at time.Time) bool {
	switch {
	case c.value.kind != valueDay:
		return c.value.kind == valueHour || onlyNumber.MatchString(c.value.text)
	case onlyWeekday.MatchString(c.value.text):
		return strings.EqualFold(anyWeekday.FindString(c.value.text), at.Weekday().String()) || strings.HasSuffix(c.value.text, hanWeekdays[at.Weekday()])
	}
	found := when.Parse(c.value.text, at)
	return len(found) == 1 && !found[0].From.After(at) && found[0].To.After(at)
}

// hanWeekdays are the ends of the names of the days of the week.
var hanWeekdays = [...]string{"日", "一", "二", "三", "四", "五", "六"}

// hasHappened reports whether a fact is of what has happened, which cannot be moved.
func hasHappened(f string) bool {
	if isHan(f) {
		return hanHappened.MatchString(f)
	}
	return happened.MatchString(f) || endsSomething.MatchString(f) && !strings.Contains(f, " now")
}

var (
	happened    = regexp.MustCompile(`^(?:[^.,]*?\b)?(?:was|were|went|had|did|got|came|saw|took|made|bought)\b`)
	hanHappened = regexp.MustCompile(`过。?$|取消了`)
)

// sharedTerms returns how many content words of a fact are in a question.
func sharedTerms(fact, question string) int {
	if question == "" || isHan(fact) != isHan(question) {
		return 0
	}
	asked, n := parseFact(question).terms, 0
	for t := range parseFact(fact).terms {
		if asked[t] && !text.IsTimeWord(t) {
			n++
		}
	}
	return n
}

// namesThing reports whether a fact is of a thing: "the statistics exam" is no chemistry exam.
func namesThing(fact, thing string) bool {
	if isHan(thing) {
		owner, thing, _ := cutOwner(thing)
		if !strings.Contains(fact, strings.TrimPrefix(owner, "我")) {
			return false
		}
		return strings.Contains(fact, thing) || strings.Contains(fact, hanActOf[thing]) && hanActOf[thing] != ""
	}
	words := factWords(fact)
	stems := thingWords(thing)
	return len(stems) > 0 && !slices.ContainsFunc(stems, func(w string) bool { return !slices.Contains(words, strings.TrimSuffix(w, "'")) })
}

// hanActOf are the verbs for what has a name of two characters.
var hanActOf = map[string]string{"考试": "考", "面试": "面试", "搬家": "搬", "航班": "飞", "机票": "飞", "英语课": "课", "检查": "查"}

// cutOwner splits 小王的课 into whose it is and the thing.
func cutOwner(s string) (owner, thing string, ok bool) {
	if at := strings.LastIndex(s, "的"); at > 0 && at+len("的") < len(s) {
		return s[:at], s[at+len("的"):], true
	}
	return "", s, false
}

// factWords returns the words of a fact as stems.
func factWords(s string) []string {
	var out []string
	for _, w := range lowerWords(strings.ReplaceAll(s, "'s ", " ")) {
		out = append(out, stemOf(w))
	}
	return out
}

// withChange returns a fact with what changed; "" if the fact has no such value, or has it already.
func withChange(fact string, c *change, at time.Time) string {
	if c.canceled {
		return asCanceled(fact)
	}
	if isHan(fact) != isHan(c.value.text) && hasHan(fact+c.value.text) {
		return ""
	}
	for _, kind := range c.value.comparable() {
		old, ok := onlyValue(fact, kind)
		if !ok {
			old, ok = valueNamed(fact, kind, c.was)
		}
		if !ok || isPast(fact, &old, at) {
			continue
		}
		now := c.value.inFormOf(&old, at)
		if now == "" || strings.EqualFold(now, old.text) || kind == valueAmount && !isLike(now, old.text) {
			return ""
		}
		if isHan(fact) {
			return hanWithNow(fact[:old.start], now, fact[old.end:], kind, c.more)
		}
		return withNow(fact[:old.start], now, fact[old.end:])
	}
	return ""
}

// isLike reports whether an amount may be another value of the same thing: a rent of 700 does not become 12.
func isLike(now, old string) bool {
	a, errA := strconv.ParseFloat(plainNumber(now), 64)
	b, errB := strconv.ParseFloat(plainNumber(old), 64)
	return errA != nil || errB != nil || a <= 4*b && b <= 4*a
}

// plainNumber returns the number at the beginning of an amount.
func plainNumber(s string) string {
	return strings.ReplaceAll(strings.TrimLeft(leadingNumber.FindString(s), "$€£ "), ",", "")
}

// isPast reports whether a fact says a value of what has happened: of a day before at, or in the past.
func isPast(fact string, v *statedValue, at time.Time) bool {
	if v.kind == valueDay && anyYear.MatchString(v.text) && !at.IsZero() {
		found := when.Parse(v.text, at)
		if len(found) == 1 && !found[0].To.IsZero() && found[0].To.Before(at) {
			return true
		}
	}
	if !isHan(fact) {
		return false
	}
	clause := fact[strings.LastIndexAny(fact[:v.start], "，,；;。")+1 : v.end]
	end, _, _ := strings.Cut(fact[v.end:], "，")
	return hanIsDone.MatchString(clause + end)
}

var (
	anyYear   = regexp.MustCompile(`\b\d{4}\b|\d{4}年`)
	hanIsDone = regexp.MustCompile(`[了过]`)
)

// valueNamed returns the value of a kind in a text that has the words of another one.
func valueNamed(s string, kind valueKind, words string) (v statedValue, ok bool) {
	for _, found := range valuesIn(s) {
		if words != "" && found.kind == kind && found.text == words {
			return found, true
		}
	}
	return v, false
}

var (
	beforeValue    = regexp.MustCompile(`\b(?P<be>is|are)(?: now)? (?P<rest>(?:(?:due|set|planned|held) )?(?:(?:on|at|in|for) )?)$`)
	hanBeforeValue = regexp.MustCompile(`(?:现在)?(?:改[到在]?|[定订约]在|定于|是|在)?$`)
	saidNow        = regexp.MustCompile(` now\b`)
)

// withNow returns a fact with a new value and a word that says that it is new.
func withNow(before, value, behind string) string {
	before, behind = saidNow.ReplaceAllString(before, ""), saidNow.ReplaceAllString(behind, "")
	if strings.HasPrefix(behind, " of ") {
		return before + value + strings.TrimRight(behind, ".") + " now."
	}
	if beforeValue.MatchString(before) {
		return beforeValue.ReplaceAllString(before, "$be now $rest") + value + behind
	}
	return before + value + " now" + behind
}

// hanWithNow is withNow for Chinese.
func hanWithNow(before, value, behind string, kind valueKind, more string) string {
	if more != "" && !strings.Contains(behind, more) {
		behind = strings.TrimRight(behind, "。") + more + "。"
	}
	if kind == valueHour && strings.Contains(before, "改到") {
		return before + value + behind
	}
	if kind != valueAmount {
		return hanBeforeValue.ReplaceAllString(before, "") + "改到" + value + behind
	}
	before = strings.ReplaceAll(before, "现在", "")
	if head, ok := strings.CutSuffix(before, "是"); ok {
		return head + "现在是" + value + behind
	}
	if subject := hanFactSubject(before); subject != "" {
		return subject + "现在" + strings.TrimPrefix(before, subject) + value + behind
	}
	return "现在" + before + value + behind
}

var (
	onADay         = regexp.MustCompile(`^(?P<k>.*?) (?:is|are)(?: now)? (?:due |set |planned |scheduled )?(?:on|at|in|for) .*$`)
	doingAhead     = regexp.MustCompile(`^(?P<k>.*?) (?P<be>is|are) (?P<v>\p{Ll}+ing\b.*)$`)
	hanPlannedHere = regexp.MustCompile(`^(?:打算|准备|计划|要)`)
)

// asCanceled returns a fact of something planned as one that it is off; "" if nothing is planned.
func asCanceled(fact string) string {
	_, hasDay := onlyValue(fact, valueDay)
	if isHan(fact) {
		subject := hanFactSubject(fact)
		rest := strings.TrimPrefix(fact, subject)
		isPlan := hanPlannedHere.MatchString(rest)
		if subject == "" || strings.HasPrefix(rest, "的") || !isPlan && !hasDay {
			return ""
		}
		return subject + "取消了" + strings.TrimRight(hanPlannedHere.ReplaceAllString(rest, ""), "。") + "的计划。"
	}
	switch {
	case !hasDay:
		return ""
	case onADay.MatchString(fact):
		return onADay.ReplaceAllString(fact, "$k was cancelled.")
	case doingAhead.MatchString(fact):
		return doingAhead.ReplaceAllString(fact, "$k $be no longer $v")
	}
	return ""
}

// changesIn returns all changes that a sentence tells.
func changesIn(s string) []change {
	if isHan(s) {
		return hanChangesIn(s)
	}
	if c, ok := changeOf(s); ok {
		return withHour(strings.TrimSpace(s), c)
	}
	return nil
}

var (
	whetherStill = regexp.MustCompile(`(?i)\bstill\b.*\?|还(?:是|在|要|吃|住|去|按).*[?？吗]`)
	answersStill = regexp.MustCompile(`(?i)^(?:no|nope|not any ?more|actually|yes|不是?了?|没有|有|现在)?[,，. ]*(?:it's |now |on |at |现在是?|是)?$`)
)

// changeByAnswer returns the value that the answer to a question whether something still has a value says instead.
func changeByAnswer(question, s string) (c change, ok bool) {
	if !whetherStill.MatchString(question) || strings.ContainsAny(s, "?？") || isHan(question) != isHan(s) {
		return c, false
	}
	s = strings.TrimSpace(s)
	found := valuesIn(s)
	if len(found) == 0 || !answersStill.MatchString(s[:found[0].start]) {
		return c, false
	}
	for _, kind := range found[0].comparable() {
		if old, asked := onlyValue(question, kind); asked && old.text != found[0].text {
			return change{value: found[0], was: old.text}, true
		}
	}
	return c, false
}

// changesValue returns what an older fact says with the value that a fact says that the same thing has now; "" if the fact
// says no such thing. exact says that nothing else can be meant.
func (f *factFrame) changesValue(old *factFrame) (now string, exact bool) {
	switch {
	case isHan(f.text) != isHan(old.text):
		return "", false
	case f.differsInValue(old):
		return f.text, true
	case old.negated:
		return "", false
	}
	for _, c := range changesIn(f.text) {
		owner := f.subject
		if m := putOff.FindStringSubmatch(f.text); m != nil && c.thing == "" {
			c.thing = m[1]
		}
		if c.thing == "" && sameMeasure(&c.value, old) && f.startsLike(old) {
			return withChanges(old.text, changesIn(f.text), time.Time{}), false
		}
		if c.canceled || c.thing == "" || !namesThing(old.text, c.thing) || !f.mayBeOf(owner, old) {
			continue
		}
		if now = withChange(old.text, &c, time.Time{}); now != "" {
			return now, false
		}
	}
	return "", false
}

// putOff matches what a fact says was moved, before it says when it is.
var putOff = regexp.MustCompile(`^(\p{Lu}[^,.;]{3,60}?) (?:was|were|is|has been|got|had to be) (?:` + changed + `|put off|cancell?ed)\b`)

// sameMeasure reports whether an amount has the measure word of the only amount of an older fact: 五百瓶 and 三百瓶.
func sameMeasure(v *statedValue, old *factFrame) bool {
	was, ok := onlyValue(old.text, valueAmount)
	unit := strings.TrimPrefix(v.text, leadingNumber.FindString(v.text))
	return ok && v.kind == valueAmount && unit != "" && strings.HasSuffix(was.text, unit)
}

// startsLike reports whether a Chinese fact is about the person with whose name an older one begins, or somebody of theirs.
func (f *factFrame) startsLike(old *factFrame) bool {
	person, _, _ := strings.Cut(f.subject, "的")
	return person != "" && strings.HasPrefix(old.text, person)
}

// withChanges returns a fact with all changes that it has a value for.
func withChanges(fact string, changes []change, at time.Time) string {
	for i := range changes {
		if now := withChange(fact, &changes[i], at); now != "" {
			fact = now
		}
	}
	return fact
}

// mayBeOf reports whether a fact may be about something of an older fact's subject. A thing whose owner is not said may be
// anybody's but a relative's.
func (f *factFrame) mayBeOf(owner string, old *factFrame) bool {
	if owner == "" || owner == "the" {
		return !strings.Contains(old.subject, "'s") && !strings.Contains(old.subject, "的")
	}
	return owner == old.subject || sameSubject(owner, old.subject) || old.subject == "" && f.startsLike(old)
}

// saysNow matches the words by which a fact says that a value is new.
var saysNow = regexp.MustCompile(`(?i) now\b| instead\b|现在|改[到在]?|[定订约]在|定于|是|在`)

// differsInValue reports whether a fact says the same as an older one but for a value, and that the value is new.
func (f *factFrame) differsInValue(old *factFrame) bool {
	if !sinceNow.MatchString(f.text) && !strings.Contains(f.text, "现在") && !strings.Contains(f.text, "改到") {
		return false
	}
	isPlaceToo := !isHan(f.text) || strings.Contains(f.text, "改到")
	a, b := f.text, old.text
	return withoutValues(a, isPlaceToo) == withoutValues(b, isPlaceToo) && !slices.Equal(valuesOf(a), valuesOf(b))
}

// valuesOf returns the values of a text in their words.
func valuesOf(s string) []string {
	var out []string
	for _, v := range valuesIn(s) {
		out = append(out, v.text)
	}
	return out
}

// withoutValues returns a text with the kinds of its values in place of them, and without what says that one is new.
func withoutValues(s string, placeToo bool) string {
	for _, v := range slices.Backward(valuesIn(s)) {
		if v.kind != valuePlace || placeToo {
			s = s[:v.start] + " " + string(v.kind) + " " + s[v.end:]
		}
	}
	return strings.Join(text.Words(saysNow.ReplaceAllString(s, "")), " ")
}
