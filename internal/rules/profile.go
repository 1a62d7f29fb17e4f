package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// profile finds the dimensions that a person's own sentences show, each with the sentence that shows it best,
// and adds lasting facts to the text. What is known stays.
func profile(in memoryos.ProfileInput) memoryos.Profile {
	found := map[string]*finding{}
	said := pagesSaid(in.Pages)
	toAssistant := slices.ContainsFunc(said, func(u memory.Utterance) bool { return u.Role == memory.RoleAssistant })
	for i := range said {
		if said[i].Role != memory.RoleUser || isPasted(said[i].Content) {
			continue
		}
		if said[i].Name == "" {
			said[i].Name = in.Person
		}
		for _, s := range utteredSentences(said[i].Content) {
			noteFindings(addressForm.ReplaceAllString(strings.TrimLeft(s, "-*•# "), "$1"), toAssistant, found)
		}
	}
	out := memoryos.Profile{Dimensions: []memoryos.Dimension{}, Text: profileText(in, said)}
	for _, e := range memoryos.Catalog() {
		f := found[e.Name]
		if f == nil {
			continue
		}
		level := f.level()
		for _, old := range in.Old.Dimensions {
			if old.Name == e.Name {
				level = integrateLevel(old.Level, level)
			}
		}
		out.Dimensions = append(out.Dimensions, memoryos.Dimension{Name: e.Name, Level: level, Evidence: text.Shorten(f.evidence, memoryos.MaxEvidenceChars)})
	}
	return out
}

// finding is the evidence for one dimension.
type finding struct {
	sentences int
	strong    int    // sentences that say it strongly
	evidence  string // the best sentence
	best      int    // how good it is
}

func (f *finding) level() memoryos.Level {
	switch n := f.sentences + f.strong; {
	case n >= 4:
		return memoryos.LevelHigh
	case n >= 2:
		return memoryos.LevelMedium
	}
	return memoryos.LevelLow
}

// integrateLevel returns the level of a finding that was known: at least what it was, and one higher when it
// shows as strongly again.
func integrateLevel(old, level memoryos.Level) memoryos.Level {
	rank := []memoryos.Level{memoryos.LevelLow, memoryos.LevelMedium, memoryos.LevelHigh}
	was, is := slices.Index(rank, old), slices.Index(rank, level)
	if was == is {
		is++
	}
	return rank[min(max(was, is), len(rank)-1)]
}

// maxEvidenceSentence is the length above which a sentence shows too many things at once.
const maxEvidenceSentence = 300

// noteFindings adds what a sentence shows.
func noteFindings(s string, toAssistant bool, found map[string]*finding) {
	n := utf8.RuneCountInString(s)
	if n < 6 || n > maxEvidenceSentence || injectedInstructions.MatchString(s) {
		return
	}
	own := isOwnStatement(s)
	strong := strongFeeling.MatchString(s)
	for i := range dimensionCues {
		d := &dimensionCues[i]
		if d.addressed && (!toAssistant || !asksListener(s, d.form)) || !d.addressed && !own || !d.form.MatchString(s) || d.not != nil && d.not.MatchString(s) {
			continue
		}
		f := found[d.name]
		if f == nil {
			f = &finding{}
			found[d.name] = f
		}
		f.sentences++
		quality := 1
		if strong {
			f.strong++
			quality = 2
		}
		if quality > f.best {
			f.best, f.evidence = quality, s
		}
	}
}

var (
	strongFeeling = regexp.MustCompile(`(?i)\b(?:love|loved|adore|passion\w*|favou?rite|obsessed|addicted|crazy about|huge|always|every (?:day|morning|evening|night|week|weekend)|daily|can't live without|for years|my life|most important|means (?:everything|the world|a lot)|never miss|big fan|lifelong)\b|最喜欢|最爱|热爱|每天|每周|一直|从小|非常喜欢|特别喜欢|酷爱|痴迷|离不开`)
	// denied matches a sentence in which the speaker does not do or like something.
	denied = regexp.MustCompile(`(?i)\b(?:don't|do not|didn't|doesn't|never|won't|can't|cannot|not (?:really|much|a|into|interested|good)|can't stand|hate|dislike|no longer|stopped|quit|gave up|isn't|wasn't|haven't|wouldn't|couldn't|if i|wish i)\b|不喜欢|不爱|讨厌|不想|没有?兴趣|不会|不太|不怎么|从不|没去过|如果`)
)

