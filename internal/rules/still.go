package rules

import (
	"strings"

	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file reads what the answer to a question with "still" ends: "No, she quit" to "Is Lotte still at the tax office?"
// says that she is no longer there.

var (
	// stillAsked matches a question whether something is still so, in its full and in its short form.
	stillAsked   = regexp.MustCompile(`(?i)^(?:and |so |but )?(?:(is|are|do|does) (you|he|she|they|your [\p{Ll}-]+(?: \p{Lu}\p{L}+)?|\p{Lu}\p{L}+) still|still) ((?:at|in|on|with|[\p{L}]+) ?.*)\?$`)
	stillByPlace = regexp.MustCompile(`(?i)^(?:(?:at|in|on|with) |\p{Ll}+ing\b)`)
	// endingAnswer matches an answer that says no, or what took the place of what was asked for.
	endingAnswer = regexp.MustCompile(`(?i)^(?:no|nope|not any ?more|not really|sadly not|unfortunately not|(?:no, )?(?:i|we|he|she|they)(?:'ve| have|'s| has)? (?:just |recently )?(?:quit|left|resigned|switched|changed|moved|stopped|gave (?:it )?up|given (?:it )?up|sold|retired|dropped))\b`)
	// hanStillAsked is stillAsked for Chinese.
	hanStillAsked   = regexp.MustCompile(`^(?P<who>你的?\p{Han}{0,3}?|她|他|[小老阿]\p{Han}|\p{Han}{2,3}?)还(?P<v>(?:在|是|养|开|做|教|学|吃|练|住|干)\p{Han}{0,12}?)吗$`)
	hanEndingAnswer = regexp.MustCompile(`^(?:早就?|已经|现在)?(?:不|没|辞|离职|退休|搬|换|关了|卖|戒|停|去了|调到|转)`)
	// hanStillYes matches an answer that it is still so, hanThere a place that the question names.
	hanStillYes = regexp.MustCompile(`^(?:嗯|对|是的?|还?在的?|还是|还在那[儿里边])(?:啊|呢|呀)?[，,。]`)
	hanThere    = regexp.MustCompile(`在那(?:儿|里|边)`)
	hanNoLonger = regexp.MustCompile(`不(?:在|是|养|开|做|教|学|吃|练|住|干)\p{Han}{1,12}了`)
)

// noLongerSaid returns what an answer to a question with "still" says that is no longer so, in the words of who answers;
// "" if it says no such thing. resolve returns whom a pronoun refers to.
func noLongerSaid(question, answer string, resolve func(string) string) string {
	m := stillAsked.FindStringSubmatch(strings.TrimSpace(question))
	if m == nil || !endingAnswer.MatchString(strings.TrimSpace(answer)) || injectedInstructions.MatchString(question) || len(question) > maxFactRunes/2 {
		return ""
	}
	aux, who, what := strings.ToLower(m[1]), strings.ToLower(m[2]), (&questionParser{}).mine(m[3])
	subject := m[2]
	switch {
	case who == "" || who == "you":
		subject = "I"
	case who == "he" || who == "she" || who == "they":
		subject = resolve(who)
	case strings.HasPrefix(who, "your "):
		subject = "my " + m[2][len("your "):]
	}
	isPlace := stillByPlace.MatchString(what)
	switch {
	case subject == "" || vagueQuestion.MatchString(what):
		return ""
	case aux == "do" || aux == "does":
		verb, rest, _ := strings.Cut(what, " ")
		if subject != "I" {
			verb = inflectFor(verb, otherOne)
		}
		return strings.TrimSpace(subject + " no longer " + verb + " " + rest)
	case !isPlace:
		return ""
	case subject == "I":
		return "I am no longer " + what
	}
	return subject + " is no longer " + what
}

// hanStillSaid returns what a yes to a Chinese question with "still" says; "" if it is no yes.
func hanStillSaid(question, answer string, resolve func(string) string) string {
	m := hanStillAsked.FindStringSubmatch(hanQuestionCore(question))
	answer = hanWithoutLeadIns(strings.TrimSpace(answer))
	if m == nil || !hanStillYes.MatchString(answer+"，") || injectedInstructions.MatchString(question) {
		return ""
	}
	if subject := hanStillSubject(m[1], resolve); subject != "" {
		return subject + m[2]
	}
	return ""
}

// hanNoLongerSaid is noLongerSaid for Chinese.
func hanNoLongerSaid(question, answer string, resolve func(string) string) string {
	q := hanQuestionCore(question)
	m := hanStillAsked.FindStringSubmatch(q)
	if m == nil || !hanEndingAnswer.MatchString(hanWithoutLeadIns(strings.TrimSpace(answer))) || hanNoLonger.MatchString(answer) || injectedInstructions.MatchString(question) {
		return ""
	}
	subject := hanStillSubject(m[1], resolve)
	if subject == "" {
		return ""
	}
	return subject + "不" + m[2] + "了"
}

// hanStillSubject returns the subject of a question in the words of who answers; "" if it is not certain.
func hanStillSubject(who string, resolve func(string) string) string {
	switch {
	case who == "你":
		return speakerTopic
	case strings.HasPrefix(who, "你"):
		return speakerTopic + "的" + strings.TrimPrefix(strings.TrimPrefix(who, "你"), "的")
	case who == "她" || who == "他":
		return resolve(who)
	case hanNameAt(who+"在", "") != len(who):
		return ""
	}
	return who
}
