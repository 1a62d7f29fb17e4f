package store

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// NewReview gives a review the id and the state that it lacks, and cleans what
// is of our own making.
func NewReview(r *memory.Review) (err error) {
	if r.State == "" {
		r.State = memory.ReviewOpen
	}
	r.Reason, r.Actor = Clean(r.Reason), Clean(r.Actor)
	if r.ID == uuid.Nil {
		r.ID, err = uuid.NewV7()
	}
	return err
}

// ReadReview fills in what a review keeps as JSON.
func ReadReview(r *memory.Review, changes, read string) error {
	d := json.NewDecoder(strings.NewReader(changes))
	d.UseNumber() // attributes are kept as in notes
	if err := d.Decode(&r.Changes); err != nil {
		return err
	}
	for _, c := range r.Changes {
		for _, n := range []*memory.Note{c.Before, c.After} {
			if n != nil {
				Exactly(n.Attributes)
			}
		}
		for _, l := range c.Links {
			Exactly(l.Attributes)
		}
	}
	return json.Unmarshal([]byte(read), &r.Read)
}

// CheckReview refuses a step from one state of a review to another: Conflict.
func CheckReview(from, to memory.ReviewState) error {
	var allowed bool
	switch to {
	case memory.ReviewApproved, memory.ReviewRejected:
		allowed = from == memory.ReviewOpen
	case memory.ReviewUndone:
		allowed = from == memory.ReviewApplied || from == memory.ReviewApproved
	case memory.ReviewOpen, memory.ReviewApplied:
	}
	if !allowed {
		return fault.New(fault.Conflict, "the review is %s already", from)
	}
	return nil
}
