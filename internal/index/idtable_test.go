package index

import (
	"math/rand/v2"
	"testing"
)

// A table finds what a map finds, while it grows and numbers change.
func TestIDTable(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var ids []ID
	idOf := func(n uint32) *ID { return &ids[n] }
	var table idTable
	want := map[ID]uint32{}
	for range 5000 {
		note := ID{byte(r.IntN(40)), byte(r.IntN(50)), 0, 0, 0, 0, 0, byte(r.IntN(2))}
		n, ok := table.find(note, idOf)
		if had, known := want[note]; ok != known || n != had && known {
			t.Fatalf("%v is %d, %t, want %d, %t", note, n, ok, had, known)
		}
		want[note] = uint32(len(ids))
		table.set(note, want[note], idOf)
		ids = append(ids, note)
	}
	if table.count != len(want) || 4*table.count > 3*len(table.slots) {
		t.Errorf("%d notes in %d slots, want %d", table.count, len(table.slots), len(want))
	}
}
