package rules

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The bounds of evolution by rules.
const (
	maxRuleLinks     = 3   // per add
	defaultAppend    = 50  // characters of the new context, per neighbour
	maxContextRunes  = 400 // of a neighbour's context; nothing is appended past it
	maxUnionKeywords = 16  // of a neighbour; the union adds nothing past it
	maxUnionTags     = 8   // of the new note
	minUpdateShared  = 2   // shared terms below which a neighbour is left alone
	minUpdateScore   = 0.4 // similarity below which it is, too
	minUpdateTrust   = 0.9 // confidence above which a neighbour is changed
)

// evolution is the answer of "evolve" with what the rules saw (C035). Readers
// of [amem.Evolution] pass over the extra list.
type evolution struct {
	amem.Evolution
	Reflections []reflection `json:"reflections"`
}

// reflection says how the new note stands to a neighbour.
type reflection struct {
	Handle int      `json:"handle"`
	Kind   string   `json:"kind"`   // "conflict" or "complement"
	Reason string   `json:"reason"` // "negation", "changed_value", "revised" or "shared_keywords"
	Shared []string `json:"shared"` // stems
}

// The kinds of a reflection.
const (
	kindConflict   = "conflict"
	kindComplement = "complement"
)

// relatedNeighbor is what the rules know of one neighbour.
type relatedNeighbor struct {
	index      int // in the input
	note       memory.Described
	shared     []string // stems of keywords that both have, rarest first
	rarity     float64  // of the rarest shared stem, 1 for one that no other note here has
	confidence float64
	kind       string
	reason     string
}

