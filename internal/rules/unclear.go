package rules

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// emptyTalk matches statements in the first person that say nothing that lasts.
var emptyTalk = regexp.MustCompile(`(?i)^(?:i|we)(?:'ve|'m|'re| have| am| are)?(?: just| also| really| still| got| had| even)* (?:(?:got |some |a few |more |great |good |bad |exciting |big |awesome |amazing |cool |crazy |fun |sad |huge |wonderful |fantastic )+news\b|been (?:ages|a while|so long|forever)\b|trying to (?:stay|keep|remain|be) (?:positive|motivated|strong|calm|hopeful|going|patient)|(?:hoping|looking) for (?:some |the )?(?:positive |good |big |best)*(?:changes?|luck|future|best)\b|determined to (?:make (?:it|a |some )|keep|stay|succeed)|gonna (?:stay|keep))|` +
	`\bsince (?:we|i) (?:last |both )?(?:spoke|talked|chatted|met|caught up|saw)\b|\b(?:i|we) (?:don't|do not|can't|didn't) (?:really |quite |even |exactly )?(?:remember|recall|know (?:what|how|why|where|if|when|who)|mind|care|think)\b|` +
	`\bmak(?:e|es|ing) (?:a |some )?(?:real |big |bigger |positive |huge |lasting |meaningful )*(?:difference|impact|change)s?\b|` +
	`\b(?:staying|stay|stayed|keep|kept|keeping|feel|feeling) (?:motivated|focused|positive|strong|determined|hopeful|calm|true|optimistic|inspired|going)\b|\b(?:on cloud nine|over the moon)\b|` +
	`^(?:i|we)(?:'ve|'m| have| had| am| was)?(?: just| really| been| also)* (?:had|have|having|got|went through|faced|going through|starting|picked up|want to savor|savoring) (?:some |a |an |lots of |all the |a lot of )?(?:really |super |such |so )?(?:big |new |good |great |tough |hard |rough |amazing |awesome |wonderful |fun |nice )+(?:times?|days?|weeks?|things?|stuff|vibes|skills|challenges?|changes?|experiences?|blast)(?: too| lately| recently| now)*[.!]*$|` +
	`^(?:hard work|practice|patience|every little bit|life|time) (?:pays|makes|is|helps|goes|heals)\b|` +
	`^(?:i|we) (?:can|could|will|'ll)(?: really| definitely| totally| always| surely| truly| still| just)* (?:grow|learn|feel|see|make|do|get|keep|have|be|stick|stay|achieve|handle|inspire|reach|show|count|go|overcome|rely|bring|tell|share|start|continue)\b`)

// abilityVerbs are verbs behind "can" that say what somebody is able to do.
var abilityVerbs = regexp.MustCompile(`(?i)^(?:i|we) can (?:speak|swim|play|cook|drive|dance|sing|ride|ski|walk|run|read|write|type|code|juggle|knit|paint|draw|fly|sail|work|eat|hear|lift|touch|not|n't)\b`)

// isUnclear reports whether a sentence in the first person cannot be understood alone, or says
// nothing that lasts.
func isUnclear(s string) bool {
	if emptyTalk.MatchString(s) && !abilityVerbs.MatchString(s) {
		return true
	}
	words := grammar.English(s)
	if saysLittle(s, words) {
		return true
	}
	if capability.MatchString(s) && !abilityVerbs.MatchString(s) && !statedWishes.MatchString(s) {
		return true
	}
	if setPhrases.MatchString(s) && anchors(grammar.English(setPhrases.ReplaceAllString(s, " "))) < fullAnchor || helpsOnly.MatchString(s) {
		return true
	}
	return !hasFiniteVerb(words) || isPossibility(words) || isFleeting(s) || together.MatchString(s) && !strings.Contains(s, " with ") || !standsAlone(words)
}

// capability matches what somebody can do because of something, which is no event.
var capability = regexp.MustCompile(`^(?:[^,]{0,40}, )?(?:\p{L}+ing\b[^,]*|(?:[Mm]y|[Oo]ur) [\p{L} ]{2,30}|I|[Ww]e) can (?:also |always |really |definitely |still |even |just |now )*\p{Ll}`)

// helpsOnly matches what helps, without what it helps with.
var helpsOnly = regexp.MustCompile(`(?i)\bhelp(?:s|ed)?(?: me| us)?(?: too| a lot| so much| a ton)?[.!]*$|\bexactly what (?:i|we) need`)

// isPossibility reports whether the main verb of a sentence is only possible: "she could visit us".
func isPossibility(words []grammar.Word) bool {
	for i := range words {
		switch w := &words[i]; w.Tag {
		case "MD":
			low := w.Text
			if i+1 < len(words) && low == "could" && words[i+1].Text == "n't" {
				return false // what did not work
			}
			return low == "could" || low == "might" || low == "may" || low == "should"
		case "VBD", "VBZ", "VBP":
			return false
		}
	}
	return false
}