// isOwnStatement reports whether a sentence states something about the speaker.
func isOwnStatement(s string) bool {
	if strings.ContainsAny(s, "?？") || strings.Count(s, `"`)%2 == 1 {
		return false
	}
	if isHan(s) {
		s = hanLeadIns.ReplaceAllString(strings.TrimSpace(s), "")
		return hanOwnSubject.MatchString(s) && !hanQuestion.MatchString(s) && !hanSupposed.MatchString(s) && !denied.MatchString(s)
	}
	plain := stripFiller(s)
	if plain == "" {
		return false
	}
	plain = restoreSubject(plain)
	words := lowerWords(plain)
	if len(words) < 3 || denied.MatchString(plain) || suppositions.MatchString(plain) || requests.MatchString(plain) {
		return false
	}
	return speakerActs(words) || ownLiking.MatchString(plain)
}

// speakerActs reports whether the speaker, and not a thing of the speaker's, is the subject of a sentence.
func speakerActs(words []string) bool {
	if !startsWithSpeaker(words) {
		return false
	}
	at := slices.IndexFunc(words, func(w string) bool { return selfWords[w] })
	switch words[at] {
	case "my", "our", "me", "us", "myself", "ourselves", "mine", "ours":
		return false
	}
	return true
}

// asksListener reports whether a sentence asks the listener for what a form matches: it is a question, names
// the listener, or begins with it.
func asksListener(s string, form *regexp.Regexp) bool {
	at := form.FindStringIndex(s)
	return len(at) > 0 && (at[0] <= maxAskOpening || strings.ContainsAny(s, "?？你您") || addressesListener(lowerWords(s)) || politely.MatchString(s))
}

// maxAskOpening is how many bytes may be in front of a request.
const maxAskOpening = 12

var politely = regexp.MustCompile(`(?i)\b(?:please|i (?:want|need|expect|prefer|would like))\b|请|希望`)

var (
	ownLiking     = regexp.MustCompile(`(?i)^(?:my|our) (?:biggest |main |all-time |absolute |other |new )*(?:hobby|hobbies|passions?|favou?rite|interests?|love of|dream|goals?)\b`)
	hanOwnSubject = regexp.MustCompile(`^(?:(?:昨天|前天|今天|今早|昨晚|上周\p{Han}?|周末|上个?月|去年|今年|最近|平时|现在|以前|小时候|每天|每周|其实|有时候?|刚刚?|[，,])*)(?:我(?:们)?(?:一家)?|我的(?:爱好|兴趣|梦想|目标))[^的]`)
)

// profileText returns the old text with the lasting facts that the pages add, within its bound.
func profileText(in memoryos.ProfileInput, said []memory.Utterance) string {
	lines := text.Sentences(in.Old.Text)
	known := map[string]bool{}
	for _, l := range lines {
		known[text.Fold(trimSentenceEnd(l))] = true
	}
	for _, f := range extract(mem0.ExtractInput{New: said}).Facts {
		if key := text.Fold(trimSentenceEnd(f)); !known[key] && !isEvent(f) && slices.ContainsFunc(said, func(u memory.Utterance) bool { return u.Role == memory.RoleUser }) {
			known[key] = true
			lines = append(lines, f)
		}
	}
	lang := languageOf(strings.Join(lines, "\n"))
	if joined := joinParts(lines, isHan(strings.Join(lines, ""))); utf8.RuneCountInString(joined) <= memoryos.MaxProfileChars {
		return joined
	}
	return extractiveSummary(lines, memoryos.MaxProfileChars, lang)
}
