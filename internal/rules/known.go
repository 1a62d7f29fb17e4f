package rules

import (
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file reads what is told of somebody who was named before, and what is said of the topic of a question.

// tellsOfKnown reports whether a sentence begins with the name of somebody who was spoken of, and a verb.
func tellsOfKnown(s string, before [][]referent) bool {
	plain := withoutNameClitic(stripFiller(s))
	name, rest, _ := strings.Cut(plain, " ")
	if !startsUpper(name) || rest == "" || strings.ContainsAny(plain, "?\"") || len(plain) > maxFactRunes {
		return false
	}
	isKnown := slices.ContainsFunc(before, func(found []referent) bool {
		return slices.ContainsFunc(found, func(r referent) bool { return lastWord(r.phrase) == name && startsUpper(name) })
	})
	if !isKnown || notNames[strings.ToLower(name)] || addressesListener(lowerWords(plain)) || suppositions.MatchString(plain) {
		return false
	}
	words := grammar.English(plain)
	if len(words) < 2 || countContentWords(lowerWords(plain)) < minContentWords {
		return false
	}
	verb := &words[1]
	isThirdPerson := strings.HasSuffix(verb.Text, "s") && !startsUpper(verb.Text) && (verb.Tag == "VBZ" || verb.Tag == "NNS" && (len(words) < 4 || words[2].Tag != "VBP"))
	return (isThirdPerson || verb.Tag == "VBD") && !opinionOfOther.MatchString(plain) && !hasDanglingReference(plain) && standsAlone(words)
}

// nameIs matches "Ida's" where it means "Ida is".
var nameIs = regexp.MustCompile(`^(\p{Lu}\p{Ll}+)'s ((?:now |also |just )?(?:an?|the|in|at|on|back|\p{Ll}+ing)\b)`)

// withoutNameClitic returns a sentence with "Ida is" for "Ida's".
func withoutNameClitic(s string) string { return nameIs.ReplaceAllString(s, "$1 is $2") }

var (
	// howAsked matches a question how something is or was.
	howAsked = regexp.MustCompile(`(?i)^(?:so,? |and |well,? )?how(?:'s| is| was| are| were| did)(?: the| your)? ((?-i:\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)*)|[\p{Ll}-]+(?: [\p{Ll}-]+)?)(?: going| go| doing)?\?$`)
	// cameBack matches who came back, without where from, wentNot who did not go, without where to.
	cameBack = regexp.MustCompile(`^((?:I|We)(?: just| only| already)? (?:got back|came back|got home|returned|are back|am back|'re back))((?: (?:on|last|in|this|yesterday|two|a|late|early)\b.*)?[.!]*)$`)
	wentNot  = regexp.MustCompile(`^((?:I|We) (?:didn't|did not|couldn't) go)([.!,].*|)$`)
	// doneWithIt matches what somebody did with what was asked for.
	doneWithIt = regexp.MustCompile(`\b(finished|completed|passed|failed|cancelled|canceled|quit|dropped|gave up|sold) it\b`)
)

// withAskedTopic returns a sentence with what the question before asks about, where the sentence lacks it: "we got back
// on Sunday" after "How was Crete?".
func withAskedTopic(s, question string) string {
	m := howAsked.FindStringSubmatch(strings.TrimSpace(question))
	if m == nil {
		return s
	}
	plain, topic := stripFiller(s), m[1]
	isPlace := startsUpper(topic)
	switch {
	case isPlace && cameBack.MatchString(plain):
		return cameBack.ReplaceAllString(plain, "$1 from "+topic+"$2")
	case isPlace && wentNot.MatchString(plain):
		return wentNot.ReplaceAllString(plain, "$1 to "+topic+"$2")
	case !isPlace:
		return doneWithIt.ReplaceAllString(s, "$1 my "+topic)
	}
	return s
}
