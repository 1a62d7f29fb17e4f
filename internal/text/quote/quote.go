// Package quote writes what somebody said as one line that has no word of any language, and reads such lines:
//
//	Nora, 2026-06-01: “I live in Berlin.”
//	“How often is she shod?” – Rory, 2026-06-01: “Every six weeks.”
//
// Package analyst writes quotations as facts. Packages memory, recall, chat and eval read them, so that what is beside a
// line need not be said in it again.
package quote

import (
	"strings"
	"time"
)

// Quotation is what somebody said.
type Quotation struct {
	Before  string // what it answers, or what explains it; "": nothing
	Speaker string // "": not known
	Day     string // as 2006-01-02
	Words   string
}

// End is the mark at the end of a quotation.
const End = "”"

const (
	openMark   = "“"
	answerMark = End + " – "     // between what is answered and who answers
	saidMark   = ": " + openMark // between who speaks and the words
)

// String returns the quotation as one line. The words stay as they are, while the frame has no marks that would
// end it.
func (q Quotation) String() string { return q.Head() + q.Words + End }

// Head returns what is before the words.
func (q Quotation) Head() string {
	who := strings.ReplaceAll(q.Speaker, saidMark, " ")
	head := openMark
	switch {
	case who != "" && q.Day != "":
		head = who + ", " + q.Day + saidMark
	case who+q.Day != "":
		head = who + q.Day + saidMark
	}
	if q.Before != "" {
		head = openMark + strings.ReplaceAll(q.Before, answerMark, " ") + answerMark + head
	}
	return head
}

// Parse reads a quotation. ok is false for a text that is none.
func Parse(s string) (q Quotation, ok bool) {
	rest, ok := strings.CutSuffix(s, End)
	if !ok {
		return Quotation{}, false
	}
	if opened, found := strings.CutPrefix(rest, openMark); found {
		if before, behind, found := strings.Cut(opened, answerMark); found {
			q.Before, rest = before, behind
		}
	}
	who, words, ok := strings.Cut(rest, saidMark)
	if !ok {
		return Quotation{}, false
	}
	q.Words = words
	at := max(0, len(who)-len(time.DateOnly))
	if _, err := time.Parse(time.DateOnly, who[at:]); err != nil {
		return Quotation{}, false
	}
	q.Day = who[at:]
	if at > 0 {
		if q.Speaker, ok = strings.CutSuffix(who[:at], ", "); !ok {
			return Quotation{}, false
		}
	}
	return q, true
}

// Words returns the words that a text quotes, or the text if it is not a quotation.
func Words(s string) string {
	if q, ok := Parse(s); ok {
		return q.Words
	}
	return s
}

// Said returns the words that a text quotes, behind who said them, and before that what they answer, or the text if it is no
// quotation.
func Said(s string) string {
	q, ok := Parse(s)
	if !ok {
		return s
	}
	said := Spoken(q.Speaker, q.Words)
	if q.Before != "" {
		said = q.Before + " " + said
	}
	return said
}

// Spoken returns words behind the name of who said them; "" is not known.
func Spoken(name, words string) string {
	if name == "" {
		return words
	}
	return name + ": " + words
}

// WithoutDay returns a text for a place that shows the day of an event beside it: a quotation of that day loses its date.
// Every other text stays as it is.
func WithoutDay(s string, event time.Time) string {
	q, ok := Parse(s)
	if !ok || q.Day != event.Format(time.DateOnly) {
		return s
	}
	q.Day = ""
	return q.String()
}
