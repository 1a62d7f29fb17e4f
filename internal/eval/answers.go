package eval

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/eval/reference"
)

// The prompts of a comparison, the same for all systems. A report prints them.
const (
	AnswerPrompt = "Answer the question from the memories alone, in as few words as possible and in their wording, without a sentence around it. " +
		"If the memories do not say it, answer: not mentioned."
	JudgePrompt = "You compare an answer with the correct one. It is right if it says the same thing, however it is worded, and if it adds nothing that contradicts it. " +
		"A time may be given in another form if it is the same time. Reply with one word: CORRECT or WRONG."
)

// ExtractiveAnswer names the answers that are given without a model.
const ExtractiveAnswer = "extractive: the sentence of the memories that fits the question best by BM25 over stems; no model answers"

// reader answers questions from memory: by the gateway's model, or without one by a sentence of the memory.
type reader struct {
	client   *Client
	blank    string // a collection without notes, so that a chat adds no memory of its own
	asked    string // the model to ask; "" for the main one
	model    string // that answers; "" without one
	judge    string
	embedder string
}

// openReader makes the empty collection, and asks it what answers.
func (c *Comparison) openReader(ctx context.Context) (*reader, error) {
	name := c.Prefix + "blank"
	col, err := c.Client.Collection(ctx, name)
	if isNotFound(err) {
		col, err = c.Client.CreateCollection(ctx, name, noPolicy)
	}
	if err != nil {
		return nil, err
	}
	r := &reader{client: c.Client, blank: col.ID, asked: c.Model, judge: c.Judge, embedder: col.Embedder}
	answer, err := r.chat(ctx, r.asked, []string{"Reply with the word ready."})
	if err != nil {
		return nil, err
	}
	r.model = answer.Model
	return r, nil
}

// chatAnswer is the part of a reply that is used.
type chatAnswer struct {
	Reply   string `json:"reply"`
	Model   string `json:"model"`
	Offline bool   `json:"offline"`
}

// chat sends messages to a model of the gateway; "" is its main model.
func (r *reader) chat(ctx context.Context, model string, messages []string) (out chatAnswer, err error) {
	body := map[string]any{"remember": false, "token_budget": 1}
	if model != "" {
		body["model"] = model
	}
	list := make([]Message, len(messages))
	for i, m := range messages {
		list[i] = Message{Role: "user", Content: m}
	}
	body["messages"] = list
	err = r.client.do(ctx, http.MethodPost, "/v1/collections/"+url.PathEscape(r.blank)+"/chat", body, &out)
	return out, err
}

// answer answers a question from the memory that a system has shown, and measures the answer.
func (r *reader) answer(ctx context.Context, q *Question, at *retrieved, row *AskedQuestion) error {
	start := time.Now()
	switch {
	case at.answer != "" && r.model != "": // an agent has answered by itself
		row.Answer = at.answer
	case r.model == "":
		row.Answer = extract(at.text, q.Text)
	default:
		answer, err := r.chat(ctx, r.asked, split(AnswerPrompt+"\n\nMemories:\n"+at.text, "\n\nQuestion: "+q.Text))
		if ctx.Err() != nil {
			return err
		}
		if err != nil { // a history that the model cannot read is a result, not the end of the comparison
			row.Failed = clip.Runes(err.Error(), 200)
			return nil
		}
		row.Answer = strings.TrimSpace(answer.Reply)
	}
	row.AnswerMs = row.Ms + milliseconds(time.Since(start))
	if q.Answer == "" && q.Category != "adversarial" {
		return nil
	}
	f1, bleu := officialF1(row.Answer, q.Answer, q.Category), bleu1(row.Answer, q.Answer)
	row.F1 = &f1
	if q.Category != "adversarial" {
		row.BLEU1 = &bleu
	}
	if r.judge != "" && q.Category != "adversarial" {
		verdict, err := r.chat(ctx, r.judge, []string{JudgePrompt + "\n\nQuestion: " + q.Text + "\nCorrect answer: " + q.Answer + "\nAnswer: " + row.Answer})
		if err != nil {
			return err
		}
		right := strings.Contains(strings.ToUpper(verdict.Reply), "CORRECT") && !strings.Contains(strings.ToUpper(verdict.Reply), "INCORRECT")
		row.Judged = &right
	}
	return nil
}

