package transfer

import (
	"encoding/json"
	"io"
	"math"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// seconds returns a time of seconds since 1970; zero for none, and for 0, which programs write for none.
func seconds(n *float64) time.Time {
	if n == nil || *n == 0 || math.IsNaN(*n) || math.Abs(*n) > 1e11 {
		return time.Time{}
	}
	whole, part := math.Modf(*n)
	return time.Unix(int64(whole), int64(part*1e6)*1000).UTC()
}

// firstTime returns the first of these that is a time.
func firstTime(zone *time.Location, of ...json.RawMessage) time.Time {
	for _, raw := range of {
		if at := instant(raw, zone); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// instant returns a time that is a text, or the seconds or milliseconds since 1970.
func instant(raw json.RawMessage, zone *time.Location) time.Time {
	var n float64
	if len(raw) > 0 && json.Unmarshal(raw, &n) == nil {
		if math.Abs(n) > 1e11 { // of seconds, this is in the year 5138
			n /= 1000
		}
		return seconds(&n)
	}
	at, _ := timeOf(scalar(raw), zone)
	return at
}

// unix returns the seconds of a time as pieces have them.
func unix(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.Unix()
}

// wrapped makes a list of elements that are cut out of one.
func wrapped(in io.Reader) io.Reader {
	return io.MultiReader(strings.NewReader("["), in, strings.NewReader("]"))
}

// folded returns the form in which names are compared: in lower case, with accents as one sign. File systems of macOS and exports made
// on it write them as marks behind the letter.
func folded(name string) string { return strings.ToLower(norm.NFC.String(name)) }

// names are the names of people by their ids. Two people of one name are told apart.
type names struct {
	byID map[string]string
	used map[string]int // how many have a name
}

func newNames() names { return names{map[string]string{}, map[string]int{}} }

// add keeps the first name of an id.
func (n names) add(id, name string) {
	if name = label(name); n.byID[id] == "" && name != "" {
		n.byID[id] = name
		n.used[folded(name)]++
	}
}

func (n names) of(id string) string {
	name := n.byID[id]
	switch {
	case name == "":
		return id
	case n.used[folded(name)] > 1:
		return name + " (" + id + ")"
	}
	return name
}
