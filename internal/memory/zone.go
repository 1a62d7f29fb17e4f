package memory

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // images have no files of zones

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/when"
)

// SettingTimezone is the name of the setting Timezone in a policy's config.
const SettingTimezone = "timezone"

// Timezone is the name of the zone (IANA) that decides the days of what says no offset of its own. It is a setting of every
// policy. A change is for what is written from then on: a note keeps the offset that it was written with.
type Timezone string

// zones are the locations that were loaded, by name.
var zones sync.Map

// Location returns the zone; "" is UTC. Invalid, naming the setting, for a name that the database of zones does not have.
func (z Timezone) Location() (*time.Location, error) {
	if z == "" {
		return time.UTC, nil
	}
	if at, ok := zones.Load(z); ok {
		loc, _ := at.(*time.Location)
		return loc, nil
	}
	loc, err := time.LoadLocation(string(z))
	if err != nil || z == "Local" || strings.TrimSpace(string(z)) != string(z) {
		return nil, fault.InvalidField("policy_config."+SettingTimezone, "must be a name of the IANA time zone database, such as UTC, America/New_York or Asia/Shanghai")
	}
	zones.Store(z, loc)
	return loc, nil
}

// Zone returns the zone of the collection: [Timezone].
func (c *Collection) Zone() *time.Location {
	var config struct {
		Timezone Timezone `json:"timezone"`
	}
	if len(c.PolicyConfig) == 0 || json.Unmarshal(c.PolicyConfig, &config) != nil {
		return time.UTC
	}
	if loc, err := config.Timezone.Location(); err == nil {
		return loc
	}
	return time.UTC
}

// Zone returns the zone of the collection, or of a union, the zone that all of its collections have, else UTC.
func (v *View) Zone() *time.Location {
	zone := v.Collection.Zone()
	for i := range v.Of {
		if of := v.Of[i].Collection.Zone(); i == 0 {
			zone = of
		} else if of.String() != zone.String() {
			return time.UTC
		}
	}
	return zone
}

// Floating is the zone of a time that was written as a clock shows it, without an offset.
var Floating = time.FixedZone("floating", 0)

// TimeOf reads a time as programs write it: seconds or milliseconds since 1970, also as a text, a date, or a date and a
// time. One without an offset is floating ([Floating]).
func TimeOf(v any) (time.Time, error) {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Float64(); err == nil && n > -1e11 && n < 1e19 {
			return sinceEpoch(n), nil
		}
	case string:
		if n, err := strconv.ParseFloat(v, 64); err == nil && n >= 1e8 && len(v) != len("YYYYMMDDHHmm") {
			return sinceEpoch(n), nil
		}
		for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04"} {
			if at, err := time.ParseInLocation(layout, v, Floating); err == nil {
				return at, nil
			}
		}
		if at, err := filter.ParseLocalTime(v); err == nil {
			return at, nil
		}
	}
	return time.Time{}, errors.New("must be a time: seconds or milliseconds since 1970, YYYY-MM-DD, or RFC 3339")
}

// sinceEpoch returns the time of a number of seconds, or of a unit that is a thousandth of the one before. A number of seconds
// that names a year after 2286 is one of milliseconds, and so on.
func sinceEpoch(n float64) time.Time {
	micros := n * 1e6
	for range 3 { // milliseconds, microseconds, nanoseconds
		if micros < 1e16 {
			break
		}
		micros /= 1000
	}
	return time.UnixMicro(int64(math.Round(micros))).UTC()
}

// firstClock is before anything that programs of today have dated: a number that would be a time before is a position.
var firstClock = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// SaidAt returns when something was said, as another program has written it ([TimeOf]); nil for anything else.
func SaidAt(v any) *time.Time {
	at, err := TimeOf(v)
	if _, isText := v.(string); err != nil || !isText && at.Before(firstClock) {
		return nil
	}
	return &at
}

// Localize returns a time that a caller gave in the zone of its writer: the offset that it was written with, or else the
// zone. A time in [time.UTC] was written with Z, which says when something was and not where (RFC 9557, section 2). Of a
// floating time the zone decides when it was, too.
func Localize(t time.Time, zone *time.Location) time.Time {
	switch t.Location() {
	case time.UTC:
		return t.In(zone)
	case Floating:
		h, m, s := t.Clock()
		y, month, d := t.Date()
		at := time.Date(y, month, d, h, m, s, t.Nanosecond(), zone)
		if at.Day() == d {
			return at
		}
		return when.DayStart(y, month, d, zone) // midnight was left out
	}
	return t
}

// EventInstant returns a time as the time of an event is stored: truncated to microseconds, with the offset of its zone.
func EventInstant(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	t = t.Truncate(time.Microsecond)
	if _, offset := t.Zone(); offset != 0 {
		return t.In(time.FixedZone("", offset))
	}
	return t.UTC()
}

// Day returns the day of a time in its zone: 2006-01-02.
func Day(t time.Time) string { return t.Format(time.DateOnly) }

// Layouts of times that people and models read. They say the zone: Z is UTC.
const (
	LayoutMinute = "2006-01-02 15:04 Z07:00"
	LayoutZone   = "Z07:00"
)

// Minute returns a time to the minute, with its zone: 2026-06-01 21:00 -05:00.
func Minute(t time.Time) string { return strings.Replace(t.Format(LayoutMinute), " Z", " UTC", 1) }

// ZoneOf returns the zone of a time as it is shown: -05:00, or UTC.
func ZoneOf(t time.Time) string { return strings.Replace(t.Format(LayoutZone), "Z", "UTC", 1) }