// messageLimit is below the largest content of a message, in bytes.
const messageLimit = 60_000

// split returns a long text and its end as messages that the API takes.
func split(text, end string) []string {
	var out []string
	for len(text)+len(end) > messageLimit {
		part := clip.Head(text, min(len(text), messageLimit))
		out = append(out, part)
		text = text[len(part):]
	}
	return append(out, text+end)
}

// sentenceEnd ends a sentence of a memory.
var sentenceEnd = regexp.MustCompile(`[.!?。！？]+[\s"”]+|\n+`)

// contextMark is what contexts have before the text of a note: its mark, or its date.
var contextMark = regexp.MustCompile(`^(\s|#+ .*$|\[\d+\]|\[[^\]]*\d{4}\])+`)

// extract returns the sentence of a text that fits a question best, the first of equal ones.
func extract(text, question string) string {
	var sentences []string
	var terms [][]string
	for _, s := range sentenceEnd.Split(text, -1) {
		if s = strings.TrimSpace(contextMark.ReplaceAllString(s, "")); s != "" {
			sentences = append(sentences, s)
			terms = append(terms, reference.Stemmed(s))
		}
	}
	if len(sentences) == 0 {
		return ""
	}
	scores := reference.BM25(terms)(reference.Stemmed(question))
	best := 0
	for i, s := range scores {
		if s > scores[best] {
			best = i
		}
	}
	return sentences[best]
}

// normalized returns the words of an answer as LoCoMo's evaluation compares them: lower-case, without punctuation and articles.
func normalized(text string) []string {
	text = strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
	var out []string
	for w := range strings.FieldsSeq(text) {
		switch w {
		case "a", "an", "the", "and":
		default:
			out = append(out, w)
		}
	}
	return out
}

// overlap returns how many words two lists share, each as often as both have it.
func overlap(a, b []string) int {
	count := map[string]int{}
	for _, w := range a {
		count[w]++
	}
	n := 0
	for _, w := range b {
		if count[w] > 0 {
			count[w]--
			n++
		}
	}
	return n
}

// tokenF1 returns the F1 of the stemmed words of an answer, counted as often as they occur.
func tokenF1(answer, gold string) float64 {
	stems := func(words []string) []string {
		for i, w := range words {
			words[i] = reference.Stem(w)
		}
		return words
	}
	a, g := stems(normalized(answer)), stems(normalized(gold))
	same := float64(overlap(a, g))
	if same == 0 {
		return 0
	}
	precision, recall := same/float64(len(a)), same/float64(len(g))
	return 2 * precision * recall / (precision + recall)
}

// officialF1 returns LoCoMo's F1 of an answer. Multi-hop answers are lists with commas: each part of the gold counts by its best part
// of the answer. Of open-domain answers the part before a semicolon counts. An adversarial question is answered by saying that it
// is not mentioned.
func officialF1(answer, gold, category string) float64 {
	switch category {
	case "multi-hop":
		parts := strings.Split(gold, ",")
		sum := 0.0
		for _, g := range parts {
			best := 0.0
			for a := range strings.SplitSeq(answer, ",") {
				best = max(best, tokenF1(a, g))
			}
			sum += best
		}
		return sum / float64(len(parts))
	case "open-domain":
		gold, _, _ = strings.Cut(gold, ";")
		return tokenF1(answer, gold)
	case "adversarial":
		low := strings.ToLower(answer)
		return float64(count(strings.Contains(low, "no information available") || strings.Contains(low, "not mentioned")))
	}
	return tokenF1(answer, gold)
}

// bleu1 returns the share of an answer's words that the gold has, reduced for answers that are shorter than it (Papineni et al., 2002).
func bleu1(answer, gold string) float64 {
	a, g := normalized(answer), normalized(gold)
	if len(a) == 0 || len(g) == 0 {
		return 0
	}
	precision := float64(overlap(g, a)) / float64(len(a))
	if len(a) < len(g) {
		precision *= math.Exp(1 - float64(len(g))/float64(len(a)))
	}
	return precision
}
