package wire //nolint:revive // wire.gen.go has the comment of the package

import "time"

// Optional returns nil for a zero value: absent fields are absent, never null.
func Optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Time returns a time as answers show it: UTC, in microseconds.
func Time(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// OptionalTime returns nil for the zero time.
func OptionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(Time(t))
}
