package rules

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// The bounds of evolution by rules.
const (
	maxRuleLinks        = 3   // per note
	defaultAppend       = 50  // characters of the new context, per neighbor
	maxContextRunes     = 400 // of a neighbor's context; nothing is appended beyond it
	maxUnionKeywords    = 16  // of a neighbor; the union adds none beyond it
	maxUnionTags        = 8   // of the new note
	minUpdateShared     = 2   // a neighbor that shares fewer terms is not changed
	minUpdateScore      = 0.4 // a neighbor of lower similarity is not changed
	minUpdateConfidence = 0.9 // a neighbor is changed only above this confidence
)

// evolution is the answer of "evolve", with the reflections that the rules add (C035). Readers of
// [amem.Evolution] ignore the extra list.
type evolution struct {
	amem.Evolution
	Reflections []reflection `json:"reflections"`
}

// reflection describes how the new note relates to a neighbor.
type reflection struct {
	Handle int      `json:"handle"`
	Kind   string   `json:"kind"`   // "conflict" or "complement"
	Reason string   `json:"reason"` // "negation", "changed_value", "revised" or "shared_keywords"
	Shared []string `json:"shared"` // stems of the shared keywords
}

// The kinds of a reflection.
const (
	kindConflict   = "conflict"
	kindComplement = "complement"
)

// relatedNeighbor is a neighbor that shares keywords with the new note.
type relatedNeighbor struct {
	index      int // in the list of neighbors
	note       memory.Described
	shared     []string // stems of the keywords of both, rarest first
	rarity     float64  // of the rarest shared stem; 1 if no other neighbor has it
	confidence float64
	kind       string
	reason     string
}

