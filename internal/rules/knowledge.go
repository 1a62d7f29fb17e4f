package rules

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// knowledge takes facts about the person from what the person says, and what the assistant did or
// recommended from what the assistant says.
func knowledge(in memoryos.KnowledgeInput) memoryos.Knowledge {
	limit := cmp.Or(in.Max, memoryos.MaxKnowledge)
	said := pagesSaid(in.Pages)
	for i := range said {
		if said[i].Role == memory.RoleUser && said[i].Name == "" {
			said[i].Name = in.Person
		}
	}
	out := memoryos.Knowledge{User: personFacts(said, limit), Assistant: []string{}}
	seen := map[string]bool{}
	composing := false // the assistant writes what the person asked for, in somebody's voice
	for _, u := range said {
		if u.Role == memory.RoleUser {
			composing = asksToCompose.MatchString(u.Content)
		}
		if u.Role != memory.RoleAssistant || composing || composed.MatchString(u.Content) {
			continue
		}
		for _, s := range utteredSentences(u.Content) {
			fact := assistantFact(s, cmp.Or(u.Name, "Assistant"), cmp.Or(in.Person, "the user"), u)
			if key := text.Fold(fact); fact != "" && !seen[key] && len(out.Assistant) < limit {
				seen[key] = true
				out.Assistant = append(out.Assistant, fact)
			}
		}
	}
	return out
}

// personFacts returns the facts that a person states in talks with an assistant: without forms of address,
// and without what the person wants from the assistant at that moment.
func personFacts(said []memory.Utterance, limit int) []string {
	if !slices.ContainsFunc(said, func(u memory.Utterance) bool { return u.Role == memory.RoleUser }) {
		return []string{}
	}
	plain := slices.Clone(said)
	for i := range plain {
		if plain[i].Role == memory.RoleUser {
			if isPasted(plain[i].Content) {
				plain[i].Content = ""
			}
			plain[i].Content = addressForm.ReplaceAllString(markup.ReplaceAllString(plain[i].Content, "$1"), "$1")
		}
	}
	facts := extract(mem0.ExtractInput{New: plain}).Facts
	facts = slices.DeleteFunc(facts, func(f string) bool {
		return wantsAnswer.MatchString(f) || talkOfMoment.MatchString(f) || passingState.MatchString(f)
	})
	return facts[:min(len(facts), limit)]
}

// maxOwnWords and maxOwnRequest are the characters above which a message, and one that asks for a text, is not
// a person's own words but holds something pasted.
const (
	maxOwnWords   = 1500
	maxOwnRequest = 300
)

// isPasted reports whether a message holds a text that is not about the person who sends it. Code says nothing about
// that.
func isPasted(s string) bool {
	s = codeFence.ReplaceAllString(s, "\n")
	n := utf8.RuneCountInString(s)
	return n > maxOwnWords || n > maxOwnRequest && asksToCompose.MatchString(s) || labeled.MatchString(s)
}

// assistantFact returns what an assistant did, promised or recommended, in the third person; "" if the
// sentence says nothing of that kind that can be understood alone.
func assistantFact(s, name, person string, u memory.Utterance) string {
	s = strings.TrimSpace(strings.Trim(strings.ReplaceAll(markup.ReplaceAllString(s, "$1"), "**", ""), "-*•# "))
	if s == "" || strings.ContainsAny(s, "?？:：") || utf8.RuneCountInString(s) > maxFactRunes || injectedInstructions.MatchString(s) {
		return ""
	}
	if isHan(s) {
		return hanAssistantFact(s, name, person, u)
	}
	s = stripFiller(s)
	if m := recommendation.FindStringIndex(s); m != nil {
		s = "I recommend " + s[m[1]:]
	}
	if !promiseForms.MatchString(s) || emptyPromise.MatchString(s) || assistantOffers.MatchString(s) || pointsBack.MatchString(s) ||
		willDo.MatchString(s) && !concretePromise.MatchString(s) || roleplay.MatchString(s) || countContentWords(lowerWords(s)) < minAssistantWords {
		return ""
	}
	return retell(nameListener(resolveDates(s, u.Time), person), name)
}

// minAssistantWords is the least number of content words in what an assistant did.
const minAssistantWords = 3

