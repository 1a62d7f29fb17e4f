package chat_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// slow is a fake whose messages are stored after a time.
type slow struct {
	*fake
	takes time.Duration
}

func (f *slow) AddMessages(ctx context.Context, s tenant.Scope, ref string, in notes.NewMessages, r memory.Request) (notes.MessagesWritten, error) {
	select {
	case <-time.After(f.takes):
	case <-ctx.Done():
	}
	return f.fake.AddMessages(ctx, s, ref, in, r)
}

// The next request of a collection waits until the turn before it is stored, for a second at most; that of another collection does
// not, nor does one that is canceled. What is not remembered is not waited for.
func TestNextRequestWaitsForTheTurnBefore(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		takes            time.Duration
		forget, canceled bool
		other            bool
		waits            time.Duration
	}{
		"stored soon":        {takes: 100 * time.Millisecond, waits: 100 * time.Millisecond},
		"stored late":        {takes: 5 * time.Second, waits: time.Second},
		"another collection": {takes: 100 * time.Millisecond, other: true},
		"not remembered":     {takes: 100 * time.Millisecond, forget: true},
		"canceled":           {takes: 100 * time.Millisecond, canceled: true},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &slow{newFake(), c.takes}
				s := must.Get(chat.New(chat.Deps{Recall: f, Notes: f, Models: chat.Models{Main: f}}, chat.Config{}))(t)
				scope := both()
				a := must.Get(s.Answer(t.Context(), scope, "home", chat.Question{Turns: []chat.Turn{{Content: "I keep bees."}}, Forget: c.forget}, nil))(t)
				var storing sync.WaitGroup
				storing.Go(func() { a.Remember(t.Context()) })
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.canceled {
					cancel()
				}
				v := memory.NewView(scope, f.collection, 7, nil)
				if c.other {
					v.Collection.ID = uuid.Must(uuid.NewV7())
				}
				began, opened, told := time.Now(), 0, 0
				must.Get(s.Current(ctx, func() { told++ }, func() (memory.View, error) { opened++; return v, nil }))(t)
				if took := time.Since(began); took != c.waits {
					t.Errorf("took %s, want %s", took, c.waits)
				}
				if again := c.waits > 0 || c.canceled; again != (opened == 2) || again != (told == 1) {
					t.Errorf("opened %d times, told %d times", opened, told)
				}
				storing.Wait()
			})
		})
	}
}

// A client that has read the end of a stream is waited for as well, before the stream's handler returns.
func TestNextRequestWaitsForTheTurnOfAStream(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer, f.stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"In Lisbon.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", true
	s := f.service(t)
	for name, c := range map[string]struct {
		ask  func(context.Context, tenant.Scope, chat.Find, []byte) (*chat.Completion, error)
		body string
	}{
		"completions": {s.Complete, `{"model":"fake-1","stream":true,"messages":[{"role":"user","content":"Where does Ada live?"}]}`},
		"responses":   {s.Respond, `{"model":"fake-1","stream":true,"input":"Where does Ada live?"}`},
	} {
		done := must.Get(c.ask(t.Context(), both(), in("home"), []byte(c.body)))(t)
		waits := 0
		err := done.Pass(io.Discard, func() error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			v := memory.NewView(both(), f.collection, 7, nil)
			_, err := s.Current(ctx, func() { waits++ }, func() (memory.View, error) { return v, nil })
			return err
		})
		if err != nil || waits == 0 {
			t.Errorf("%s: a request at the end of the stream waits %d times, %v", name, waits, err)
		}
		done.Remember(t.Context())
		done.Close()
	}
}
