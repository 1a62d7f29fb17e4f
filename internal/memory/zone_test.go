package memory_test

import (
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// What a caller writes gets the zone of its writer: the offset, or else that of the collection.
func TestLocalize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, zone, want string }{
		{"2026-06-02T02:00:00Z", "America/New_York", "2026-06-01T22:00:00-04:00"},
		{"2026-06-02T02:00:00-00:00", "America/New_York", "2026-06-01T22:00:00-04:00"},
		{"202606020200", "America/New_York", "2026-06-01T22:00:00-04:00"},
		{"2026-06-02T02:00:00+00:00", "America/New_York", "2026-06-02T02:00:00Z"},
		{"2026-06-02t02:00:00.5+05:45", "America/New_York", "2026-06-02T02:00:00.5+05:45"},
		{"2026-06-02T02:00:00Z", "UTC", "2026-06-02T02:00:00Z"},
		{"2026-03-08T06:59:59Z", "America/New_York", "2026-03-08T01:59:59-05:00"}, // before the gap
		{"2026-03-08T07:00:00Z", "America/New_York", "2026-03-08T03:00:00-04:00"},
		{"2026-11-01T05:30:00Z", "America/New_York", "2026-11-01T01:30:00-04:00"}, // twice
		{"2026-11-01T06:30:00Z", "America/New_York", "2026-11-01T01:30:00-05:00"},
	} {
		zone := must.Get(memory.Timezone(tt.zone).Location())(t)
		at := must.Get(filter.ParseLocalTime(tt.in))(t)
		if got := memory.EventInstant(memory.Localize(at, zone)).Format(time.RFC3339Nano); got != tt.want {
			t.Errorf("%s in %s is %s, want %s", tt.in, tt.zone, got, tt.want)
		}
	}
	floating := time.Date(2018, 11, 4, 0, 0, 0, 0, memory.Floating)
	zone := must.Get(memory.Timezone("America/Sao_Paulo").Location())(t)
	if got := memory.Localize(floating, zone); memory.Day(got) != "2018-11-04" {
		t.Errorf("a date whose midnight is left out is %s", got)
	}
}
