package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
)

// emptyTalk matches statements in the first person that say nothing that lasts.
var emptyTalk = regexp.MustCompile(`(?i)^(?:i|we)(?:'ve|'m|'re| have| am| are)?(?: just| also| really| still| got| had| even)* (?:(?:got |some |a few |more |great |good |bad |exciting |big |awesome |amazing )+news\b|been (?:ages|a while|so long|forever)\b|trying to (?:stay|keep|remain|be) (?:positive|motivated|strong|calm|hopeful|going|patient)|(?:hoping|looking) for (?:some |the )?(?:positive |good |big |best)*(?:changes?|luck|future|best)\b|determined to (?:make (?:it|a |some )|keep|stay|succeed)|gonna (?:stay|keep))|` +
	`\bsince (?:we|i) (?:last |both )?(?:spoke|talked|chatted|met|caught up|saw)\b|\b(?:i|we) (?:don't|do not|can't|didn't) (?:really |quite |even |exactly )?(?:remember|recall|know (?:what|how|why|where|if|when|who)|mind|care|think)\b|` +
	`\bmak(?:e|es|ing) (?:a |some )?(?:real |big |bigger |positive |huge |lasting |meaningful )*(?:difference|impact|change)s?\b|` +
	`\b(?:staying|stay|stayed|keep|kept|keeping|feel|feeling) (?:motivated|focused|positive|strong|determined|hopeful|calm|true|optimistic|inspired|going)\b|\b(?:on cloud nine|over the moon)\b|` +
	`^(?:i|we)(?:'ve|'m| have| had| am| was)?(?: just| really| been| also)* (?:had|have|having|got|went through|faced|going through|starting|picked up|want to savor|savoring) (?:some |a |an |lots of |all the |a lot of )?(?:really |super |such |so )?(?:big |new |good |great |tough |hard |rough |amazing |awesome |wonderful |fun |nice )+(?:times?|days?|weeks?|things?|stuff|vibes|skills|challenges?|changes?|experiences?|blast)(?: too| lately| recently| now)*[.!]*$|` +
	`^(?:hard work|practice|patience|every little bit|life|time) (?:pays|makes|is|helps|goes|heals)\b|` +
	`^(?:i|we) (?:can|could|will|'ll)(?: really| definitely| totally| always| surely| truly| still| just)* (?:grow|learn|feel|see|make|do|get|keep|have|be|stick|stay|achieve|handle|inspire|reach|show|count|go|overcome|rely|bring|tell|share|start|continue)\b`)

// abilityVerbs are verbs behind "can" that say what somebody is able to do.
var abilityVerbs = regexp.MustCompile(`(?i)^(?:i|we) can (?:speak|swim|play|cook|drive|dance|sing|ride|ski|walk|run|read|write|type|code|juggle|knit|paint|draw|fly|sail|work|eat|hear|lift|touch|not|n't)\b`)

// isUnclear reports whether a sentence in the first person cannot be understood alone, or says
// nothing that lasts: it points at something ("this place"), or has a pronoun for somebody or
// something that it does not name.
func isUnclear(s string) bool {
	if emptyTalk.MatchString(s) && !abilityVerbs.MatchString(s) {
		return true
	}
	words := grammar.English(s)
	if !hasFiniteVerb(words) || together.MatchString(s) && !strings.Contains(s, " with ") {
		return true
	}
	person, thing, place := false, false, false
	for i := range words {
		w := &words[i]
		low := strings.ToLower(w.Text)
		next := &grammar.Word{}
		if i+1 < len(words) {
			next = &words[i+1]
		}
		switch {
		case low == "this" || low == "these" || (low == "that" || low == "those") && w.Tag == "DT" && (strings.HasPrefix(next.Tag, "NN") || next.Tag == "JJ"):
			if !text.IsTimeWord(next.Text) && !timeNouns[strings.ToLower(next.Text)] {
				return true
			}
		case low == "there" && w.Tag != "EX" && !place:
			return true
		case (low == "him" || low == "he" || low == "she" || low == "her" && w.Tag != "PRP$" || low == "hers") && !person:
			return true
		case (low == "it" || low == "them" || low == "they") && !thing && i > 0 && !impersonal(words, i):
			return true
		case strings.HasPrefix(w.Tag, "NNP"):
			person, thing, place = true, true, true
		case strings.HasPrefix(w.Tag, "NN") && !text.IsTimeWord(low) && !vagueNouns[low]:
			thing = true
			person = person || personNouns[low] || femaleKin[low] || maleKin[low] || petKinds[low]
			place = place || i > 1 && slices.ContainsFunc(words[max(0, i-4):i], func(b grammar.Word) bool { return placePrepositions[strings.ToLower(b.Text)] })
		case w.Tag == "VBG" && i == 0:
			thing = true
		}
	}
	return false
}

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