// fleeting matches what somebody does at the moment, feels, or says of the world or of a group in general.
var fleeting = regexp.MustCompile(`(?i)^(?:i|we)(?:'m|'re| am| are)? (?:just )?(?:off to|about to|on my way|heading (?:out|off|home)|(?:gotta|got to|have to|need to|must) (?:go|run|leave|dash)(?: now)?(?:[,.!]|$)|gotta (?:go|run)|gonna (?:go|chat|check|try|keep|get|head|look|do|make|take)|going to (?:keep|try|do my|make|get|check|chat)|sitting|waiting|watching|staring|looking at|checking)\b|` +
	`^(?:i|we)(?:'ve| have|'m| am|'re| are)? (?:got|have|had|has) (?:the |a |some |so much |so many |lots of |a lot of |really |such |no )*(?:right attitude|good times?|stories|fun|blast|big plans|plans|big events|chance|opportunity|picture|photo|pic|recipe|pleasure|honou?r|luck|trouble|idea|goals?)\b|` +
	`\b(?:makes?|made|making|lets?|let) (?:me|us) (?:feel|appreciate|think|realize|happy|proud|smile|want|so|really|who)\b|\b(?:gives?|gave|giving|brings?|brought|fills?|filled|give) (?:me|us) (?:so much |a |an |the |such |great |real |lots of |more |some |with )*(?:sense|feeling|joy|hope|strength|courage|peace|happiness|pride|confidence|energy|boost|purpose|comfort|motivation|perspective|satisfaction|upper hand)\b|` +
	`\b(?:keeps?|kept) (?:me|us) (?:going|motivated|grounded|sane|inspired|on track|focused|moving|pushing|growing)\b|^(?:by|through|with) \p{L}+ing\b.*\b(?:we|i) can\b|\b(?:actions|words|efforts|stories|voices|experiences)\b.*\bcan\b|` +
	`\b(?:is|was|are|were)(?: a| an| the| such| really| so| definitely| one of)* (?:best part|highlight|great (?:and|way)|reminder|inspiration|blessing|top priority|key|must-visit|must-see|future|necessary|rocks?)\b|` +
	`^(?:i(?:'m| am) (?:a )?(?:huge |big |total )?fan too|(?:my|our) fav\p{L}* (?:is|are) me\b|each \p{L}+ (?:is|has|carries|tells|holds)|all (?:the|of the|my)\b|for me,? it|100%|i 100%|always been|gonna|'s|(?:i|we)(?:'m| am|'re) trying to (?:stay|be|keep|remain|make|do|find))|\b(?:will|'ll|is going to|'s gonna) be (?:so |really |super )*(?:much fun|fun|great|amazing|awesome|good|epic|worth)\b|^(?:i|we)(?: just| really)? wanted to (?:check in|say|share|thank|ask|see how|catch)\b|^(?:i|we) (?:messed up|knows?|noticed|realized|faced|overcame)\b`)

// isFleeting reports whether a sentence in the first person says nothing that lasts.
func isFleeting(s string) bool {
	return fleeting.MatchString(s) || feels.MatchString(s) && anchors(grammar.English(s)) <= 2*fullAnchor
}

// feels matches how somebody feels.
var feels = regexp.MustCompile(`(?i)\b(?:i|we|relationships?|life)(?:'m|'ve| am| have| was)?(?: \p{L}+ly| so| just| really| also| been| always| never| started)* (?:feel|feels|felt|feeling)\b`)

// together matches what a group does, which is not what one of them does.
var together = regexp.MustCompile(`(?i)^we\b.*\btogether\b`)

// hasFiniteVerb reports whether a sentence has a main clause with a verb.
func hasFiniteVerb(words []grammar.Word) bool {
	subordinate := len(words) > 0 && fragmentOpeners[strings.ToLower(words[0].Text)]
	for _, w := range words {
		if w.Text == "," {
			subordinate = false
		}
		switch w.Tag {
		case "VBD", "VBZ", "VBP", "MD":
			if !subordinate {
				return true
			}
		case "VBN", "VB", "NNS", "NN", "JJ":
			// Verbs that the tagger does not know.
			if low := strings.ToLower(w.Text); !subordinate && (isPastForm(low) || clippedPast[low] || baseVerbs[strings.TrimSuffix(low, "s")] || invariantVerbs[low]) {
				return true
			}
		}
	}
	// A short sentence of the speaker has one that the tagger missed.
	return len(words) > 1 && words[0].Text == "I" && !subordinate
}

var fragmentOpeners = wordSet("since because although though whereas unless")

var (
	timeNouns         = wordSet("week month year weekend morning afternoon evening summer winter spring fall autumn season semester term past coming time")
	personNouns       = wordSet("friend guy man woman girl boy person kid child baby colleague coworker boss teacher doctor neighbor roommate cousin partner student coach mentor someone somebody dude lady buddy client parent customer player artist singer writer author nurse manager pal")
	placePrepositions = wordSet("in at to from near around through visited visit")
)

// impersonal reports whether the "it" at i refers to nothing: "it was raining", "make it to".
func impersonal(words []grammar.Word, i int) bool {
	if !strings.EqualFold(words[i].Text, "it") {
		return false
	}
	if i > 0 && (words[i-1].Text == "," || words[i-1].Tag == "CC" || words[i-1].Tag == "IN" && words[i-1].Text != "of" && words[i-1].Text != "about" && words[i-1].Text != "with" && words[i-1].Text != "for" && words[i-1].Text != "to" && words[i-1].Text != "on") {
		return true // "…, it's late"; what it means is a matter of the clause before
	}
	return i+1 < len(words) && strings.EqualFold(words[i-1].Text, "make") && words[i+1].Tag == "TO"
}
