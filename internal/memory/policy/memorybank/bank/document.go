package bank

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// Members of the format.
const (
	memberName        = "name"
	memberHistory     = "history"
	memberSummary     = "summary"
	memberPersonality = "personality"
	memberOverall     = "overall_history"
	memberPortrait    = "overall_personality"
	memberMeta        = "meta_information"

	memberQuery    = "query"
	memberResponse = "response"
	memberContent  = "content"
	memberEvents   = "events"
	memberStrength = "memory_strength"
	memberRecalled = "last_recall_date"
)

// members returns the members of a person.
func members() []string {
	return []string{memberName, memberHistory, memberSummary, memberPersonality, memberOverall, memberPortrait, memberMeta}
}

// Limits of a document, besides those of a note.
const (
	maxNameBytes  = 256
	maxTurns      = 10_000   // of one day: a message takes a second
	maxPieces     = 20_000   // turns and texts of days in a document: each is looked up, and one request stores them all
	maxMoreBytes  = 8 << 10  // of the unknown members of a turn, a summary or the person, as JSON
	maxMetaBytes  = 4 << 10  // of meta_information, as JSON
	maxSilent     = 200      // dates without turns
	maxFaults     = 20       // shown
	maxNamesShown = 20       // of the persons in a document
	maxQuoted     = 60       // characters of what a fault repeats
	maxStrength   = 1e9      // of a memory
	maxDepth      = 12       // of unknown members
	pairForm      = "pair"   // the turn was a pair [query, response]
	textForm      = "text"   // the summary was a plain text
	formMember    = "form"   // how the turn or summary was written
	attrBank      = "bank"   // attribute that holds what a note has no field for
	fieldsMember  = "fields" // which members the document had
	moreMember    = "more"   // unknown members of a person
	silentMember  = "silent" // dates without turns
)

// document is the validated memory of one person.
type document struct {
	name     string
	fields   []string       // that it has
	more     map[string]any // unknown members
	meta     map[string]any
	overall  string
	portrait string
	days     []day    // by date
	silent   []string // dates without turns
}

// day holds the parts of a document that are about one day.
type day struct {
	date        string
	start       time.Time
	turns       []turn
	summary     *dated
	personality *dated
}

// turn is one query and its response.
type turn struct {
	query, response string
	more            map[string]any // other members, unchanged
	retention
}

// dated is the summary or personality of a day.
type dated struct {
	content string
	events  []string
	more    map[string]any // other members, unchanged
	retention
}

// retention is the strength of a memory.
type retention struct {
	strength float64   // 0: absent
	recalled time.Time // zero: absent
}

// reader decodes a document and collects what is wrong with it.
type reader struct {
	now     time.Time
	pieces  int // turns and texts of days so far
	fields  []fault.Field
	skipped []Skipped
}

func (r *reader) addf(path, format string, args ...any) {
	if len(r.fields) < maxFaults {
		r.fields = append(r.fields, fault.Field{Field: path, Reason: fmt.Sprintf(format, args...)})
	}
}

func (r *reader) skip(path, reason string) {
	r.skipped = append(r.skipped, Skipped{Path: path, Reason: reason})
}

