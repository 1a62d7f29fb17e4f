package rules

import (
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file finds what a fact ends without naming it in the words of the older fact: "sold the van" ends "drives a 2009
// Transporter", "quit in May" ends "works at the tax office", and "split up" ends "is engaged". An older fact has a class
// by its verb and its nouns, and the new one ends a thing or all of a class.

// classForm is the form of what a fact says behind its subject, and the class it is of.
type classForm struct {
	class thingClass
	form  *regexp.Regexp
}

// jobEnding is the end of the name of a job.
const jobEnding = `(?:er|or|ist|ian|ant|man|woman|nurse|chef|vet|clerk|cook|guard|guide|pilot|smith|monger|tutor|trainee|apprentice|intern|nanny)`

var (
	// holds are the forms of facts that somebody has something of a class.
	holds = []classForm{
		{classVehicle, regexp.MustCompile(`^ (?:still |mostly |usually )?(?:drives|rides|gets (?:to|around|about)\b.* by)\b`)},
		{classHome, regexp.MustCompile(`^ (?:still |now |currently )?(?:lives|is living|rents|is renting|shares|stays|resides|has (?:an? |the )?(?:\p{L}+ ){0,2}(?:flat|apartment|house|room|bungalow|cottage|studio)|moved (?:in|into|to)|has moved (?:in|into|to))\b|^'s (?:home |postal |new )?address is\b`)},
		{classJob, regexp.MustCompile(`^ (?:still |now |also |currently )?(?:works|is working|is employed|is an? (?:\p{Ll}+ ){0,3}\p{Ll}*` + jobEnding + `\b|runs an?|teaches|deliver\p{L}* the (?:post|mail)|drives an? (?:bus|taxi|cab|tram|train|ambulance|lorry|truck))\b|^'s (?:job|work|occupation) is\b`)},
		{classCourse, regexp.MustCompile(`^ (?:still |now |currently )?(?:is (?:doing|taking|attending|learning|studying|enrolled)|takes|attends|learns|studies|goes to)\b`)},
		{classGroup, regexp.MustCompile(`^ (?:still |now |also |mostly |currently )?(?:sings|plays|rows|trains|coaches|dances|swims|boxes|climbs|skates|practi[sc]es|volunteers|is (?:a member|in|on)|goes|belongs|acts|bowls|fences|rehearses|does|boulders)\b`)},
		{classPartner, regexp.MustCompile(`^ (?:still |now )?(?:is|are) (?:engaged|dating|seeing|in a relationship|together|with \p{Lu})|^ (?:has|have) an? (?:new )?(?:boyfriend|girlfriend|partner|fiancée?)\b|^'s (?:boyfriend|girlfriend|partner|fiancée?) is\b|^'s wedding is\b|^ (?:moved in|lives|live) (?:together|with (?:their|his|her) (?:boyfriend|girlfriend|partner|fiancée?))`)},
		{classTrip, regexp.MustCompile(`^ (?:(?:is |are )(?:flying|going|travell?ing|leaving|off|driving|sailing) (?:to|on|for|\p{Ll}+ing)\b|(?:flies|travels|leaves|sails) )`)},
	}
	// ends are the forms of facts that everything of a class has ended.
	ends = []classForm{
		{classJob, regexp.MustCompile(`^ (?:(?:is|works as) (?:an? |the )?(?:\p{Ll}+ ){0,3}\p{Ll}*` + jobEnding + ` (?:now|instead|these days)|(?:is now|became|has become|was promoted to|got promoted to) (?:an? |the )?(?:\p{Ll}+ ){0,3}\p{Ll}*` + jobEnding + `)\b`)},
		{classJob, regexp.MustCompile(`^ ` + endingAdverbs + `(?:quit|resigned|retired|was laid off|got laid off|was fired|was made redundant|lost (?:their|his|her) job|stopped working|handed in (?:their|his|her) notice|left (?:their|his|her) job|gave up (?:their|his|her) job|quit (?:their|his|her) job)(?: (?:in|on|at the end|last|this|early|a|two|because|after|when)\b.*|[,;].*|\.?$)`)},
		{classHome, regexp.MustCompile(`^ ` + endingAdverbs + `(?:moved (?:house|home|out|into|to|in with|back)|lives (?:in|at|with|on) .* now\b|is living (?:in|at|with|on) .* now\b|now lives)\b`)},
		{classPartner, regexp.MustCompile(`^ ` + endingAdverbs + `(?:(?:is|are) (?:not|no longer) (?:together|engaged|with \p{Lu})|(?:isn't|aren't) (?:together|engaged|with \p{Lu})|split up|broke up|separated|divorced|called off (?:the|their) (?:wedding|engagement)|broke off (?:the|their) engagement)\b`)},
		{classTrip, regexp.MustCompile(`^ ` + endingAdverbs + `(?:(?:got|came) (?:back|home)|returned|(?:is|are) back|cancell?ed (?:the |their )?(?:trip|holiday|flight|\p{Lu}\p{L}+)(?:[.,;!]|$)|(?:didn't|did not) go(?:[.,;!]| after all|$))`)},
		{classCourse, regexp.MustCompile(`^'s (?:\p{L}+ ){0,2}(?:course|class|training|lessons) (?:is|are|was) (?:over|finished|done)\b`)},
	}
	// endsThing matches what ended, where the fact names it in words of its own.
	endsThing = []*regexp.Regexp{
		regexp.MustCompile(`^ ` + endingAdverbs + `(?:sold|got rid of|scrapped|traded in|gave away|crashed|wrote off|gave up|had to give up|finished|completed|is out of|is done with|dropped out of|dropped|quit|left|resigned from|retired from|stopped (?:taking|using|doing|attending|going to|playing|singing in)|was taken off|came off|graduated from|passed) (?P<v>[^.,;!]{2,60})`),
		regexp.MustCompile(`^ ` + endingAdverbs + `gave (?P<v>(?:the|their|his|her) [^.,;!]{2,40}?) (?:to|away)\b`),
		regexp.MustCompile(`^ (?:is|are) (?:no longer|not) (?:at|in|on|with|a member of) (?P<v>[^.,;!]{2,60}?)(?: any ?more)?(?:[.,;!]|$)`),
		regexp.MustCompile(`\b(?:replaced|swapped) (?P<v>[^.,;!]{2,40}?) (?:with|by|for) \p{L}`),
		regexp.MustCompile(`^ ` + endingAdverbs + `(?:switched|changed|moved) from (?P<v>[^.,;!]{2,40}?) to \p{L}`),
	}
	// leftForAWhile matches a leaving that ends nothing: for the night, early, at noon.
	leftForAWhile = regexp.MustCompile(`\bleft\b.* on \d|\b(?:left|quit|dropped|passed|finished)\b.* (?:at \d|at (?:noon|night|midnight|home|work)|early|late|today|yesterday|tonight|for (?:the|a|lunch|\p{Lu})|behind|on the|off)\b|\bleft (?:early|late|a |an |some|my keys)|\bnearly\b|\balmost\b|\bnever\b`)
	// endedAlready matches an older fact that holds no more, or not yet.
	endedAlready = regexp.MustCompile(`\b(?:used to|no longer|any ?more|formerly|until \d{4}|sold|quit|was|were|had|planned to|wants? to)\b`)
)

// holding is what an older fact says that somebody has, does or belongs to.
type holding struct {
	classes []thingClass
	things  []namedThing
	listed  bool // there are several, of which one may end
}

// holdings returns what a fact says that its subject has, does or belongs to; nil if it says no such thing.
func (f *factFrame) holdings() *holding {
	if f.negated || isHan(f.text) || endedAlready.MatchString(f.rest) {
		return nil
	}
	h := &holding{things: slices.DeleteFunc(thingsNamed(f.rest), func(t namedThing) bool { return nearby[t.behind] })}
	h.listed = len(h.things) > 1 && strings.Contains(besideList.ReplaceAllString(f.rest, ""), " and ")
	for _, form := range holds {
		if form.form.MatchString(f.rest) {
			h.classes = append(h.classes, form.class)
		}
	}
	if h.has(classJob) {
		h.classes = slices.DeleteFunc(h.classes, func(c thingClass) bool { return c == classVehicle })
	}
	if owning[f.verb] || subscribed.MatchString(f.rest) {
		for _, t := range h.things {
			if t.class != "" {
				h.classes = append(h.classes, t.class)
			}
		}
	}
	return h
}

// besideList matches a clause behind "and", which is no item of a list.
var besideList = regexp.MustCompile(`, and (?:by|then|now|so|when|after|before|on|in|he|she|it|they|\p{Lu}\p{L}+ (?:is|has|can|will))\b.*`)

// nearby are prepositions before what only says where something is.
var nearby = wordSet("near behind above opposite beside outside next across below under")

func (h *holding) has(class thingClass) bool { return slices.Contains(h.classes, class) }

// retires returns what a fact ends of what an older one says, and whether another thing of the class may be meant as
// well, so that it has to be the only one; "" if it ends nothing of it.
func (f *factFrame) retires(old *factFrame) (ended string, onlyOne bool) {
	if isHan(f.text) || isHan(old.text) {
		return "", false
	}
	h := old.holdings()
	switch {
	case h == nil:
		return "", false
	case f.endsLifeOf(h):
		return old.folded, false
	case !sameSubject(f.subject, old.subject) || leftForAWhile.MatchString(f.rest):
		return "", false
	case f.movesWeekday(old):
		return old.folded, true
	}
	for _, form := range ends {
		if h.has(form.class) && form.form.MatchString(f.rest) && !besideOther.MatchString(old.text) && !keepsPlace(form.class, f, h) {
			isPlaced := slices.ContainsFunc(thingsNamed(f.rest), func(t namedThing) bool { return t.proper && t.behind == "from" })
			return string(form.class) + " " + old.folded, form.class == classTrip && !isPlaced || form.class == classCourse
		}
	}
	for _, form := range endsThing {
		m := form.FindStringSubmatch(f.rest)
		if m == nil {
			continue
		}
		named := thingsNamed(m[form.SubexpIndex("v")])
		if len(named) == 0 || isNarrower(m[form.SubexpIndex("v")], old.rest) {
			continue
		}
		if thing, certain := h.thingEndedBy(&named[0]); thing != nil {
			return strings.Join(thing.words, " "), !certain
		}
	}
	return "", false
}

var (
	// died matches the end of a life, weeklyDay the day of what is done every week.
	died      = regexp.MustCompile(`(\p{Lu}\p{L}+) (?:has |had |just )*(?:died|passed away|was put (?:down|to sleep))\b`)
	weeklyDay = regexp.MustCompile(`\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days\b`)
	// sinceNow matches words that say that something holds from now on, in place of what held before.
	sinceNow = regexp.MustCompile(`\b(?:now|instead|nowadays|these days|from now on|any ?more)\b`)
)

// endsLifeOf reports whether a fact tells the death of a pet that a holding names.
func (f *factFrame) endsLifeOf(h *holding) bool {
	m := died.FindStringSubmatch(f.text)
	if m == nil || !slices.ContainsFunc(h.things, func(t namedThing) bool { return t.class == classPet }) {
		return false
	}
	name := stemOf(strings.ToLower(m[1]))
	return slices.ContainsFunc(h.things, func(t namedThing) bool { return slices.Contains(t.words, name) })
}

// movesWeekday reports whether a fact says that what somebody does every week is now on other days.
func (f *factFrame) movesWeekday(old *factFrame) bool {
	days, oldDays := weeklyDay.FindAllString(f.rest, 7), weeklyDay.FindAllString(old.rest, 7)
	if len(days) == 0 || len(oldDays) == 0 || !sinceNow.MatchString(f.rest) || slices.ContainsFunc(days, func(d string) bool { return slices.Contains(oldDays, d) }) {
		return false
	}
	for t := range f.terms {
		if old.terms[t] && !text.IsTimeWord(t) {
			return true
		}
	}
	return false
}

// thingEndedBy returns the thing of a holding that is meant by what ended. certain says that it is named, and not
// only its class.
func (h *holding) thingEndedBy(ended *namedThing) (thing *namedThing, certain bool) {
	if len(h.things) == 0 || len(h.classes) == 0 || h.listed {
		return nil, false
	}
	for i := range h.things {
		t := &h.things[i]
		if ended.isNamedBy(t) && (t.class == "" || h.has(t.class) || t.class == ended.class) {
			return t, true
		}
	}
	first := &h.things[0]
	isNamedOnly := first.proper && first.class == ""
	if ended.class != "" && h.has(ended.class) && (ended.isGeneral() || isNamedOnly && len(ended.words) == 1) {
		return first, false
	}
	return nil, false
}

// keepsPlace reports whether a fact that ends all of a class names what the older one names too: who moved to a flat
// in Leeds may still live in Leeds.
func keepsPlace(class thingClass, f *factFrame, old *holding) bool {
	if class != classHome && class != classTrip {
		return false
	}
	var places, oldPlaces []string
	for _, t := range thingsNamed(f.rest) {
		if t.proper {
			places = append(places, t.words...)
		}
	}
	for _, t := range old.things {
		if t.proper {
			oldPlaces = append(oldPlaces, t.words...)
		}
	}
	shared := slices.ContainsFunc(places, func(p string) bool { return slices.Contains(oldPlaces, p) })
	if class == classHome {
		return shared || len(old.things) == 0
	}
	return !shared && len(places) > 0 && len(oldPlaces) > 0 // another journey
}

// sameSubject reports whether two subjects of facts are one person: the same words, or "Ana's sister Lea" and "Lea" or
// "Ana's sister".
func sameSubject(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	if a == b {
		return true
	}
	rest, isOwner := strings.CutPrefix(b, a+" ")
	isNamedRelative := isOwner && strings.Contains(a, "'s ") && !strings.Contains(rest, " ")
	isName := strings.HasSuffix(b, " "+a) && strings.Contains(b, "'s ") && !kinNouns[a] && !strings.Contains(a, " ")
	return isNamedRelative || isName
}