// evolve links the new note to at most three neighbors that share keywords, those with rare
// keywords first. A neighbor is changed only when it is clearly related: it gets the union of the
// keywords, and the first characters of the new context are appended to its own.
func evolve(in amem.EvolveInput) evolution {
	related := relatedNeighbors(in)
	out := evolution{Reflections: []reflection{}}
	out.Actions, out.SuggestedConnections, out.TagsToUpdate = []string{}, []int{}, []string{}

	limit := min(in.MaxLinks, maxRuleLinks)
	if in.MaxLinks <= 0 {
		limit = maxRuleLinks
	}
	linked := related[:min(limit, len(related))]
	for _, r := range linked {
		out.SuggestedConnections = append(out.SuggestedConnections, r.note.Handle)
		out.Reflections = append(out.Reflections, reflection{Handle: r.note.Handle, Kind: r.kind, Reason: r.reason, Shared: r.shared})
	}
	confidence := 0.0
	if len(linked) > 0 {
		out.ShouldEvolve = true
		out.Actions = append(out.Actions, "strengthen")
		out.TagsToUpdate = strengthenedTags(in.New, linked)
		for _, r := range linked {
			confidence = max(confidence, r.confidence)
		}
	}

	// The answer has one entry per neighbor, in the order given. An entry without a change
	// repeats the old value.
	for _, n := range in.Neighbors {
		out.NewContextNeighborhood = append(out.NewContextNeighborhood, n.Context)
		out.NewTagsNeighborhood = append(out.NewTagsNeighborhood, nonNil(n.Tags))
		out.NewKeywordsNeighborhood = append(out.NewKeywordsNeighborhood, nonNil(n.Keywords))
	}
	changedConfidence := 1.0
	for _, r := range linked {
		if len(r.shared) < minUpdateShared || r.note.Score < minUpdateScore || r.confidence <= minUpdateConfidence {
			continue
		}
		ctx := appendContext(r.note.Context, in.New.Context, r.note.Content, in.AppendContext)
		kw := unionKeywords(r.note.Keywords, in.New.Keywords)
		if ctx == r.note.Context && slices.Equal(kw, r.note.Keywords) {
			continue
		}
		out.NewContextNeighborhood[r.index] = ctx
		out.NewKeywordsNeighborhood[r.index] = nonNil(kw)
		changedConfidence = min(changedConfidence, r.confidence)
		if !slices.Contains(out.Actions, "update_neighbor") {
			out.Actions = append(out.Actions, "update_neighbor")
			confidence = 1
		}
	}
	// The confidence decides whether old notes may be changed. It is the lowest of the changed
	// neighbors, or the highest of the links when no neighbor is changed.
	confidence = roundScore(min(confidence, changedConfidence))
	out.Confidence = &confidence
	return out
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// roundScore rounds to four digits, so that answers are easy to read and compare.
func roundScore(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// relatedNeighbors returns the neighbors that are about the same thing as the new note, or contradict it: contradictions
// first, then those with the rarest and the most shared keywords.
func relatedNeighbors(in amem.EvolveInput) []relatedNeighbor {
	pairs := linkedPairs(in)
	notesWith := map[string]int{}
	for i := range pairs {
		for _, st := range pairs[i].shared {
			notesWith[st]++
		}
	}
	var out []relatedNeighbor
	for i, n := range in.Neighbors {
		p := &pairs[i]
		if len(p.telling) == 0 {
			continue
		}
		reason := contradiction(in.New.Content, n.Content)
		if reason == "" && p.probability() < minLinked {
			continue
		}
		r := relatedNeighbor{
			index: i, note: n, kind: kindComplement, reason: "shared_keywords", shared: p.shared,
			rarity: 1 / float64(notesWith[p.shared[0]]), confidence: linkConfidence(n.Score, len(p.shared)),
		}
		if reason != "" {
			r.kind, r.reason = kindConflict, reason
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b relatedNeighbor) int {
		// Contradictions come first: the limit of links must not drop them.
		return cmp.Or(
			cmp.Compare(boolInt(b.kind == kindConflict), boolInt(a.kind == kindConflict)),
			cmp.Compare(b.rarity*float64(len(b.shared)), a.rarity*float64(len(a.shared))),
			cmp.Compare(b.note.Score, a.note.Score),
			cmp.Compare(a.note.Handle, b.note.Handle))
	})
	return out
}

// sharePhrase reports whether two lists have a keyword of several words in common.
func sharePhrase(a, b []string) bool {
	return slices.ContainsFunc(a, func(k string) bool {
		return strings.Contains(k, " ") && slices.ContainsFunc(b, func(o string) bool { return strings.EqualFold(k, o) })
	})
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

// linkConfidence returns the confidence that two notes are related. It starts at the similarity,
// and every shared keyword halves the distance to 1. At similarity 0.6, one shared keyword makes
// 0.8 and two make 0.9.
func linkConfidence(score float64, shared int) float64 {
	open := 1 - min(1, max(0, score))
	return 1 - open*math.Pow(0.5, float64(shared))
}

// weakAlone are the stems of words that need another shared word: two notes with a trip, or with
// somebody's health, need not be about the same one.
var weakAlone = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range slices.Concat(slices.Collect(maps.Keys(personNouns)), slices.Collect(maps.Keys(femaleKin)), slices.Collect(maps.Keys(maleKin))) {
		m[text.Stem(w, text.English)] = true
	}
	for w := range wordSet(`school classmate competition contest event activity occasion party prize award win winner
		user data score source concept note hold people client file email code function value result state sentence paragraph essay article letter prompt continue trip game health nature color colour share accept acceptance fan appreciate balance recommend favorite toward reality matter effect act remind stay spend move bond fam folks
		ride business biz customer class piece assist setback bonding trial part member audience vibe spirit sense visit travel journey pride sport sports move platform media space city
		protocol benefit direction number unit block section structure format template draft version feedback schedule register status clause option detail log entry task tool target metric baseline instruction question
		country area view scene look sound taste kind lady buddy pal fellow mate crowd gang partner colleague workmate neighbor boss coach mentor crew staff student teammate player
		character series plot title author page chapter video clip post picture music song tune show film movie item product order sale price deal offer money cost food meal dish snack drink water
		phone app internet computer screen car bus train road street door room floor wall window table chair bed comfy cozy
		house housing organization achievement perform performance performer soul resource service workout practice skill training attitude adventure atmosphere hobby gift present`) {
		m[text.Stem(w, text.English)] = true
	}
	return m
}()

// isWeakAlone reports whether a stem needs another one that is telling: two notes that share an abstract noun, or that
// are about somebody's father, need not be about the same thing.
func isWeakAlone(stem string) bool {
	return weakAlone[stem] || hanWeakAlone[stem] || hanKinWord.MatchString(stem)
}

var hanKinWord = regexp.MustCompile(`^(?:` + hanKin + `)$`)

// hanWeakAlone are Chinese words of that kind.
var hanWeakAlone = wordSet(`学校 公园 比赛 活动 礼物 生日 房间 感觉 家里 家中 时间 城市 周末 公司 工作 课堂 好友 计划 作业 小朋友 东西 机会 问题 方法 事情 心情 情绪 压力 支持 鼓励 能力 努力 生活 情况
	建议 故事 视频 照片 手机 电脑 同学 朋友 老师 同事 家人 孩子 大家 经历 过程 结果 成绩 班主任 同学们 好朋友 班级 学生 项目 游戏 玩具 节日 地方 商场 户外 兴趣 信心 机 店 人 会 班 时 书 车 彩色 红色 蓝色 绿色 黄色 粉色 白色 黑色 同班 制作 森 课 名次`)

// vocative matches a name by which a sentence addresses the listener.
var vocative = regexp.MustCompile(`(?:(?:^|[,.!?:]\s*)|\b(?i:hey|hi|hello|thanks|thank you|wow|yeah|yes|no|oh|sorry|congrats|absolutely|totally|definitely|agreed|sure|right|bye)\s+)(\p{Lu}\p{Ll}+)[,!?.]`)

// speakerNames returns the folded names of the notes' speakers. Two notes that mention each
// other's speakers do not share a subject.
func speakerNames(in amem.EvolveInput) map[string]bool {
	names := map[string]bool{}
	for _, n := range append([]memory.Described{in.New}, in.Neighbors...) {
		if _, name := splitSpeaker(n.Content, ""); name != "" {
			for _, w := range text.Words(name) {
				names[w] = true
			}
		}
		for _, sentence := range text.Sentences(n.Content) {
			if isHan(sentence) { // whom it is about
				if at := hanNameAt(sentence, ""); at > 0 {
					names[text.Fold(strings.TrimSpace(sentence[:at]))] = true
				}
			}
		}
		for _, m := range vocative.FindAllStringSubmatch(n.Content, 8) {
			names[text.Fold(m[1])] = true
		}
	}
	return names
}

// keywordStems are the stems of the words of a note's keywords, by which notes are related.
type keywordStems struct {
	order   []string // most important first
	known   map[string]bool
	content map[string]bool
	text    string
	lang    text.Language
	// subjects are the stems that name what the content is about; nil: not looked for yet. It takes a
	// tagger, so only notes that share a stem with another one are asked.
	subjects map[string]bool
}

// stemKeywords returns the stems of a note's keywords without names and generic words. Once
// evolution has added keywords, only those count that the note's own content has. Otherwise each
// union would make the next one more likely, until all notes were related.
func stemKeywords(n memory.Described, names map[string]bool) keywordStems {
	lang, _ := text.Guess(n.Content)
	out := keywordStems{known: map[string]bool{}, content: map[string]bool{}, text: n.Content, lang: lang}
	for _, w := range linkWords(n.Content, lang) {
		out.content[text.Stem(w, lang)] = true
	}
	grown := len(n.Keywords) > maxKeywords
	for _, k := range n.Keywords {
		for _, w := range linkWords(k, lang) {
			if text.IsStopWord(w, lang) || names[w] || isGenericWord(w) && lang != text.Chinese || numberWords[w] || abstractNouns[w] || vagueNouns[w] {
				continue
			}
			if st := text.Stem(w, lang); !out.known[st] && (!grown || out.content[st]) {
				out.known[st] = true
				out.order = append(out.order, st)
			}
		}
	}
	return out
}

// linkWords returns the words by which notes are related. Chinese is split by the dictionary.
func linkWords(s string, lang text.Language) []string {
	if lang != text.Chinese {
		return text.Words(s)
	}
	var out []string
	for _, w := range grammar.Chinese(clip.Head(s, maxTagged)) {
		if w.Tag == "eng" || w.Tag != "w" && (utf8.RuneCountInString(w.Text) > 1 || w.Tag == "n") {
			out = append(out, text.Fold(w.Text))
		}
	}
	return out
}

// names reports whether a stem of the keywords names a subject of the note. A word that the content
// has must name a subject there: "run the hospital" is not related to "run a marathon".
func (k *keywordStems) names(stem string) bool {
	if !k.content[stem] {
		return true
	}
	if k.subjects == nil {
		said := k.text
		if k.lang != text.Chinese {
			body, _ := splitSpeaker(said, "")
			said = substance(body)
		}
		k.subjects = subjectStems(said, k.lang)
	}
	return k.subjects[stem]
}

// shared returns the stems that name a subject of both notes, in the order of k.
func (k *keywordStems) shared(other *keywordStems) []string {
	var out []string
	for _, st := range k.order {
		if other.known[st] && k.names(st) && other.names(st) {
			out = append(out, st)
		}
	}
	return out
}

// isGenericWord reports whether a word says too little to relate two notes that share it, such as
// "went" or "great". Such words are keywords of notes that have no better ones, see weakWords.
func isGenericWord(w string) bool {
	return utf8.RuneCountInString(w) < 2 || text.IsStopWord(w, text.English) || text.IsSmallTalk(w) || text.IsTimeWord(w)
}

// strengthenedTags adds to the new note's tags those that at least two of the linked notes have.
// An empty result means no change.
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

// isFormTag reports whether a tag is about the format or type of a note. Such tags do not pass
// from note to note.
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

// appendContext appends the first n characters of the new context to the old one, unless they are
// already there or the whole would exceed maxContextRunes. n 0 means defaultAppend.
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

// hanWidth is how many characters of an alphabet a Chinese one counts for: it is about half a word.
const hanWidth = 3

// clipWords returns at most n characters of s; a Chinese one counts for hanWidth. It cuts at a space if that keeps more than
// half.
func clipWords(s string, n int) string {
	width := 0
	for i, r := range s {
		if width++; unicode.Is(unicode.Han, r) {
			width += hanWidth - 1
		}
		if width <= n {
			continue
		}
		cut := s[:i]
		if r != ' ' {
			if at := strings.LastIndexByte(cut, ' '); at > len(cut)/2 {
				cut = cut[:at]
			}
		}
		return strings.TrimRight(cut, " ,;:-，。、；")
	}
	return s
}

// unionKeywords appends the new keywords that the old ones do not contain, in order, up to
// maxUnionKeywords.
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

// Two sentences contradict each other only if they are similar. These are the shares of the
// shorter sentence's terms that the other must have, and the least numbers of common terms.
// Unrelated sentences often share single words.
const (
	alikeForNegation = 0.7
	alikeForValue    = 0.6
	alikeForRevision = 0.4
	minCommonTerms   = 2
	minLongCommon    = 3 // where both sentences have more than four terms
	longSentence     = 4
)

var numbers = regexp.MustCompile(`\d+(?:[.:,]\d+)*`)

// contradiction returns how a sentence of the new text contradicts one of the old, or "" if none
// does. Of two similar sentences only one is negated, or they have different numbers, or the new
// one says that something changed.
func contradiction(added, old string) string {
	// The language of both together is easier to guess than that of two short texts.
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

// sentenceContradiction is contradiction for two sentences.
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
