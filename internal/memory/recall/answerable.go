package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
)

// estimateAnswerable returns how well the hits fit the query, 0..1: the mean of how well the best hit matches by late
// interaction and of the highest cosine of what was found. If the query names one of several speakers, only the cosines
// of that speaker's notes count, and how many of the first hits are that speaker's: a question about one person that
// another one answers is the usual trap. The best score counts for a third. It has what the notes around say, on which
// the measures of one note are silent. docs/recall.md has the figures. It is nil when nothing was compared by meaning.
//
// It is 0 for a query in which nothing can be matched: its vector is near to some note by chance. That is one that says nothing,
// such as "?", and one of whose words no note has, when they are not words of a language or hardly any note is near.
func (sr *searchRun) estimateAnswerable(hits []search.Hit, found []search.Candidate) *float64 {
	if sr.words != "" && !strings.ContainsFunc(sr.words, says) {
		return new(float64)
	}
	best := &hits[0]
	late := best.Values[search.Late]
	if late <= 0 && !best.Dense {
		return nil
	}
	key, named := sr.namedSpeaker()
	match := 0.0
	for i := range found {
		if c := &found[i]; c.Dense && (key == "" || sr.isBy(c.Note, key, named)) {
			match = max(match, c.Values[search.Vector])
		}
	}
	if late > 0 {
		match = (match + sr.lateAboveFloor(late)) / 2
	}
	if key != "" {
		match = (match + sr.speakerShare(hits, key, named)) / 2
	}
	out := (2*match + min(max(best.Score, 0), 1)) / 3
	if sr.unmatched && (out < hardlyNear || areBroken(sr.words)) {
		out = 0
	}
	return &out
}

// hardlyNear is the least estimate of a query of whose words no note has any: what a random string of letters gets is below.
const hardlyNear = 0.3

// leastPerToken is how many letters a word of any language has in each token of a model, at least. Names that models have not
// seen often have as few as random letters; then no note has the name.
const leastPerToken = 2.4

// leastJudged is the length of the shortest words that tokens say something of. A pair of Chinese characters is shorter.
const leastJudged = 3

// areBroken reports whether a text has no letters, or words that fall into tokens as random letters do.
func areBroken(words string) bool {
	letters, tokens := 0, 0
	for _, w := range text.Words(words) {
		n, err := search.O200k.Count(" " + w)
		length := utf8.RuneCountInString(w)
		if err != nil || length < leastJudged {
			return false
		}
		letters, tokens = letters+length, tokens+n
	}
	return tokens == 0 || float64(letters) < leastPerToken*float64(tokens)
}

// says reports whether a character says something: a letter, a number, or an emoji.
func says(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || r >= utf8.RuneSelf && len(text.Signs(string(r))) > 0
}

// The encoder for languages other than English puts all its texts near each other: any two have a late interaction of
// about .85, where the one for English has .3. Above foreignFloor both measure alike. With a note that the encoder for
// English read, it is below foreignFrom and means what it says. Both were chosen on sentences of our own.
const (
	foreignFloor = 0.8
	foreignFrom  = 0.6
)

// lateAboveFloor returns a late interaction on the scale of English.
func (sr *searchRun) lateAboveFloor(late float64) float64 {
	if lang, _ := text.Guess(sr.words); lang == text.English && !sr.embedded.second || late < foreignFrom {
		return late
	}
	return max(late-foreignFloor, 0) / (1 - foreignFloor)
}

// namedSpeaker returns the speaker whom the query names, and the attribute that has the name; "" when it names none, or
// several.
func (sr *searchRun) namedSpeaker() (key, name string) {
	for _, key := range []string{memory.AttrName, "speaker"} {
		if name, ok := sr.namedAttributes[key]; ok {
			return key, name
		}
	}
	return "", ""
}

// isBy reports whether an attribute of a note has a value.
func (sr *searchRun) isBy(note search.ID, key, name string) bool {
	_, r, found := sr.index.Record(note)
	return found && r.Attributes[key] == name
}

// answerableHits is how many hits speakerShare looks at.
const answerableHits = 5

// speakerShare returns the share of the first hits that are by a speaker; the n-th counts 1/n.
func (sr *searchRun) speakerShare(hits []search.Hit, key, name string) float64 {
	var share, all float64
	for i := range hits[:min(len(hits), answerableHits)] {
		weight := 1 / float64(i+1)
		all += weight
		if sr.isBy(hits[i].Note, key, name) {
			share += weight
		}
	}
	return share / all
}
