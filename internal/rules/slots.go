package rules

import (
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// slotRule reads a single-valued relation from the text behind a subject. The value is the group
// named v; a rule without that group has a fixed value. The group named k, if any, is added to
// the relation's name.
type slotRule struct {
	relation string
	form     *regexp.Regexp
	value    string
	ends     bool // the relation no longer has the value
	oneWord  bool // the value is one word
}

// noValueLeft is the value of a relation that has none any more.
const noValueLeft = "none"

const (
	properName = `\p{Lu}[\p{L}'’.-]*(?: \p{Lu}[\p{L}'’.-]*){0,3}`
	placeName  = `(?:the )?\p{Lu}[\p{L}'’.-]*(?:,? \p{Lu}[\p{L}'’.-]*){0,3}`
	jobName    = `(?:an? )?[\p{L}' -]{3,40}?`
	valueEnd   = `(?:[.,;!]|$| and | but | because | since | in | at | for | on | now| instead| with | where | who )`
)

// jobEnded matches the end of a working life at one place or at all.
var jobEnded = regexp.MustCompile(`\b(?:lost (?:their|his|her) job|(?:got|was|were) (?:laid off|fired|made redundant)|is (?:now )?(?:unemployed|retired)|quit (?:their|his|her) job|retired(?:[.,;!]|$| in | on | from | last ))`)

var englishSlotRules = []slotRule{
	{"name", regexp.MustCompile(`(?:'s|^) (?:real |full |first |actual )?name(?: is|'s)(?: actually| really)? (?P<v>` + properName + `)`), "", false, false},
	{"name", regexp.MustCompile(`^\s*(?:is|goes by|is called|is named)(?: called| named)? (?P<v>` + properName + `), not ` + properName), "", false, false},
	{"name", regexp.MustCompile(`^\s*(?:goes by|is called|is named) (?P<v>` + properName + `)`), "", false, false},
	{"lives_in", regexp.MustCompile(`\b(?:lives?|living|resides?|residing|is based|settled) (?:\w+ )?in (?P<v>` + placeName + `)`), "", false, false},
	{"lives_in", regexp.MustCompile(`\b(?:moved|has moved|relocated|has relocated|moved back|just moved)(?: \w+)? ?(?:from ` + placeName + ` )?to (?P<v>` + placeName + `)`), "", false, false},
	{"works_at", regexp.MustCompile(`\b(?:works|is working|work) (?:\w+ )?(?:at|for) (?P<v>` + placeName + `)`), "", false, false},
	{"works_as", regexp.MustCompile(`\b(?:works|is working|is employed) (?:\w+ )?as (?P<v>` + jobName + `)` + valueEnd), "", false, false},
	{"works_as", regexp.MustCompile(`'s (?:new |current )?(?:job|occupation|profession) is (?P<v>` + jobName + `)` + valueEnd), "", false, false},
	{"lives_in", regexp.MustCompile(`^ is (?:finally |now )*in (?P<v>` + placeName + `) now(?:[.!,;]|$)`), "", false, false},
	{"lives_in", regexp.MustCompile(`^ is (?:finally )?now in (?P<v>` + placeName + `)(?:[.!,;]|$)`), "", false, false},
	{"lives_in", regexp.MustCompile(`\b(?:moved (?:out of|away from)|no longer lives in) (?P<v>` + placeName + `)`), "", true, false},
	{"works_at", regexp.MustCompile(`\b(?:joined|started (?:working )?at|got a (?:new )?job (?:at|with)|has a (?:new )?job (?:at|with)) (?P<v>` + properName + `)`), "", false, false},
	{"works_at", regexp.MustCompile(`\bleft (?P<v>` + properName + `)(?:[.,;!]|$| and | for (?:good|another)| in (?:\d|\p{Lu}))`), "", true, false},
	{"works_at", regexp.MustCompile(`\b(?:quit|resigned from|(?:got|was) fired from|stopped working (?:at|for)) (?P<v>` + properName + `)`), "", true, false},
	{"works_at", jobEnded, noValueLeft, false, false},
	{"works_as", jobEnded, noValueLeft, false, false},
	{"studies", regexp.MustCompile(`^ (?:is |still |now )*(?:stud(?:ies|ying)|a student)\b`), "yes", false, false},
	{"studies", regexp.MustCompile(`\bdropped out\b`), noValueLeft, false, false},
	{"partner", regexp.MustCompile(`\bha(?:s|ve) (?:an? )?(?:new )?(?:boyfriend|girlfriend|partner)\b|\bis dating\b|\bin a relationship\b`), "yes", false, false},
	{"marital_status", regexp.MustCompile(`\b(?:broke up|split up)\b`), "separated", false, false},
	{"partner", regexp.MustCompile(`\b(?:broke up|split up|have separated|is single)\b`), noValueLeft, false, false},
	{"own", regexp.MustCompile(`^'s (?:new |current )?(?P<k>(?:\p{Ll}+ )?(?:exam|appointment|flight|meeting|interview|wedding|deadline|surgery|presentation)) (?:is(?: now)?|(?:was|has been|got|is|is being) (?:moved|postponed|rescheduled|pushed|shifted)(?: back| forward)? to) (?:on |for )?(?P<v>(?:the )?(?:\d|` + monthName.String() + `)[^.;!,]{0,40})`), "", false, false},
	{"follows_diet", regexp.MustCompile(`\b(?:vegetarian|veggie)\b`), "vegetarian", false, false},
	{"follows_diet", regexp.MustCompile(`\bvegan\b`), "vegan", false, false},
	{"follows_diet", regexp.MustCompile(`\bpescatarian\b`), "pescatarian", false, false},
	{"follows_diet", regexp.MustCompile(`\b(?:eats|eating|eat|started eating) (?:meat|everything)\b`), "meat", false, false},
	{"age", regexp.MustCompile(`\b(?:is|turned|turns|just turned|am) (?P<v>\d{1,3})(?: years? old| this| today| on| in|[.,]|$)`), "", false, false},
	{"marital_status", regexp.MustCompile(`\b(?:is|got|gets|are) (?:\w+ )?(?P<v>married|divorced|engaged|separated|widowed|single)\b`), "", false, false},
	{"favorite", regexp.MustCompile(`\bfavou?rite (?P<k>[\p{L} ]{2,25}?) (?:is|are) (?P<v>[\p{L}\d' -]{2,40}?)` + valueEnd), "", false, false},
	{"own", regexp.MustCompile(`^(?:'s)? (?:new |current )?(?P<k>birthday|address|email|email address|phone number|phone|hometown|nationality|birth date|blood type|native language|middle name|last name|first name|surname|nickname) is (?:on |in |now )?(?P<v>[^.;!]{1,60})`), "", false, false},
}

var dietWords = regexp.MustCompile(`(?i)\b(?:is|became|become|turned|going|went|isn't|remains|been|as|not|longer|no|strict|a|an|now|still|being) (?:\w+ ){0,2}(?:vegetarian|veggie|vegan|pescatarian)(?:[.,;!]|$| now| any| and| but| for| since| because| diet)|\b(?:eats?|eating) (?:meat|everything)\b`)

// englishSlots reads the single-valued relations in the text behind the subject of a fact.
func englishSlots(rest string) []slot {
	not := negationWords.MatchString(rest)
	var out []slot
	for _, r := range englishSlotRules {
		if r.relation == "follows_diet" && !dietWords.MatchString(rest) {
			continue
		}
		m := r.form.FindStringSubmatch(rest)
		if len(m) == 0 || strings.HasPrefix(rest, "'s ") && !ofPossession(r.relation, m[0]) {
			continue // "Ana's neighbors split up" says nothing of Ana
		}
		s := slot{relation: r.relation, value: r.value, negated: not || r.ends}
		if r.value == "" {
			s.value = slotValue(m[r.form.SubexpIndex("v")])
		}
		if k := r.form.SubexpIndex("k"); k > 0 {
			s.relation += "_" + strings.ReplaceAll(text.Fold(m[k]), " ", "_")
		}
		if r.relation == "name" && strings.Contains(rest, ", not ") {
			s.negated = false
		}
		if s.value != "" && !hasSlot(out, s.relation) {
			out = append(out, s)
		}
	}
	return out
}

// ofPossession reports whether a value is one of what a person has, such as a name or a favorite.
func ofPossession(relation, found string) bool {
	return strings.HasPrefix(found, "'s ") || relation == "name" || relation == "favorite" || relation == "own"
}

// slotValue returns a value in the form in which values are compared: folded, without an article.
func slotValue(v string) string {
	v = strings.Trim(text.Fold(v), " .,;'’")
	for _, article := range []string{"a ", "an ", "the "} {
		v = strings.TrimPrefix(v, article)
	}
	return v
}

func hasSlot(list []slot, relation string) bool {
	for _, s := range list {
		if s.relation == relation {
			return true
		}
	}
	return false
}

var hanSlotRules = []slotRule{
	{"name", regexp.MustCompile(`(?:名字(?:其实)?(?:是|叫)|叫做?|的名字叫)(?P<v>[\p{Han}A-Za-z]{1,8}?)(?:[，,。；、]|$|不)`), "", false, false},
	{"lives_in", regexp.MustCompile(`(?:住在|现居|定居在?|生活在)(?P<v>[\p{Han}A-Za-z]{2,8}?)(?:[，,。；、了]|$|的|工作|上)`), "", false, false},
	{"lives_in", regexp.MustCompile(`(?:搬家?|迁居?|移居)(?:到|去|来|回|至)?了?(?P<v>[\p{Han}A-Za-z]{2,8}?)(?:[，,。；、了]|$|住|居住|定居|工作|生活|来|去)`), "", false, false},
	{"lives_in", regexp.MustCompile(`在(?P<v>[\p{Han}A-Za-z]{2,4}?)(?:生活|定居|居住)`), "", false, false},
	{"lives_in", regexp.MustCompile(`(?:^ ?的?|现在|目前)(?:家(?:现在|目前)?在|住)(?P<v>[\p{Han}A-Za-z]{2,8}?)(?:[，,。；、了]|$)`), "", false, false},
	{"works_at", regexp.MustCompile(`在(?P<v>[\p{Han}A-Za-z]{2,12}?)(?:工作|上班|任职)`), "", false, false},
	{"works_at", regexp.MustCompile(`(?:加入|入职|跳槽到|跳槽去)了?(?P<v>[\p{Han}A-Za-z]{2,12}?)(?:[，,。；、工]|$)`), "", false, false},
	{"works_at", regexp.MustCompile(`(?:离开|辞去)了?(?P<v>[\p{Han}A-Za-z]{2,12}?)(?:[，,。；、的]|$)`), "", true, false},
	{"works_at", regexp.MustCompile(`辞职了|失业了|被裁了?|退休了`), noValueLeft, false, false},
	{"lives_in", regexp.MustCompile(`(?:现在|目前|已经)在(?P<v>[\p{Han}A-Za-z]{2,4}?)了?(?:[，,。；、！!]|$)`), "", false, true},
	{"works_as", regexp.MustCompile(`(?:的(?:工作|职业)是|当(?:上)?了?(?:一?(?:名|个|位))|是一?(?:名|位))(?P<v>[\p{Han}]{2,8}?)(?:[，,。；、了]|$)`), "", false, false},
	{"follows_diet", regexp.MustCompile(`素食|吃素`), "素食", false, false},
	{"follows_diet", regexp.MustCompile(`(?:又|开始|可以|重新|也|能)吃(?:肉|荤)`), "吃肉", false, false},
	{"age", regexp.MustCompile(`(?P<v>\d{1,3}|[一二三四五六七八九十百]{1,4})岁`), "", false, false},
	{"marital_status", regexp.MustCompile(`结婚了|已婚|已经结婚`), "已婚", false, false},
	{"marital_status", regexp.MustCompile(`离婚|离异`), "离婚", false, false},
	{"marital_status", regexp.MustCompile(`单身`), "单身", false, false},
	{"favorite", regexp.MustCompile(`最(?:喜欢|爱)的(?P<k>\p{Han}{1,6}?)是(?P<v>[\p{Han}A-Za-z]{1,12}?)(?:[，,。；、]|$)`), "", false, false},
	{"own", regexp.MustCompile(`的?(?P<k>生日|电话|邮箱|地址|老家|国籍)(?:号码)?(?:是|在)(?P<v>[^。，,；]{1,40})`), "", false, false},
}

// hanSlots is englishSlots for Chinese.
func hanSlots(rest string) []slot {
	var out []slot
	for _, r := range hanSlotRules {
		at := r.form.FindStringSubmatchIndex(rest)
		if at == nil {
			continue
		}
		if r.relation == "lives_in" && hanPlan.MatchString(rest[:at[0]]) {
			continue // a place where somebody intends to live
		}
		m := r.form.FindStringSubmatch(rest)
		if r.oneWord && len(grammar.Chinese(m[r.form.SubexpIndex("v")])) != 1 {
			continue
		}
		s := slot{relation: r.relation, value: r.value, negated: r.ends || hanNegation.MatchString(rest[:at[1]])}
		if r.value == "" {
			s.value = text.Fold(m[r.form.SubexpIndex("v")])
		}
		if k := r.form.SubexpIndex("k"); k > 0 {
			s.relation += "_" + m[k]
		}
		if !hasSlot(out, s.relation) {
			out = append(out, s)
		}
	}
	return out
}

// hanNormalizer removes emphasis and replaces words of one meaning by one of them.
var hanNormalizer = strings.NewReplacer("非常", "", "特别", "", "真的", "", "十分", "", "很", "", "挺", "", "最近", "", "现在", "", "一直", "", "超级", "", "超", "", "已经", "",
	"喜欢去", "喜欢", "热爱去", "喜欢", "酷爱", "喜欢", "爱去", "喜欢", "热爱", "喜欢", "喜爱", "喜欢", "爱好", "喜欢", "爱", "喜欢", "居住", "住", "是个", "是", "是一个", "是", "是一名", "是", "了", "", "的", "", "也", "", "都", "")

// The forms of trips: the verbs and nouns of traveling, and the place.
var (
	journeyWords   = `(?:trips?|journeys?|travel(?:s|l?ing|led)?|vacation|holidays?|getaway|honeymoon|tour|cruise|visit(?:s|ing)?|flights?|fly(?:ing)?|flies|go(?:es|ing)?|head(?:s|ing)?|driv(?:e|es|ing)|stay(?:s|ing)?|return(?:s|ing)?|make it)`
	tripTo         = regexp.MustCompile(`\b` + journeyWords + `(?: \p{Ll}+){0,3}? (?:to|in|for|around|through) ` + destination)
	visitOf        = regexp.MustCompile(`\b(?:visit(?:s|ing)?|tour(?:s|ing)?|see(?:s|ing)?|explor(?:e|es|ing)) ` + destination)
	namedTrip      = regexp.MustCompile(`\b(?P<v>` + properName + `) (?:trip|journey|vacation|holiday|getaway|honeymoon|tour|cruise|visit|flight)\b`)
	placeSeparator = regexp.MustCompile(`,? (?:and|or) (?:to )?|, `)
	monthName      = regexp.MustCompile(`\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b`)

	// calledOffPlan matches a statement that a plan is canceled.
	calledOffPlan = regexp.MustCompile(`(?i)\b(?:cancel(?:l?ed|s|l?ing)?|call(?:ed|s|ing)? off|calls? it off|back(?:ed|s)? out|gave up|given up|dropped|scrapped|fell through|skipping|changed (?:\p{Ll}+ )?minds? about|no longer|(?:decided|going|plans?|planning|intends?) (?:not to|against)|` +
		`not (?:\p{Ll}+ )?(?:any ?more|going|travell?ing|visiting|flying|planning|heading|driving|go|travel|visit|fly|make it)|(?:isn't|aren't|won't|can't|cannot|doesn't|don't|not)(?: \p{L}+){1,6} any ?more|` +
		`(?:isn't|aren't) (?:going|travell?ing|visiting|flying|planning|heading|driving)|(?:won't|can't|cannot) (?:be )?(?:go|going|travel|travell?ing|visit|visiting|fly|flying|make it))\b`)
	// intention matches words that express an intention.
	intention = regexp.MustCompile(`(?i)\b(?:hopes? to|wants? to|decided to|about to|is due to|trip)\b|订|预约|报名`)
	// beenOrLiked matches statements that somebody was at a place, or likes it. Neither is a
	// plan.
	beenOrLiked = regexp.MustCompile(`\b(?:visited|went|travell?ed|flew|drove|been|returned|came|stayed|used to|loves?|likes|enjoys?|adores?|hates|dislikes|lives?)\b|去过|到过|来过|去了|喜欢|爱|讨厌|住在`)
	segmentEnds = regexp.MustCompile(`(?i)[,;.]\s\p{Ll}|\s[–—-]\s|\s(?:but|because|so|since|while|when|which|who|if|as|and (?:instead|then|\p{Ll}))\b`)
)

const destination = `(?P<v>` + `(?:the )?\p{Lu}[\p{L}'’.-]*(?:(?:,? (?:and|or) (?:to )?|, | )\p{Lu}[\p{L}'’.-]*){0,5}|(?:the|an?|my|our|their|his|her) \p{Ll}+)`

// tripsIn returns the places of the trips that a text mentions, folded.
func tripsIn(s string) []string {
	var out []string
	for _, form := range []*regexp.Regexp{tripTo, visitOf, namedTrip} {
		for _, m := range form.FindAllStringSubmatch(s, 4) {
			for _, place := range placeSeparator.Split(m[form.SubexpIndex("v")], -1) {
				if v := slotValue(place); v != "" && !monthName.MatchString(place) {
					out = append(out, v)
				}
			}
		}
	}
	return out
}

// canceledTrips returns the places of the trips that a text cancels.
func canceledTrips(rest string) []string {
	at := calledOffPlan.FindStringIndex(rest)
	if at == nil {
		return nil
	}
	start, end := 0, len(rest)
	for _, m := range segmentEnds.FindAllStringIndex(rest, 16) {
		if m[0] <= at[0] {
			start = m[0]
		} else if m[0] >= at[1] {
			end = m[0]
			break
		}
	}
	return tripsIn(rest[start:end])
}

// cancels reports whether a fact cancels the trip that an older fact plans.
func (f *factFrame) cancels(old *factFrame) bool {
	if len(f.canceledTrips) == 0 || old.negated || beenOrLiked.MatchString(old.text) ||
		!planned.MatchString(old.text) && !futureWords.MatchString(old.text) && !intention.MatchString(old.text) {
		return false
	}
	trips := old.trips()
	for _, place := range trips {
		if !slices.Contains(f.canceledTrips, place) {
			return false // this trip is not canceled
		}
	}
	months, oldMonths := monthName.FindAllString(leadingDate.ReplaceAllString(f.text, ""), 4), monthName.FindAllString(leadingDate.ReplaceAllString(old.text, ""), 4)
	otherMonths := len(months) > 0 && len(oldMonths) > 0 && !slices.ContainsFunc(months, func(m string) bool { return slices.Contains(oldMonths, m) })
	return len(trips) > 0 && !otherMonths
}

// trips returns the places of the trips of a fact.
func (f *factFrame) trips() []string {
	if isHan(f.text) {
		return hanTripsIn(f.text)
	}
	return tripsIn(f.text)
}

// The ways to say that somebody likes something. normalizeLiking and putSubjectFirst rewrite them
// to one.
var (
	likingOf   = regexp.MustCompile(`\b(?:fond of|keen on|crazy about|mad about|passionate about|enthusiastic about|in love with|obsessed with|an? (?:\p{Ll}+ ){0,2}(?:fan|lover) of)\b`)
	likingInto = regexp.MustCompile(`\b((?:is|are|was|been|isn't|wasn't)(?: \p{Ll}+){0,2}) into\b`)
	passion    = regexp.MustCompile(`\b(?:has|have|had) (?:an? )?(?:\p{Ll}+ ){0,2}(?:passion|love|fondness) (?:for|of)\b|\b(?:gets?|takes?|finds?) (?:\p{Ll}+ ){0,3}(?:joy|pleasure|delight) (?:from|in|out of)\b|\bcan't get enough of\b`)
	lover      = regexp.MustCompile(`\bis an? (?:\p{Ll}+ ){0,2}?(\p{Ll}+ing) (?:lover|enthusiast|fan|fanatic|addict)\b`)
	avid       = regexp.MustCompile(`\bis an? (?:\p{Ll}+ )?(?:avid|keen|passionate|enthusiastic) (\p{Ll}+)er\b`)
	// likingFiller matches words between a liking and an activity that add nothing.
	likingFiller = regexp.MustCompile(`\b((?:like|love|enjoy|ador|lik|lov)(?:s|es|e|d|ed|ing)?(?: \p{Ll}+ly)?) (?:(?:to )?spend(?:ing)? time )?(?:` +
		`(?:to )?go(?:es|ing)? (?:out )?(?:for|on) (?:an? |the )?|(?:to )?go(?:es|ing)? (?:out )?(\p{Ll}+ing\b)|(?:to )?(?:do(?:es|ing)?|practi[cs](?:e|ing)) )`)
	likingEmphasis = regexp.MustCompile(`(?i)\b(?:more than anything(?: else)?(?: in the world)?|with all (?:my|her|his|their) heart|to death|a great deal|a ton|tons|a bunch|to bits|as a hobby|in (?:my|her|his|their) (?:free|spare) time)\b`)

	subjectName     = `(?P<who>[Tt]he user|\p{Lu}[\p{L}-]*)`
	pastime         = `(?:things?|hobb(?:y|ies)|pastimes?|activity|activities|passions?)`
	likedThing      = regexp.MustCompile(`^(?P<what>[^.,;!]{2,60}?) (?:is|are) (?:\p{Ll}+ly )?(?:something|an? (?:thing|activity|hobby|sport)) (?:that |which )?` + subjectName + `(?: \p{Ll}+){0,2}? (?:likes?|loves?|enjoys?|adores?|is (?:\p{Ll}+ )?(?:fond of|into|keen on|passionate about))\b`)
	oneOfFavorites  = regexp.MustCompile(`^(?P<what>[^.,;!]{2,60}?) (?:is|are) (?:\p{Ll}+ly )?(?:one of )?` + subjectName + `['’]s (?:(?:most |all-time )?(?:favou?rite|biggest|greatest|main|big|great) )?` + pastime + `(?: to do| in life)?[.!]?$`)
	favoritePastime = regexp.MustCompile(`^` + subjectName + `['’]s favou?rite ` + pastime + `(?: to do)? (?:is|are) (?P<what>[^.,;!]{2,60}?)[.!]?$`)
)

// putSubjectFirst rewrites a sentence that begins with what somebody likes, or that calls it a
// favorite thing or hobby: "Hiking is something Ana loves" becomes "Ana likes hiking".
func putSubjectFirst(s string) string {
	for _, form := range []*regexp.Regexp{likedThing, oneOfFavorites, favoritePastime} {
		if m := form.FindStringSubmatch(s); m != nil {
			who := m[form.SubexpIndex("who")]
			return upperFirst(who) + " likes " + strings.ToLower(m[form.SubexpIndex("what")])
		}
	}
	return s
}

// normalizeLiking rewrites the ways to say that somebody likes something to one verb, followed
// directly by what they like.
func normalizeLiking(rest string) string {
	rest = likingOf.ReplaceAllString(rest, "liking")
	rest = likingInto.ReplaceAllString(rest, "$1 liking")
	rest = passion.ReplaceAllString(rest, "likes")
	rest = lover.ReplaceAllString(rest, "likes $1")
	rest = avid.ReplaceAllString(rest, "likes ${1}ing")
	return likingEmphasis.ReplaceAllString(likingFiller.ReplaceAllString(rest, "$1 $2"), "")
}