// evolve decides by the offline rules: link on shared keywords, rare ones
// first, at most three; change a neighbour only when it is clearly related:
// union of keywords, and the first characters of the new context appended.
func evolve(in amem.EvolveInput) evolution {
	rel := relatedNeighbors(in)
	out := evolution{Reflections: []reflection{}}
	out.Actions, out.SuggestedConnections, out.TagsToUpdate = []string{}, []int{}, []string{}

	limit := min(in.MaxLinks, maxRuleLinks)
	if in.MaxLinks <= 0 {
		limit = maxRuleLinks
	}
	linked := rel[:min(limit, len(rel))]
	for _, r := range linked {
		out.SuggestedConnections = append(out.SuggestedConnections, r.note.Handle)
		out.Reflections = append(out.Reflections, reflection{Handle: r.note.Handle, Kind: r.kind, Reason: r.reason, Shared: r.shared})
	}
	trust := 0.0
	if len(linked) > 0 {
		out.ShouldEvolve = true
		out.Actions = append(out.Actions, "strengthen")
		out.TagsToUpdate = strengthenedTags(in.New, linked)
		for _, r := range linked {
			trust = max(trust, r.confidence)
		}
	}

	// One entry per neighbour, in the order given; what stays is repeated.
	for _, n := range in.Neighbors {
		out.NewContextNeighborhood = append(out.NewContextNeighborhood, n.Context)
		out.NewTagsNeighborhood = append(out.NewTagsNeighborhood, nonNil(n.Tags))
		out.NewKeywordsNeighborhood = append(out.NewKeywordsNeighborhood, nonNil(n.Keywords))
	}
	updated := 1.0
	for _, r := range linked {
		if len(r.shared) < minUpdateShared || r.note.Score < minUpdateScore || r.confidence <= minUpdateTrust {
			continue
		}
		ctx := appendContext(r.note.Context, in.New.Context, r.note.Content, in.AppendContext)
		kw := unionKeywords(r.note.Keywords, in.New.Keywords)
		if ctx == r.note.Context && slices.Equal(kw, r.note.Keywords) {
			continue
		}
		out.NewContextNeighborhood[r.index] = ctx
		out.NewKeywordsNeighborhood[r.index] = nonNil(kw)
		updated = min(updated, r.confidence)
		if !slices.Contains(out.Actions, "update_neighbor") {
			out.Actions = append(out.Actions, "update_neighbor")
			trust = 1
		}
	}
	// The gate guards changes to old notes: with such changes the least sure of
	// them speaks, else the surest link.
	trust = roundScore(min(trust, updated))
	out.Confidence = &trust
	return out
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// roundScore keeps four digits, so that answers read well and compare.
func roundScore(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// relatedNeighbors gives the neighbours that share a keyword with the new note, the
// rarest first.
func relatedNeighbors(in amem.EvolveInput) []relatedNeighbor {
	names := speakerNames(in)
	own := keywordStems(in.New, names)
	stems := make([]map[string]bool, len(in.Neighbors))
	notesWith := map[string]int{}
	for i, n := range in.Neighbors {
		stems[i] = stringSet(keywordStems(n, names))
		for st := range stems[i] {
			notesWith[st]++
		}
	}
	var out []relatedNeighbor
	for i, n := range in.Neighbors {
		r := relatedNeighbor{index: i, note: n, kind: kindComplement, reason: "shared_keywords"}
		for _, st := range own {
			if stems[i][st] {
				r.shared = append(r.shared, st)
			}
		}
		if len(r.shared) == 0 {
			continue
		}
		slices.SortStableFunc(r.shared, func(a, b string) int { return cmp.Compare(notesWith[a], notesWith[b]) })
		r.rarity = 1 / float64(notesWith[r.shared[0]])
		r.confidence = linkConfidence(n.Score, len(r.shared))
		if reason := contradiction(in.New.Content, n.Content); reason != "" {
			r.kind, r.reason = kindConflict, reason
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b relatedNeighbor) int {
		// What contradicts is linked before anything else: it must not be lost.
		return cmp.Or(
			cmp.Compare(boolInt(b.kind == kindConflict), boolInt(a.kind == kindConflict)),
			cmp.Compare(b.rarity*float64(len(b.shared)), a.rarity*float64(len(a.shared))),
			cmp.Compare(b.note.Score, a.note.Score),
			cmp.Compare(a.note.Handle, b.note.Handle))
	})
	return out
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func stringSet(list []string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, s := range list {
		m[s] = true
	}
	return m
}

// linkConfidence states the confidence that two notes belong together: what
// similarity leaves open is halved by every shared keyword. At similarity 0.6
// two make 0.9 and three 0.95.
func linkConfidence(score float64, shared int) float64 {
	open := 1 - min(1, max(0, score))
	return 1 - open*math.Pow(0.5, float64(shared))
}

// speakerNames gives the folded names of those who say the notes: that two people
// address each other is nothing that their notes share.
func speakerNames(in amem.EvolveInput) map[string]bool {
	names := map[string]bool{}
	for _, n := range append([]memory.Described{in.New}, in.Neighbors...) {
		if _, name := splitSpeaker(n.Content, ""); name != "" {
			for _, w := range text.Words(name) {
				names[w] = true
			}
		}
	}
	return names
}

// keywordStems gives the stems of the words of a note's keywords, most
// important first, without names and words that carry no subject. A keyword
// that evolution added counts only if the note's own content has it: or each
// union would make the next one likelier, until everything is related.
func keywordStems(n memory.Described, names map[string]bool) []string {
	lang, _ := text.Guess(n.Content)
	content := map[string]bool{}
	for _, w := range text.Words(n.Content) {
		content[text.Stem(w, lang)] = true
	}
	grown := len(n.Keywords) > maxKeywords
	var out []string
	seen := map[string]bool{}
	for _, k := range n.Keywords {
		for _, w := range text.Words(k) {
			if text.IsStopWord(w, lang) || names[w] || isGenericWord(w) {
				continue
			}
			if st := text.Stem(w, lang); !seen[st] && (!grown || content[st]) {
				seen[st] = true
				out = append(out, st)
			}
		}
	}
	return out
}

// isGenericWord tells a word that describes only notes that have nothing better, see
// weakWords: two notes that share it ("went", "great") may have nothing in
// common.
func isGenericWord(w string) bool {
	return utf8.RuneCountInString(w) < 2 || text.IsStopWord(w, text.English) || text.IsSmallTalk(w) || text.IsTimeWord(w)
}

// strengthenedTags adds to the new note's tags those that at least two of the
// linked notes have. Empty means no change.
func strengthenedTags(n memory.Described, linked []relatedNeighbor) []string {
	count := map[string]int{}
	out := slices.Clone(n.Tags)
	for _, r := range linked {
		for _, t := range r.note.Tags {
			count[t]++
			if count[t] == 2 && !slices.Contains(out, t) && !isFormTag(t) && len(out) < maxUnionTags {
				out = append(out, t)
			}
		}
	}
	if len(out) == len(n.Tags) {
		return []string{}
	}
	return out
}

// isFormTag tells a tag that says what a note looks like or is for, which does
// not pass from note to note.
func isFormTag(t string) bool {
	switch t {
	case "code", "list", "reference", "question", "document", "statement", "inquiry", "experience", "fact":
		return true
	}
	for _, nt := range noteTypes {
		if nt.name == t {
			return true
		}
	}
	return false
}

// appendContext adds the first characters of the new context to the old, once,
// within the bound of the whole. n 0 means 50.
func appendContext(old, added, content string, n int) string {
	if n <= 0 {
		n = defaultAppend
	}
	added = strings.Join(strings.Fields(added), " ")
	if added == "" || added == memory.DefaultContext {
		return old
	}
	piece := clipWords(added, n)
	if piece == "" || strings.Contains(old, piece) || strings.Contains(content, piece) {
		return old
	}
	if old == "" || old == memory.DefaultContext {
		return piece
	}
	const join = " | "
	if utf8.RuneCountInString(old)+utf8.RuneCountInString(join)+utf8.RuneCountInString(piece) > maxContextRunes {
		return old
	}
	return old + join + piece
}

// clipWords gives at most n characters of s, cut at a space where that leaves
// more than half.
func clipWords(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	cut := string(r[:n])
	if r[n] != ' ' {
		if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
			cut = cut[:i]
		}
	}
	return strings.TrimRight(cut, " ,;:-")
}

// unionKeywords adds the new keywords that say something the old ones do not,
// in order, within the bound of the whole.
func unionKeywords(old, added []string) []string {
	out := slices.Clone(old)
	seen := map[string]bool{}
	for _, k := range old {
		seen[text.Fold(k)] = true
	}
	for _, k := range added {
		if f := text.Fold(k); !seen[f] && len(out) < maxUnionKeywords && !isGenericWord(f) {
			seen[f] = true
			out = append(out, k)
		}
	}
	return out
}

// How alike two sentences must be before a difference between them is a
// contradiction: the share of the shorter one's terms that the other has, and
// the least number of common terms. Prose shares single words all the time.
const (
	alikeForNegation = 0.7
	alikeForValue    = 0.6
	alikeForRevision = 0.4
	minCommonTerms   = 2
	minLongCommon    = 3 // where both sentences have more than four terms
	longSentence     = 4
)

var numbers = regexp.MustCompile(`\d+(?:[.:,]\d+)*`)

// contradiction says how a sentence of the new text contradicts one of the old,
// "" if none does: of two alike sentences one negates, they name other
// numbers, or the new one says that something changed.
func contradiction(added, old string) string {
	// Together they are long enough to tell the language of two short ones.
	lang, _ := text.Guess(added + "\n" + old)
	before := text.Sentences(old)
	for _, a := range text.Sentences(added) {
		for _, b := range before {
			if reason := sentenceContradiction(a, b, lang); reason != "" {
				return reason
			}
		}
	}
	return ""
}

func sentenceContradiction(added, old string, lang text.Language) string {
	a, b := termsWithoutNumbers(added, lang), termsWithoutNumbers(old, lang)
	common := 0
	for t := range a {
		if b[t] {
			common++
		}
	}
	shorter := min(len(a), len(b))
	if common < minCommonTerms || shorter > longSentence && common < minLongCommon || strings.Contains(added, "?") || strings.Contains(old, "?") {
		return ""
	}
	alike := float64(common) / float64(shorter)
	if re := revisionPatterns[lang]; re != nil && alike >= alikeForRevision && re.MatchString(added) && !re.MatchString(old) {
		return "revised"
	}
	negates := func(s string) bool { return negationPatterns[lang].MatchString(idioms.ReplaceAllString(s, "")) }
	if negationPatterns[lang] != nil && alike >= alikeForNegation && negates(added) != negates(old) {
		return "negation"
	}
	x, y := numbers.FindAllString(added, -1), numbers.FindAllString(old, -1)
	if alike >= alikeForValue && len(x) > 0 && len(y) > 0 && !slices.Equal(x, y) {
		return "changed_value"
	}
	return ""
}

func termsWithoutNumbers(s string, lang text.Language) map[string]bool {
	terms := stringSet(text.TermsIn(s, lang))
	for _, n := range text.Words(strings.Join(numbers.FindAllString(s, -1), " ")) {
		delete(terms, n)
	}
	return terms
}
