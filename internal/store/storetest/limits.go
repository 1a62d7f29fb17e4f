package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// The burst of KeepsToLimits.
const (
	burst      = 250
	burstLimit = 10
)

// KeepsToLimits sends a burst of writes to some collections of a tenant, and then a burst of new
// collections, through stores that may be on the same database: as many are stored as there is
// room for, and the others are QuotaExceeded. The tenant has no notes yet.
func KeepsToLimits(tb testing.TB, s tenant.Scope, stores ...store.Store) {
	tb.Helper()
	ctx := tb.Context()
	create := func(i int, name string, limits *memory.StorageLimits) (memory.CollectionCreated, error) {
		return stores[i%len(stores)].CreateCollection(ctx, s, memory.NewCollection{Limits: limits, Collection: memory.Collection{Name: name, Policy: "amem"}})
	}
	var collections []uuid.UUID
	for i := range 3 {
		collections = append(collections, must(create(i, fmt.Sprintf("limited-%d", i), nil))(tb).Collection.ID)
	}
	put := func(i int, limits memory.StorageLimits) error {
		o := memory.WriteOptions{Cause: memory.CauseAdd, Limits: &limits}
		_, err := stores[i%len(stores)].Write(ctx, s, collections[i%len(collections)], o, func(ctx context.Context, tx memory.Tx) error {
			_, err := tx.Put(ctx, memory.Note{Kind: memory.KindNote, Content: "note " + fmt.Sprint(i)})
			return err
		})
		return err
	}
	usage := func() memory.TenantUsage { return must(stores[0].TenantUsage(ctx, s))(tb) }

	stored := tally(tb, func(i int) error { return put(i, memory.StorageLimits{Notes: burstLimit}) })
	if u := usage(); stored != burstLimit || u.Notes != burstLimit {
		tb.Errorf("%d writes were accepted and %d notes are stored, there was room for %d", stored, u.Notes, burstLimit)
	}
	before := usage().StoredBytes
	each := before / burstLimit
	limits := memory.StorageLimits{StoredBytes: before + 5*each + each/2}
	stored = tally(tb, func(i int) error { return put(i, limits) })
	if u := usage(); u.StoredBytes > limits.StoredBytes || stored == 0 || u.Notes != int64(burstLimit+stored) {
		tb.Errorf("%d bytes in %d notes are stored, there was room for %d; %d were accepted", u.StoredBytes, u.Notes, limits.StoredBytes, stored)
	}
	if err := put(0, memory.StorageLimits{Collections: 1, Forks: 1}); err != nil {
		tb.Errorf("a note needs room for collections: %v", err)
	}

	had := usage().Collections
	stored = tally(tb, func(i int) error {
		_, err := create(i, fmt.Sprintf("burst-%d", i), &memory.StorageLimits{Collections: had + burstLimit})
		return err
	})
	if u := usage(); stored != burstLimit || u.Collections != had+burstLimit {
		tb.Errorf("%d collections were accepted and there are %d more, there was room for %d", stored, u.Collections-had, burstLimit)
	}
}

// tally runs a burst concurrently and returns how many were accepted; the others must be QuotaExceeded.
func tally(tb testing.TB, fn func(i int) error) (accepted int) {
	tb.Helper()
	var mu sync.Mutex
	var running sync.WaitGroup
	for i := range burst {
		running.Go(func() {
			err := fn(i)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				accepted++
			case !fault.Is(err, fault.QuotaExceeded):
				tb.Errorf("error is %v, want quota_exceeded", err)
			}
		})
	}
	running.Wait()
	return accepted
}

func keepsToLimits(t *testing.T, w *world) {
	KeepsToLimits(t, w.all, w.Store)
}