// parse validates the whole document before anything of it is used. A fault names the invalid
// places, such as history["2023-04-27"][3].response.
func parse(raw []byte, now time.Time) (document, []Skipped, error) {
	if !utf8.Valid(raw) {
		return document{}, nil, fault.New(fault.Malformed, "the document is not valid UTF-8")
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(raw, &top); err != nil || top == nil {
		if !json.Valid(raw) {
			return document{}, nil, fault.New(fault.Malformed, "the document is not valid JSON")
		}
		return document{}, nil, fault.New(fault.Invalid, "the document must be an object: one person's memory")
	}
	key, person, err := onePerson(top)
	if err != nil {
		return document{}, nil, err
	}
	r := reader{now: now}
	d := r.document(person, strings.TrimSpace(key))
	if len(r.fields) > 0 {
		first := r.fields[0]
		return document{}, nil, &fault.Error{Code: fault.Invalid, Message: first.Field + ": " + first.Reason, Fields: r.fields}
	}
	return d, r.skipped, nil
}

// onePerson returns the person of a document, which is a person or a map from one name to a person.
func onePerson(top map[string]json.RawMessage) (key string, person map[string]json.RawMessage, err error) {
	if isPerson(top) {
		return "", top, nil
	}
	names := slices.Sorted(maps.Keys(top))
	people := map[string]map[string]json.RawMessage{}
	for _, n := range names {
		var p map[string]json.RawMessage
		if err := json.Unmarshal(top[n], &p); err != nil || !isPerson(p) {
			return "", nil, fault.InvalidField(memberPath("", n), "is neither a member of a person's memory nor a person")
		}
		people[n] = p
	}
	switch len(names) {
	case 0:
		return "", nil, fault.New(fault.Invalid, "the document holds no person's memory")
	case 1:
		return names[0], people[names[0]], nil
	}
	shown := make([]string, 0, maxNamesShown)
	for _, n := range names[:min(len(names), maxNamesShown)] {
		shown = append(shown, fmt.Sprintf("%q", clip.Runes(n, maxQuoted)))
	}
	if len(names) > len(shown) {
		shown = append(shown, "…")
	}
	return "", nil, fault.New(fault.Invalid, "the document holds the memory of %d persons: %s; a collection is one person's, so send one of them", len(names), strings.Join(shown, ", "))
}

func isPerson(m map[string]json.RawMessage) bool {
	if raw, ok := m[memberName]; ok && bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`)) {
		return true
	}
	return slices.ContainsFunc(members()[1:], func(name string) bool {
		_, ok := m[name]
		return ok
	})
}

// memberPath is the path of a member.
func memberPath(path, name string) string {
	return fmt.Sprintf("%s[%q]", path, clip.Runes(name, maxQuoted))
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

func (r *reader) document(m map[string]json.RawMessage, name string) document {
	d := document{name: name}
	days := map[string]*day{}
	for _, member := range slices.Sorted(maps.Keys(m)) {
		raw := m[member]
		if isNull(raw) {
			continue
		}
		if slices.Contains(members(), member) {
			d.fields = append(d.fields, member)
		}
		switch member {
		case memberName:
			d.name = r.label(member, raw)
		case memberHistory:
			d.silent = r.history(raw, days)
		case memberSummary:
			r.byDate(member, raw, func(date string, v *dated) { r.day(days, date).summary = v })
		case memberPersonality:
			r.byDate(member, raw, func(date string, v *dated) { r.day(days, date).personality = v })
		case memberOverall:
			d.overall = r.text(member, raw)
		case memberPortrait:
			d.portrait = r.text(member, raw)
		case memberMeta:
			d.meta = r.object(member, raw, maxMetaBytes)
			if _, ok := d.meta[attrBank]; ok {
				r.addf(memberMeta+"."+attrBank, "is a reserved name")
			}
		default:
			if d.more == nil {
				d.more = map[string]any{}
			}
			d.more[member] = r.value(memberPath("", member), raw)
		}
	}
	r.bounded("the unknown members", d.more, maxMoreBytes)
	for _, date := range slices.Sorted(maps.Keys(days)) {
		d.days = append(d.days, *days[date])
	}
	return d
}

func (r *reader) day(days map[string]*day, date string) *day {
	if days[date] == nil {
		start, _ := time.Parse(time.DateOnly, date) // validated before
		days[date] = &day{date: date, start: start}
	}
	return days[date]
}

// date validates the key of a day.
func (r *reader) date(path, date string) bool {
	t, err := time.Parse(time.DateOnly, date)
	switch {
	case err != nil:
		r.addf(path, "must be a date such as 2023-05-01")
	case t.Before(memory.EarliestEvent):
		r.addf(path, "must not be before %d", memory.EarliestEvent.Year())
	case t.After(r.now):
		r.addf(path, "must not be in the future")
	default:
		return true
	}
	return false
}

// countPieces counts pieces and reports whether the document may have n more.
func (r *reader) countPieces(path string, n int) bool {
	if r.pieces += n; r.pieces <= maxPieces {
		return true
	}
	r.addf(path, "a document has at most %d turns, summaries and personalities; send it in parts of some days each", maxPieces)
	return false
}

// history decodes the turns by date, and returns the dates that have none.
func (r *reader) history(raw json.RawMessage, days map[string]*day) (silent []string) {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		r.addf(memberHistory, "must be an object: the turns by date")
		return nil
	}
	for _, date := range slices.Sorted(maps.Keys(all)) {
		path := memberPath(memberHistory, date)
		if !r.date(path, date) {
			continue
		}
		var list []json.RawMessage
		if isNull(all[date]) || json.Unmarshal(all[date], &list) != nil {
			r.addf(path, "must be a list of turns")
			continue
		}
		if len(list) > maxTurns {
			r.addf(path, "at most %d turns; there are %d", maxTurns, len(list))
			continue
		}
		if !r.countPieces(memberHistory, len(list)) {
			return nil
		}
		if len(list) == 0 {
			silent = append(silent, date)
			continue
		}
		d := r.day(days, date)
		for i, raw := range list {
			path := fmt.Sprintf("%s[%d]", path, i)
			t := r.turn(path, raw)
			if t.query == "" && t.response == "" {
				r.skip(path, "it is empty")
				continue
			}
			d.turns = append(d.turns, t)
		}
	}
	if len(silent) > maxSilent {
		r.addf(memberHistory, "at most %d dates without turns; there are %d", maxSilent, len(silent))
	}
	return silent
}

// turn decodes an object with query and response, or a pair of both.
func (r *reader) turn(path string, raw json.RawMessage) (t turn) {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		var pair []json.RawMessage
		if json.Unmarshal(raw, &pair) != nil || len(pair) != 2 {
			r.addf(path, "must be an object with query and response, or a pair of both")
			return t
		}
		t.query, t.response = r.text(path+"[0]", pair[0]), r.text(path+"[1]", pair[1])
		t.more = map[string]any{formMember: pairForm}
		return t
	}
	var m map[string]json.RawMessage
	if isNull(raw) || json.Unmarshal(raw, &m) != nil {
		r.addf(path, "must be an object with query and response, or a pair of both")
		return t
	}
	_, asked := m[memberQuery]
	_, answered := m[memberResponse]
	if !asked && !answered {
		r.addf(path, "has neither query nor response")
		return t
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		raw, path := m[name], path+"."+name
		switch {
		case name == memberQuery && !isNull(raw):
			t.query = r.text(path, raw)
		case name == memberResponse && !isNull(raw):
			t.response = r.text(path, raw)
		case name != memberQuery && name != memberResponse:
			t.decodeMember(r, path, name, raw)
			t.more = r.addUnknown(t.more, path, name, raw)
		}
	}
	r.bounded(path, t.more, maxMoreBytes)
	return t
}

// decodeMember decodes a member about the strength of a memory. It ignores other members.
func (f *retention) decodeMember(r *reader, path, name string, raw json.RawMessage) {
	if isNull(raw) {
		return
	}
	switch name {
	case memberStrength:
		if json.Unmarshal(raw, &f.strength) != nil || !(f.strength > 0 && f.strength <= maxStrength) {
			r.addf(path, "must be a number above 0, at most %g", maxStrength)
		}
	case memberRecalled:
		var s string
		if json.Unmarshal(raw, &s) != nil {
			r.addf(path, "must be a date such as 2023-05-01")
		} else if r.date(path, s) {
			f.recalled, _ = time.Parse(time.DateOnly, s) // validated before
		}
	}
}

// addUnknown adds a member to those that are stored unchanged.
func (r *reader) addUnknown(more map[string]any, path, name string, raw json.RawMessage) map[string]any {
	if more == nil {
		more = map[string]any{}
	}
	if name == formMember {
		r.addf(path, "is a reserved name")
	}
	more[name] = r.value(path, raw)
	return more
}

// byDate decodes texts, or objects with a content, by date.
func (r *reader) byDate(member string, raw json.RawMessage, each func(date string, v *dated)) {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		r.addf(member, "must be an object: texts by date")
		return
	}
	if !r.countPieces(member, len(all)) {
		return
	}
	for _, date := range slices.Sorted(maps.Keys(all)) {
		path := memberPath(member, date)
		if !r.date(path, date) {
			continue
		}
		v := r.dated(path, all[date])
		if v.content == "" {
			r.skip(path, "it is empty")
			continue
		}
		each(date, &v)
	}
}

func (r *reader) dated(path string, raw json.RawMessage) (v dated) {
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		v.content = r.text(path, raw)
		v.more = map[string]any{formMember: textForm}
		return v
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		r.addf(path, "must be a string or an object with a content")
		return v
	}
	if _, ok := m[memberContent]; !ok {
		r.addf(path, "must be a string or an object with a content")
		return v
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		raw, path := m[name], path+"."+name
		switch name {
		case memberContent:
			v.content = r.text(path, raw)
		case memberEvents:
			if json.Unmarshal(raw, &v.events) != nil {
				r.addf(path, "must be a list of strings")
			} else if len(raw) > maxMoreBytes {
				r.addf(path, "at most %d bytes as JSON; it has %d", maxMoreBytes, len(raw))
			}
		default:
			v.decodeMember(r, path, name, raw)
			v.more = r.addUnknown(v.more, path, name, raw)
		}
	}
	r.bounded(path, v.more, maxMoreBytes/2)
	return v
}

// text decodes a text that a note can hold. A blank text is returned as "".
func (r *reader) text(path string, raw json.RawMessage) string {
	var s string
	if isNull(raw) || json.Unmarshal(raw, &s) != nil {
		r.addf(path, "must be a string")
		return ""
	}
	r.characters(path, s)
	if len(s) > memory.MaxContentBytes {
		r.addf(path, "at most %d bytes; it has %d", memory.MaxContentBytes, len(s))
	}
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

func (r *reader) characters(path, s string) {
	if strings.IndexByte(s, 0) >= 0 {
		r.addf(path, "must not contain the character U+0000")
	}
}

// label decodes a name.
func (r *reader) label(path string, raw json.RawMessage) string {
	s := r.text(path, raw)
	if s == "" && len(r.fields) == 0 {
		r.addf(path, "must not be empty or blank")
	}
	if len(s) > maxNameBytes {
		r.addf(path, "at most %d bytes; it has %d", maxNameBytes, len(s))
	}
	return s
}

// object decodes an object that attributes can hold.
func (r *reader) object(path string, raw json.RawMessage, limit int) map[string]any {
	v, ok := r.value(path, raw).(map[string]any)
	if !ok {
		r.addf(path, "must be an object")
		return nil
	}
	r.bounded(path, v, limit)
	return v
}

// value decodes a member that is stored unchanged.
func (r *reader) value(path string, raw json.RawMessage) any {
	var v any
	if json.Unmarshal(raw, &v) != nil { // such as a number that is too large
		r.addf(path, "cannot be stored")
		return nil
	}
	r.checkValue(path, v, 1)
	return v
}

// checkValue validates a value that is stored unchanged: its depth and its texts.
func (r *reader) checkValue(path string, v any, depth int) {
	if depth > maxDepth {
		r.addf(path, "nested deeper than %d", maxDepth)
		return
	}
	switch x := v.(type) {
	case string:
		r.characters(path, x)
	case float64:
		if math.IsInf(x, 0) {
			r.addf(path, "the number is too large")
		}
	case []any:
		for i, e := range x {
			r.checkValue(fmt.Sprintf("%s[%d]", path, i), e, depth+1)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			r.characters(path, k)
			r.checkValue(path+"."+clip.Runes(k, maxQuoted), x[k], depth+1)
		}
	}
}

func (r *reader) bounded(path string, m map[string]any, limit int) {
	if len(m) == 0 {
		return
	}
	raw, err := json.Marshal(m)
	if err != nil {
		r.addf(path, "cannot be stored")
	} else if len(raw) > limit {
		r.addf(path, "at most %d bytes of unknown members; it has %d", limit, len(raw))
	}
}
