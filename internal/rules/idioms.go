package rules

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file finds what a text says without naming a subject: set phrases, and sentences of praise,
// encouragement, thanks and farewell. Their words neither describe a note nor relate two.

// setPhrases are expressions whose words do not mean what they name.
var setPhrases = regexp.MustCompile(`(?i)\b(?:` +
	`on the same (?:page|boat|wavelength)|in the same boat|(?:get|got|getting|keep|kept) the ball rolling|(?:a )?piece of cake|hang in there|light at the end of the tunnel|` +
	`(?:by|on|at) (?:my|your|our) side|(?:have|has|had|got|'ve got) (?:my|your|each other's) back|means? the world|meant the world|breath of fresh air|(?:keep|kept|keeping) (?:my|your) (?:head|chin) up|` +
	`at the end of the day|food for thought|icing on the cake|(?:on |look on )?the bright side|day in (?:and )?day out|step by step|(?:one )?step at a time|one day at a time|from scratch|game[ -]changers?|in a nutshell|` +
	`bite the bullet|under the weather|spill the beans|cup of tea|hit the (?:road|sack|hay|books|spot)|on fire|(?:a )?big deal|no wonder|in (?:my|your|their|someone's|other people's) shoes|blow(?:ing)? off steam|touch base|` +
	`fingers crossed|out of the blue|cloud nine|over the moon|thick and thin|ups and downs|emotional roller ?coaster|roller ?coaster of|hands down|time (?:really )?flies|small world|good old days|the sky(?:'s| is) the limit|dreams? come true|` +
	`learning curve|comfort zone|support systems?|baby steps|silver lining|(?:safe|happy) place|part of the (?:journey|process|fun)|for the long haul|in the long run|in the meantime|on (?:the right )?track|back on track|` +
	`(?:make|makes|made|making) (?:my|your|the) day|(?:a )?weight off (?:my|your) shoulders|heart(?:s)? out|burn(?:ing|t)? out|break a leg|rock(?:ed|s)? it|you rock|kill(?:ed|ing)? it|crush(?:ed|ing)? it|nailed it|` +
	`(?:keep|kept) an eye|catch(?:ing)? up|cross(?:ed)? paths|drop(?:ped)? the ball|face to face|first[ -]hand|by heart|food coma|full of life|full swing|heart of gold|in no time|in the works|in the zone|` +
	`(?:play|plays|played|playing) (?:a|an|the) (?:big |huge |important |key |major )?(?:part|role)|(?:take|took|taking|takes) (?:it )?(?:a |one )?(?:break|step back|deep breath|breather)|run(?:s|ning)? (?:in the family|out of)|` +
	`lend(?:ing)? (?:me |you |us )?an ear|rome wasn['’]t built in a day|(?:hit|hits|hitting) the mark|ready to roll|loud and clear|time is money|(?:move|moves|moved|moving) the needle|on point|(?:br(?:eak|eaks|oke|oken)|warm(?:s|ed)?) my heart|the heavy lifting|` +
	`no matter (?:what|how|who|where|when)|in the first place|(?:come|comes|came|coming) (?:in handy|in first)|(?:first|second|third|last) place|good (?:news|time|times)|bad news|in (?:ages|person)|hard work|kind words|(?:take|took|taking) part|(?:take|took|taking|takes) place|quick thinking|worst case|best case|big step|wild ride|side by side|hand in hand|` +
	`state of mind|peace of mind|world of (?:good|difference)|walk in the park|whole new (?:level|world)|work(?:s|ed)? (?:wonders|out)|wrap (?:my|your) head around|head (?:start|over heels)|lend(?:ing)? a (?:hand|listening ear|helping hand)|helping hand|` +
	`shoulder to (?:cry|lean) on|stay in touch|keep in touch|keep (?:me|you|us) (?:posted|updated|in the loop)|word of mouth|worth (?:it|the wait|a shot|a try)|give (?:it|that|this) a (?:try|shot|go)|` +
	`sounds like a plan|(?:you're|you are|i'm|we're) (?:all )?(?:set|good)|hit(?:s)? (?:close to )?home|` +
	`in (?:the )?light of|clear(?:s|ed|ing)? (?:my|your|our|their|his|her) (?:head|mind)|(?:each other|one another|other)['’]s backs?|(?:touch(?:es|ed|ing)?|warm(?:s|ed|ing)?|fill(?:s|ed|ing)?) (?:my|your|our|their|people['’]s|everyone['’]s) hearts?|` +
	`reality check|in (?:good|bad) (?:faith|shape|hands)|bring it on|(?:in|on|to) (?:my|your|our) (?:mind|heart|eyes)|(?:a )?big fan|(?:eye|mind)[ -](?:opener|blowing)|from the (?:bottom of (?:my|our) heart|get[ -]go|ground up)|(?:at|in|by) (?:my|your|our) own pace|` +
	`(?:one|two|three) of a kind|(?:the )?other day|at (?:the )?(?:moment|same time)|(?:on|in) the (?:other|one) hand|(?:to|for) (?:some|a certain) extent|(?:in|by) the (?:way|middle of)|(?:the )?whole (?:point|thing|time)|(?:my|your|our|two) cents|` +
	`off the charts|in (?:my|your|our) corner|across the line|(?:are|is|'re|'s) (?:my|our|your) (?:rock|anchor)|(?:keep|kept|bear) (?:that|it|this|them) in mind|go(?:es|ing)? down (?:this|that|the) (?:route|road|path)|(?:locked?|dialled?|dialed|dial) (?:in|down)|two-way street|(?:in )?good shape|` +
	`(?:my |your )?(?:mind )?at ease|(?:give|gave|giving) (?:you |me |us |them )?a (?:shout|call|ring|hand)|(?:take|took|have|had|taking|having) (?:a |another )?(?:quick |closer )?look|(?:for )?the time being|(?:do|did|try|tried) (?:my|your|our) best|` +
	`home run|turn(?:ed|ing)? (?:over )?a new leaf|tip of the iceberg|go with the flow|recharge (?:my|your|our) batteries|batteries` +
	`)\b`)