// nameListener replaces "you" by a name, with the verb behind it in the third person.
func nameListener(s, person string) string {
	tokens := tokenize(s)
	var out strings.Builder
	inflect := false
	before := ""
	for i, p := range tokens {
		word := strings.ToLower(p.text)
		if i > 1 && p.isWord {
			before = strings.ToLower(tokens[i-2].text)
		}
		switch {
		case !p.isWord:
			out.WriteString(p.text)
			inflect = inflect && strings.TrimSpace(p.text) == ""
			continue
		case word == "you":
			out.WriteString(person)
			inflect = before == "" || subjectOpeners[before]
			continue
		case word == "you're":
			out.WriteString(person + " is")
		case word == "you've":
			out.WriteString(person + " has")
		case word == "you'll":
			out.WriteString(person + " will")
		case word == "you'd":
			out.WriteString(person + " would")
		case word == "your" || word == "yours":
			out.WriteString(person + "'s")
		case word == "yourself":
			out.WriteString("themselves")
		case inflect && agreement[word] != "":
			out.WriteString(agreement[word])
		case inflect && baseVerbs[word] && !modalVerbs[word]:
			out.WriteString(thirdPersonForm(p.text))
		default:
			out.WriteString(p.text)
			inflect = inflect && isAdverb(word)
			continue
		}
		inflect = false
	}
	return out.String()
}

var (
	agreement = map[string]string{"are": "is", "have": "has", "were": "was", "do": "does", "don't": "doesn't", "aren't": "isn't", "haven't": "hasn't"}
	// subjectOpeners are the words behind which "you" is a subject.
	subjectOpeners = wordSet("that when as if what which how because and so once while where until after before whether since but or")
	modalVerbs     = wordSet("can could will would shall should may might must cannot can't won't")
)

