package rules

import (
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// The limits of continuity by rules. The longer the time between two pages, the more they must have in
// common.
const (
	shortGap  = 30 * time.Minute
	middleGap = 6 * time.Hour

	// The cosine of two pages, or the share of the shorter page's terms that the other has too, from
	// which a page continues the one before it.
	closeLikeness  = 0.3 // within shortGap
	middleLikeness = 0.45
	farLikeness    = 0.6 // after more than middleGap, and when the speaker names another topic
)

var (
	// refersBack matches the beginning of something that only the page before explains.
	refersBack = regexp.MustCompile(`(?i)^(?:(?:and|but|so|ok(?:ay)?|well|oh|hmm|yes|yeah|no|thanks|thank you|great|sure|right)[,.! ]+)*(?:that|it|this|these|those|they|he|she|what about|how about|why|which one|the (?:first|second|third|last|other|same)|another one|one more|go on|continue|tell me more|can you (?:also|explain|elaborate|expand|make it)|also|instead|in that case|what else|anything else|then|and (?:the|what|how|if))\b|^(?:那|这|它|他|她|还有|另外一?个|再|继续|为什么|然后|接着|第[一二三四]|上面|刚才|换一个|具体)`)
	// changesTopic matches words that announce another topic.
	changesTopic = regexp.MustCompile(`(?i)^(?:(?:anyway|ok(?:ay)?|well|so|oh|hey|thanks|great)[,.! ]+)*(?:by the way|btw|on another note|on a different note|changing the (?:subject|topic)|(?:a|another|new|different|unrelated) (?:question|topic)|something else|one more thing|speaking of which|completely unrelated|let's talk about)\b|^(?:对了|顺便(?:问|说)|换个话题|说到别的|另一个问题|题外话|话说|新的?问题)`)
)

// continuity decides whether a page continues the one before it, by the time between them, their cosine
// or shared words, and words that refer back or announce another topic.
func continuity(in memoryos.ContinuityInput) memoryos.Continuity {
	if len(in.Previous.Messages) == 0 || len(in.Next.Messages) == 0 {
		return memoryos.Continuity{}
	}
	gap := in.Next.Messages[0].Time.Sub(in.Previous.Messages[len(in.Previous.Messages)-1].Time).Abs()
	opening := strings.TrimSpace(in.Next.Messages[0].Content)
	likeness := max(in.Similarity, sharedShare(pageText(&in.Previous), pageText(&in.Next)))
	limit := closeLikeness
	switch {
	case gap > middleGap || changesTopic.MatchString(opening):
		limit = farLikeness
	case refersBack.MatchString(opening) && gap <= shortGap:
		return memoryos.Continuity{Continuous: true}
	case gap > shortGap:
		limit = middleLikeness
	}
	return memoryos.Continuity{Continuous: likeness >= limit}
}

// sharedShare returns the share of the terms of the shorter text that the other has too, 0..1.
func sharedShare(a, b string) float64 {
	left, right := stringSet(text.Terms(a)), stringSet(text.Terms(b))
	if len(right) < len(left) {
		left, right = right, left
	}
	if len(left) == 0 {
		return 0
	}
	shared := 0
	for t := range left {
		if right[t] {
			shared++
		}
	}
	return float64(shared) / float64(len(left))
}

// pageText returns what is said on a page, a line for each message.
func pageText(p *memoryos.CallPage) string {
	var b strings.Builder
	for _, m := range p.Messages {
		b.WriteString(m.Content)
		b.WriteByte('\n')
	}
	return b.String()
}

// pagesSaid returns the messages of pages in order.
func pagesSaid(pages []memoryos.CallPage) []memory.Utterance {
	var out []memory.Utterance
	for i := range pages {
		out = append(out, pages[i].Messages...)
	}
	return out
}