// talkPhrases are expressions whose words name no subject, though a sentence with one may state a fact.
var talkPhrases = regexp.MustCompile(`(?i)\b(?:long time no (?:see|talk|chat)|talk to you (?:soon|later)|let (?:you|me|us) know|keep it up|way to go|can['’]t wait|sure thing|no worries|no problem|no doubt|(?:people|those|anyone|someone) in need|here and there|back and forth|catch (?:ya|you) later|catch ya|a whole new|scared to death|` +
	`(?:ah, |oh, |yes, |yeah, )?my (?:guy|man|friend|brother|sister|dear)(?: ?[,!.?])|(?:wast(?:e|ing)|no) (?:any more |more |my )?time|in a while|a while back|(?:means?|meant) (?:a lot|so much|everything)|for sure|of course|go for it|good luck|take care|spread(?:ing)? the word|makes? sense|fits? the bill|my name(?:['’]s| is)|(?:nice|glad|pleased|good|great|happy) to (?:meet|see|hear from|know) you|pays? off|paid off|uphill battle)\b`)

// maskedPhrases matches both in one pass.
var maskedPhrases = regexp.MustCompile(setPhrases.String() + "|" + talkPhrases.String())

// maskPhrases returns a text of the same length without set phrases.
func maskPhrases(s string) string {
	return maskedPhrases.ReplaceAllStringFunc(s, func(m string) string { return strings.Repeat(".", len(m)) })
}

