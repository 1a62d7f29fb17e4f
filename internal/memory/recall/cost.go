package recall

import (
	"errors"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// The queries of one request are bounded together by their cost, in steps of about a microsecond of
// one core. The constants are rounded up from profiles of a search with the local encoder.
const (
	// MaxBatchCost is what the queries of one batch may cost: about two seconds of one core.
	MaxBatchCost = 2_000_000
	// MaxBatchText is the size in bytes of all notes that the queries of one batch may find together,
	// so that an answer is not much larger than that of one query.
	MaxBatchText = 16 << 20

	costOfQuery = 500 // of any query
	costOfWord  = 2   // to split, stem and look up
	// costOfEncoding is for each of the first maxEncoded words, where the query is embedded.
	costOfEncoding = 100
	maxEncoded     = 256 // as many word pieces as the local encoder reads
	// costOfHit is for each of K hits, and for each note that a link step may reach: to read, rank and render it.
	costOfHit = 20
	// notesPerStep is how many notes are compared with the query in one step.
	notesPerStep = 10
	// matchesPerStep is how many pairs of a word and a note are counted as one step. A look at one costs
	// about 10 ns, and most words are in few of the notes.
	matchesPerStep = 1_000
)

// Cost returns what a query costs in a view of that many notes. It does not need the notes' texts, so
// it is an estimate; what a query asks for only makes it larger.
func (q *Query) Cost(notes int) int {
	n := costOfQuery + notes/notesPerStep
	words := text.CountTokens(q.words())
	n += words*costOfWord + words*notes/matchesPerStep
	if q.Vector == nil && q.Mode != Lexical {
		encoded := min(words, maxEncoded)
		if q.Messages != nil {
			encoded *= 2 // the last utterance by itself, too
		}
		n += encoded * costOfEncoding
	}
	k := q.K
	switch {
	case q.AutoK:
		k = search.LeadingOf
	case k == 0:
		k = DefaultK
	}
	return n + (k+q.ExpandLinks*search.LinkedMost)*costOfHit
}

// words returns the text that is searched for.
func (q *Query) words() string {
	if q.Messages == nil {
		return q.Text
	}
	words, err := dialogueText(q.Messages)
	if err != nil {
		return "" // the search refuses it
	}
	return words
}

// ErrBatch is in the chain of refusals of a batch as a whole.
var ErrBatch = errors.New("the queries of a request ask too much together")

func refuseBatch(format string, args ...any) error {
	err := fault.InvalidField("queries", format, args...)
	err.Err = ErrBatch
	return err
}

// Batch counts the cost of the queries of one request. A nil Batch has no limit.
type Batch struct {
	queries int
	steps   int // spent on notes, above what the queries cost by themselves
	bytes   int
	fixed   int // of all queries, in a view without notes
}

// NewBatch returns the Batch of queries, or Invalid when they cost too much in any collection. One
// query is bounded by the limits of its fields and has no Batch.
func NewBatch(queries []Query) (*Batch, error) {
	if len(queries) < 2 {
		return nil, nil //nolint:nilnil // nil has no limit
	}
	b := &Batch{queries: len(queries)}
	for i := range queries {
		b.fixed += queries[i].Cost(0)
	}
	if err := b.check(0); err != nil {
		return nil, err
	}
	return b, nil
}

// charge charges a query against a view of that many notes. Invalid when the batch costs too much.
func (b *Batch) charge(q *Query, notes int) error {
	if b == nil {
		return nil
	}
	b.steps += q.Cost(notes) - q.Cost(0)
	return b.check(notes)
}

func (b *Batch) check(notes int) error {
	cost := b.fixed + b.steps
	if cost <= MaxBatchCost {
		return nil
	}
	where := ""
	if notes > 0 {
		where = " over " + wording.Count(notes, "note", "notes")
	}
	return refuseBatch(
		"%s%s: %d steps of search or more, and a request may cost %d; send fewer or shorter queries, a smaller k, or no expand_links",
		wording.Count(b.queries, "query", "queries"), where, cost, MaxBatchCost)
}

// Found charges the text of found notes. Invalid when the answer of the batch would be too large.
func (b *Batch) Found(r *Result) error {
	if b == nil {
		return nil
	}
	for i := range r.Hits {
		if n := r.Hits[i].Note; n != nil {
			b.bytes += len(n.Content) + len(n.Context)
		}
		for j := range r.Hits[i].Exchange {
			b.bytes += len(r.Hits[i].Exchange[j].Content) + len(r.Hits[i].Exchange[j].Context)
		}
	}
	if b.bytes > MaxBatchText {
		return refuseBatch(
			"the notes that they find have more than %d bytes together; send fewer queries, a smaller k or a token_budget, or ask for fields: [id]", MaxBatchText)
	}
	return nil
}
