package rules

import regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"

// This file rewrites sentences whose "they" is nobody in particular, such as a surgery or an office: "they took me off
// amlodipine" is "I was taken off amlodipine".

// impersonalForm is a form of sentences with "they" and what it says without.
type impersonalForm struct {
	form *regexp.Regexp
	says string
}

const theyHave = `[Tt]hey(?:'ve| have)?(?: just| also| now)? `

var impersonalForms = []impersonalForm{
	{regexp.MustCompile(`^(?:The|My) (\p{Ll}+) (?:called|rang|phoned|wrote|emailed|texted)(?:,| and) ` + theyHave + `(moved|postponed|cancell?ed|rescheduled|pushed) my appointment`), "My $1 appointment was $2"},
	{regexp.MustCompile(`^(?:[^,]{0,30}(?:called|rang|phoned|wrote), )?` + theyHave + `(moved|postponed|cancell?ed|rescheduled|pushed|brought forward) ((?:my|our) [\p{Ll} ]{3,30}?)( to\b.*|[.!]|$)`), "$2 was $1$3"},
	{regexp.MustCompile(`^(?:[^,]{0,30}(?:called|rang|phoned|wrote), )(the [\p{Ll}' ]{3,40} is (?:on )?.* instead)`), "$1"},
	{regexp.MustCompile(`^` + theyHave + `(?:took|taken) me off `), "I was taken off "},
	{regexp.MustCompile(`^` + theyHave + `put me on `), "I was put on "},
	{regexp.MustCompile(`^` + theyHave + `prescribed me `), "I was prescribed "},
	{regexp.MustCompile(`^` + theyHave + `(?:switched|changed|moved) me (from|to) `), "I was switched $1 "},
}

// workplaceForms are the forms of sentences whose "we" and "us" are a shop, an office or a library, and not the speaker.
var workplaceForms = []impersonalForm{
	{regexp.MustCompile(`\b[Ww]e(?:'re| are) (closed|shut|open|short-staffed|understaffed|fully booked|booked up|sold out|out of stock|hiring)\b`), "my workplace is $1"},
	{regexp.MustCompile(`\b(close|shut|shut down|inspect|renovate|audit|fund|merge|relocate) us\b`), "$1 my workplace"},
}

// takenNow matches what somebody takes in place of a medicine that they were taken off.
var takenNow = regexp.MustCompile(`^(I was taken off [^,;]+)[,;] (?:now )?it's (\p{L}+)(?: now| instead)?[.!]*$`)

// withoutImpersonal returns a sentence without a subject that is nobody in particular.
func withoutImpersonal(s string) string {
	for _, f := range impersonalForms {
		if f.form.MatchString(s) {
			s = f.form.ReplaceAllString(s, f.says)
			break
		}
	}
	for _, f := range workplaceForms {
		s = f.form.ReplaceAllString(s, f.says)
	}
	return takenNow.ReplaceAllString(s, "$1, and I take $2 now.")
}