var (
	// markup matches emphasis of Markdown.
	markup = regexp.MustCompile(`\*\*([^*]*)\*\*`)
	// recommendation matches forms of "I recommend" before what is recommended.
	recommendation = regexp.MustCompile(`(?i)^(?:(?:so|then|well|also|in that case|for you)[, ]+)?(?:i(?:'d| would)(?: also| really| definitely| highly)? (?:recommend|suggest)|(?:my (?:recommendation|suggestion) (?:is|would be)))(?: that)?:? `)
	// assistantOffers matches offers and conditions, which say nothing about what was done.
	assistantOffers = regexp.MustCompile(`(?i)\b(?:if you|let me know|feel free|would you like|i can |i'll be|happy to|i hope|i have to say|as an ai)\b`)

	// addressForm matches how a person addresses the assistant at the beginning of a sentence.
	addressForm = regexp.MustCompile(`(?i)(^|[.!?]\s+|\n\s*)(?:my (?:guy|man|friend|dear|bro|brother|boy)|hey (?:there|buddy|assistant)|buddy|bro|dude|mate|assistant)[,!]\s+`)
	// wantsAnswer matches a fact that only says what somebody wants to be told or written.
	wantsAnswer = regexp.MustCompile(`(?i)^\S+(?: \S+){0,2}? (?:needs?|wants?|would like|is looking for|requires?|expects?)(?: to| \S+'s)? (?:see|know|hear|understand how|get|have|a|an|the|some|more|that|this|your|help|it)\b.*\b(?:outlines?|lists?|summar\w+|recommendations?|drafts?|reports?|code|examples?|explanations?|breakdown|versions?|responses?|templates?|scripts?|tables?|e-?mails?|letters?|articles?|posts?|campaigns?|analysis|details?|steps?|ideas?|suggestions?|questions?|answers?|content|prompts?|essay|story|paragraphs?|document|update|confirmation|data|output|text|tips|advice)\b`)
	// talkOfMoment matches a fact about the talk itself: what somebody wants next, is ready for, or approves of.
	talkOfMoment = regexp.MustCompile(`(?i)\basks the assistant\b|\bplease\b|^just \p{L}+ |\b(?:is|are|was) (?:exactly|just|precisely) what\b|\b(?:sounds?|looks?|feels?) (?:like|great|good|perfect|right|fine)\b|\bmakes? (?:perfect |proper |total |complete |a lot of )?sense\b|\bis (?:ready|good to go|all set|set)\b|\b(?:expects?|wants?|needs?|would like) (?:\p{L}+ )?to (?:see|start|begin|make sure|ensure|know|confirm|focus|work on|review|proceed|move on|finali[sz]e|discuss|check|go over|continue|understand|update|add|set up|get started|talk about|brainstorm|define|adjust|revise|tackle)\b|\bexpects? (?:the|a|an|confirmation|immediate)\b|\bwill (?:go|try|do|check|start|use|get|have|take a look|look|keep|wait|send|let|be)\b.*\b(?:now|first|later|tonight|right away|it|that|this|then)\b|\bdoesn't (?:see|need|have) any\b|\b(?:screenshot|link|the file|the quiz|the plan|the list|the draft)s?\b|\b(?:thinks?|guess(?:es)?|reckons?|hopes?|feels? like|appreciates?|agrees?)\b`)
	// passingState matches a state of the moment, or a figure of speech for one.
	passingState = regexp.MustCompile(`(?i)'s (?:patience|brain|head|mind|nerves|tongue|eyes|blood|plate|words?)\b|\b(?:is|are) (?:now |still |just |already |finally |totally |completely |absolutely |so |really |not )*(?:back|here|done|going anywhere|waiting|tired|exhausted|drained|annoyed|frustrated|confused|sorry|all ears|on (?:deck|it|board)|good|fine|okay|sure|listening|stuck|lost|not (?:ready|sure|surprised)|glad|happy to|pleased)\b[^,.]{0,30}[.!]*$|\b(?:makes?|made) \S+(?: \S+)?(?:'s)? (?:head|heart|stomach|skin)\b|\btoo right\b|\bmomentum\b|\bhad a (?:few|couple of) minutes\b|\b(?:wouldn't|couldn't|won't) (?:say|believe|want)\b|\bmust have been\b`)
	// labeled matches a line with a label in bold, as documents have them.
	labeled = regexp.MustCompile(`(?m)^\s*(?:[-*] )?\*\*[^*\n]{2,40}:\*\*|^(?:Task|Situation|Action|Result|Context|Title|Background)\b[^\n]{0,30}:`)
	// asksToCompose matches a request for a text, composed a text in somebody's voice.
	asksToCompose = regexp.MustCompile(`(?i)(?:^|[.!\n:]\s*)(?:please |now |can you |could you |and |then |ok(?:ay)?,? )*(?:write|rewrite|re-write|draft|compose|generate|simulate|act as|pretend|imagine|improve|rephrase|paraphrase|translate|summari[sz]e|continue|roleplay|role-play|make (?:it|this)|edit|proofread|create (?:a|an|the)|give me an? (?:letter|essay|story|speech|e-?mail|cover))\b|^(?:请?帮?我?)?(?:写|翻译|改写|润色|扮演|模拟|生成|续写)`)
	composed      = regexp.MustCompile(`(?m)^\s*(?:\*\*)?(?:Dear [\p{L}\[]|Subject:|Sincerely|Best regards|Kind regards|Yours (?:truly|sincerely)|Scene \d|INT\.|Chapter \d|尊敬的|亲爱的)`)
	roleplay      = regexp.MustCompile(`(?i)^i(?:'ve| have) (?:never|always|been|seen|felt|got|had|loved|managed|worked|lived|successfully)\b|^you should (?:see|now|be|have|get|find|notice|hear|also see|feel)\b|\bas requested\b`)
	willDo        = regexp.MustCompile(`(?i)^i(?:'ll| will|'m going to| am going to)\b`)
	// concretePromise matches a promise of something that can be checked later.
	concretePromise = regexp.MustCompile(`(?i)^i(?:'ll| will|'m going to| am going to) (?:also |now |then |immediately |definitely )*(?:remind|send|schedule|book|order|call|e-?mail|prepare|check|bring|set|create|draft|add|track|monitor|flag|log|reserve|cancel|notify|alert|message)\b`)
	// pointsBack matches what only the sentences before explain.
	pointsBack = regexp.MustCompile(`(?i)\b(?:this|these|those|it|them|here|above|below|following|accordingly|my records|both|same|such)\b|\b(?:of|on|for|with|to|about|all|logged|noted|updated|add|added) that\b|\b(?:the|your) (?:request|question|message|input|feedback|preference|approach|draft|document|content|code|plan|list|table|report|file|data|change|update|detail|information|section|task|step|framework|protocol)s?\b`)

	hanDid = regexp.MustCompile(`^(?:好的?[，,！!。]*|那么?|所以|其实|另外|首先|当然[，,]?)*(?:我(?:已经?|刚刚?|为您?你?|帮您?你?|给您?你?|会|将|还)?(?:为你|帮你|给你|为您|帮您|给您|向你|向您)?(?:推荐|建议|预订|预定|安排|整理|准备|设置|添加|更新|发送|记录|制定|创建|生成|列出?|查到|找到|提醒|完成|写)|(?:推荐|建议)(?:你|您)|我的建议是)`)
)

// hanAssistantFact is assistantFact for Chinese.
func hanAssistantFact(s, name, person string, u memory.Utterance) string {
	if !hanDid.MatchString(s) || strings.HasSuffix(s, "：") || strings.Contains(s, "如果") || hanQuestion.MatchString(s) {
		return ""
	}
	if person == "the user" {
		person = "用户"
	}
	if name == "Assistant" {
		name = "助手"
	}
	s = hanLeadIns.ReplaceAllString(s, "")
	if !strings.HasPrefix(s, "我") {
		s = "我" + s
	}
	return strings.NewReplacer("您", person, "你", person, "我", name).Replace(resolveDates(s, u.Time))
}
