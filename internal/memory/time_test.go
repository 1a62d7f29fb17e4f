package memory_test

import (
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func TestParseEventTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	// C012: both forms become one instant. An offset is kept.
	for in, want := range map[string]string{
		"2026-03-01T09:30:00Z":              "2026-03-01T09:30:00Z",
		"202603010930":                      "2026-03-01T09:30:00Z",
		"2026-03-01T10:30:00.1234567+01:00": "2026-03-01T10:30:00.123456+01:00",
		"1900-01-01T00:00:00Z":              "1900-01-01T00:00:00Z",
		"2026-03-01T12:05:00Z":              "2026-03-01T12:05:00Z",
		"1899-12-31T23:59:59Z":              "",
		"1700-01-01T00:00:00Z":              "",
		"2026-03-02T12:00:00Z":              "",
		"2026-03-01T12:05:00.000001Z":       "",
		"2026-03-01":                        "",
		"2026-02-30T00:00:00Z":              "",
		"202602300000":                      "",
		"2026-03-01 09:30:00":               "",
		"yesterday at nine":                 "",
		"20260301093000":                    "",
		"２０２６０３０１０９３０":                      "",
	} {
		got, err := memory.ParseEventTime("occurred_at", in, now)
		if want == "" {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %v, %v", in, got, err)
			}
			continue
		}
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s: %s, %v", in, got.Format(time.RFC3339Nano), err)
		}
	}
}