// phatic matches the beginning of sentences of praise, encouragement, thanks, farewell and greeting.
var phatic = regexp.MustCompile(`(?i)^(?:thanks|thank you|thx|cheers|congrats|congratulations|wow|aww?|hey|hi|hello|bye|goodbye|good ?night|good (?:luck|job|night|morning|call|point|to (?:see|hear))|see (?:you|ya)|take care|talk (?:to you )?(?:soon|later)|` +
	`have (?:a |an )?(?:fun|great|good|nice|safe|blast|wonderful|amazing)|enjoy\b|great (?:job|work|to (?:see|hear)|seeing|hearing|idea|question)|nice (?:job|work|one|to (?:see|hear|meet))|well done|way to go|keep (?:it|up|going|me|pushing|shining|being|doing|on|at|that|your|spreading|inspiring)|` +
	`you(?:'re| are) (?:doing|such|so|an?|the|right|welcome|amazing|awesome|inspiring|really|truly|very|gonna|going to|definitely|always|incredible|making|not alone)|you(?:'ve| have) got|you got this|you rock|you (?:should|must|can|could|deserve|really|always|both|inspire)|you'll\b|your (?:words|support|kind|kindness|encouragement|passion|dedication|determination|hard work|story|journey|positivity|friendship|art|work|strength|courage|enthusiasm|advice|insight|perspective|creativity|talent)|` +
	`(?:i|we)(?:'m| am|'re| are) (?:so |really |super |always |truly |very |also |just )*(?:glad|happy|proud|excited|sorry|here|grateful|thankful|rooting|stoked|impressed|sure|jealous|lucky|thrilled)|(?:i|we) (?:really |truly |totally |definitely |completely )*(?:appreciate|agree|hope|understand|believe in|know (?:you|how)|can't wait|admire|bet|wish|love (?:that|it|how|your|this)|get it|hear you)|` +
	`sounds|looks|that(?:'s| is| was| must| sounds| looks| makes| really)|it(?:'s| is| was) (?:so |really |such |always |just |great|awesome|amazing|nice|good|wonderful|cool|inspiring|important|not easy)|so (?:glad|happy|proud|cool|true|sweet|excited|stoked|inspiring|awesome|great)|glad|happy (?:to|for)|can't wait|looking forward|` +
	`let(?:'s| me)|no (?:problem|worries|doubt)|any ?time|of course|absolutely|totally|definitely|agreed?|exactly|hope|wish|wishing|how (?:are|have|'s|about)|what(?:'s| is) (?:up|new)|what an?|long time|don't (?:worry|give up|forget|hesitate)|remember|never give up|stay (?:strong|positive|true|safe|motivated)|believe in|always here|proud of|cheering|sending|love (?:it|that|this|how|your))\b`)

// substance returns the sentences of an English text that name a subject, on one line each. A sentence
// of praise and the like counts only if it names a thing, an activity or somebody.
func substance(s string) string {
	var out []string
	for _, sentence := range text.Sentences(maskPhrases(s)) {
		plain := strings.TrimSpace(strings.NewReplacer("’", "'").Replace(sentence))
		if m := leadingCall.FindString(plain); m != "" {
			plain = strings.TrimSpace(plain[len(m):])
		}
		if !phatic.MatchString(plain) || namesSubject(plain) {
			out = append(out, sentence)
		}
	}
	return strings.Join(out, "\n")
}

// leadingCall matches interjections and a name in front of a sentence.
var leadingCall = regexp.MustCompile(`^(?:(?i:yeah|yes|yep|oh|wow|aw+|ah|hey|hi|well|no|ok|okay|so|and|but|haha|thanks|thank you|totally|absolutely|definitely|exactly)[,! ]+)*(?:\p{Lu}\p{Ll}+[,!]\s+)?`)

// namesSubject reports whether a sentence has two words that name what it is about.
func namesSubject(s string) bool {
	n := 0
	for _, w := range grammar.English(s) {
		low := strings.ToLower(w.Text)
		switch {
		case text.IsTimeWord(low) || vagueNouns[low] || hollowNouns[low] || abstractNouns[low] || emptyWords[low] || interjections[low] || text.IsSmallTalk(low) || timeNouns[low]:
		case strings.HasPrefix(w.Tag, "NN") && w.Tag != "NNP", w.Tag[0] == 'V' && verbCues[text.Stem(low, text.English)] && !everydayVerbs[text.Stem(low, text.English)]:
			n++
		}
	}
	return n > 1
}
