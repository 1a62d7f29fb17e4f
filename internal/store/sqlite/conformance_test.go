package sqlite

import (
	"testing"

	"github.com/slipboxhq/slipbox/internal/store/storetest"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestConformanceAtOnce(t *testing.T) {
	t.Parallel()
	storetest.RunAtOnce(t, open)
}

func open(t *testing.T) storetest.Harness {
	t.Helper()
	h := openHarness(t)
	t.Cleanup(func() { // before the store closes
		if checkReprepared(t, h.Store.(*Store)) == 0 {
			t.Error("no statement was found")
		}
	})
	return h
}

func openHarness(t *testing.T) storetest.Harness {
	t.Helper()
	clock := storetest.NewClock()
	s := must.Get(Open(t.Context(), Config{Path: newFile(t)}, Deps{Clock: clock.Now}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return storetest.Harness{Store: s, Clock: clock}
}
