package filter

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

var record = Record{
	Kind: "message", Tags: []string{"travel", "Food"}, Keywords: []string{"ramen"}, Category: "Trips", Importance: 0.5,
	OccurredAt: time.Date(2024, 3, 1, 12, 30, 0, 123456789, time.UTC),
	CreatedAt:  time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), State: "raw",
	Attributes: map[string]any{
		"speaker": "Ann", "greek": "Οδός", "turn": 7.0, "big": json.Number("12"), "ok": true, "none": nil,
		"list": []any{"a", 2.0, false, []any{"deep"}}, "empty": []any{}, "o": map[string]any{"p": map[string]any{"q": "x"}},
		"o.p": "dot", `s\.t`: map[string]any{`"`: "quote"}, "snowflake": json.Number("9007199254740993"), "least": int64(math.MinInt64),
		"whole": json.Number("9.007199254740993e15"), "huge": json.Number("123456789012345678901234567890"), "third": json.Number("0.33333333333333333333333"),
	},
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want bool
	}{
		{``, true},
		{`null`, true},
		{`{"field":"kind","op":"eq","value":"message"}`, true},
		{`{"field":"kind","op":"eq","value":"Message"}`, false},
		{`{"field":"kind","op":"in","value":["note","message"]}`, true},
		{`{"field":"category","op":"contains","value":"rip"}`, true},
		{`{"field":"category","op":"contains","value":"RIP"}`, false},
		{`{"field":"category","op":"icontains","value":"RIP"}`, true},
		{`{"field":"category","op":"icontains","value":"rap"}`, false},
		{`{"field":"category","op":"gt","value":"Tri"}`, true},
		{`{"field":"state","op":"ne","value":"raw"}`, false},
		{`{"field":"tags","op":"contains","value":"travel"}`, true},
		{`{"field":"tags","op":"contains","value":"trav"}`, false},
		{`{"field":"tags","op":"contains","value":"food"}`, false},
		{`{"field":"tags","op":"icontains","value":"fOOD"}`, true},
		{`{"field":"tags","op":"icontains","value":"foo"}`, false},
		{`{"field":"tags","op":"eq","value":"Food"}`, true},
		{`{"field":"tags","op":"ne","value":"Food"}`, false},
		{`{"field":"tags","op":"in","value":["x","Food"]}`, true},
		{`{"tags":"travel"}`, true},
		{`{"tags":"food"}`, false},
		{`{"tags":["x","Food"],"kind":"message"}`, true},
		{`{"tags":["x","Food"],"kind":"note"}`, false},
		{`{"tags":"travel","kind":"message","category":"Trips","importance":0.5,"attributes.ok":true}`, true},
		{`{"tags":"travel","kind":"message","category":"Trips","importance":0.5,"attributes.ok":false}`, false},
		{`{"not":{"tags":["x","y"]}}`, true},
		{`{"and":[{"importance":0.5},{"field":"kind","op":"eq","value":"message"}]}`, true},
		{`{"attributes.no.such":"A"}`, false},
		{`{"field":"keywords","op":"exists"}`, true},
		{`{"field":"keywords","op":"exists","value":false}`, false},
		{`{"field":"importance","op":"gte","value":0.5}`, true},
		{`{"field":"importance","op":"lt","value":0.5}`, false},
		{`{"field":"importance","op":"in","value":[1,0.5]}`, true},
		{`{"field":"occurred_at","op":"eq","value":"2024-03-01T12:30:00.123456Z"}`, true},
		{`{"field":"occurred_at","op":"eq","value":"2024-03-01T13:30:00.1234569+01:00"}`, true},
		{`{"field":"occurred_at","op":"gt","value":"202403011230"}`, true},
		{`{"field":"occurred_at","op":"gt","value":"202403011231"}`, false},
		{`{"field":"created_at","op":"lte","value":"2026-11-21T00:00:00Z"}`, true},
		{`{"field":"attributes.speaker","op":"eq","value":"Ann"}`, true},
		{`{"field":"attributes.speaker","op":"contains","value":"nn"}`, true},
		{`{"field":"attributes.speaker","op":"icontains","value":"aN"}`, true},
		{`{"field":"attributes.greek","op":"icontains","value":"ΟΔΌΣ"}`, true},
		{`{"field":"attributes.turn","op":"icontains","value":7}`, false},
		{`{"field":"attributes.none","op":"icontains","value":"n"}`, false},
		{`{"field":"attributes.list","op":"icontains","value":"A"}`, true},
		{`{"field":"attributes.list","op":"icontains","value":2}`, true},
		{`{"field":"attributes.o","op":"icontains","value":"x"}`, false},
		{`{"field":"attributes.turn","op":"gt","value":6}`, true},
		{`{"field":"attributes.turn","op":"gt","value":"6"}`, false},
		{`{"field":"attributes.turn","op":"ne","value":"7"}`, true},
		{`{"field":"attributes.turn","op":"contains","value":7}`, false},
		{`{"field":"attributes.big","op":"eq","value":12.0}`, true},
		{`{"field":"attributes.ok","op":"eq","value":true}`, true},
		{`{"field":"attributes.ok","op":"eq","value":1}`, false},
		{`{"field":"attributes.none","op":"exists"}`, false},
		{`{"field":"attributes.none","op":"ne","value":1}`, true},
		{`{"field":"attributes.missing","op":"lt","value":1}`, false},
		{`{"field":"attributes.missing","op":"exists","value":false}`, true},
		{`{"field":"attributes.list","op":"contains","value":2}`, true},
		{`{"field":"attributes.list","op":"eq","value":false}`, true},
		{`{"field":"attributes.list","op":"contains","value":"deep"}`, false},
		{`{"field":"attributes.list","op":"gt","value":1}`, false},
		{`{"field":"attributes.list","op":"ne","value":"a"}`, false},
		{`{"field":"attributes.empty","op":"exists"}`, true},
		{`{"field":"attributes.o","op":"exists"}`, true},
		{`{"field":"attributes.o","op":"eq","value":"x"}`, false},
		{`{"attributes.o\\.p":"dot"}`, true},
		{`{"attributes.o.p":"dot"}`, false},
		{`{"attributes.o\\.p.q":"x"}`, false},
		{`{"attributes.s\\\\\\.t.\"":"quote"}`, true},
		{`{"attributes.snowflake":9007199254740993}`, true},
		{`{"attributes.snowflake":9007199254740992}`, false},
		{`{"attributes.snowflake":9007199254740994}`, false},
		{`{"attributes.snowflake":[1,2,3,4,5,6,7,8,9007199254740993]}`, true},
		{`{"attributes.snowflake":[1,2,3,4,5,6,7,8,9007199254740992]}`, false},
		{`{"attributes.snowflake":9007199254740993.0}`, true},
		{`{"field":"attributes.snowflake","op":"gt","value":9007199254740992}`, true},
		{`{"field":"attributes.snowflake","op":"gte","value":9007199254740994}`, false},
		{`{"field":"attributes.snowflake","op":"ne","value":9007199254740992}`, true},
		{`{"attributes.least":-9223372036854775808}`, true},
		{`{"attributes.least":-9223372036854775807}`, false},
		{`{"field":"attributes.least","op":"lt","value":-9223372036854775807}`, true},
		{`{"field":"attributes.least","op":"lt","value":-9223372036854775809}`, false},
		{`{"attributes.whole":9007199254740993}`, true},
		{`{"attributes.huge":1.2345678901234567890123456789e29}`, true},
		{`{"attributes.huge":1.234567890123456789012345678901e29}`, false},
		{`{"field":"attributes.huge","op":"lt","value":123456789012345678901234567891}`, true},
		{`{"attributes.third":0.3333333333333333}`, true},
		{`{"importance":0.50000000000000000000001}`, true},
		{`{"field":"attributes.o.p.q","op":"in","value":["x",1]}`, true},
		{`{"field":"attributes.speaker.p","op":"exists"}`, false},
		{`{"and":[{"field":"kind","op":"exists"},{"not":{"field":"state","op":"eq","value":"evolved"}}]}`, true},
		{"\n{ \"and\" : [ { \"field\" :\t\"kind\" , \"op\" : \"in\" , \"value\" : [ \"message\" ] } ] }", true},
		{`{"or":[{"field":"kind","op":"eq","value":"x"},{"field":"state","op":"eq","value":"y"}]}`, false},
	} {
		e, err := Parse([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := Match(e, &record); got != c.want {
			t.Errorf("%s: %v, want %v", c.in, got, c.want)
		}
	}
}

func TestAbsent(t *testing.T) {
	t.Parallel()
	empty := &Record{}
	for _, f := range []string{"kind", "category", "state", "tags", "keywords", "occurred_at", "created_at", "attributes.x"} {
		e, err := Parse([]byte(`{"field":"` + f + `","op":"exists"}`))
		if err != nil || e.Match(empty) {
			t.Errorf("%s exists in an empty record (%v)", f, err)
		}
	}
}

func nest(n int) string {
	return strings.Repeat(`{"not":`, n) + `{"field":"kind","op":"exists"}` + strings.Repeat(`}`, n)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	var fields strings.Builder
	for i := range MaxLeaves {
		fmt.Fprintf(&fields, `"attributes.a%d":1,`, i)
	}
	many := strings.TrimSuffix(strings.Repeat(`{"field":"kind","op":"exists"},`, 129), ",")
	for _, c := range []struct {
		in, field string
		code      fault.Code
	}{
		{`{"and":[`, "filter", fault.Malformed},
		{`{} {}`, "filter", fault.Malformed},
		{"{\"field\":\"kind\xff\",\"op\":\"exists\"}", "filter", fault.Malformed},
		{`[]`, "filter", fault.Invalid},
		{`"x"`, "filter", fault.Invalid},
		{`{}`, "filter", fault.Invalid},
		{`{"and":[],"or":[]}`, "filter", fault.Invalid},
		{`{"and":[]}`, "filter.and", fault.Invalid},
		{`{"and":null}`, "filter.and", fault.Invalid},
		{`{"and":{"field":"kind","op":"exists"}}`, "filter.and", fault.Invalid},
		{`{"xor":[]}`, "filter.xor", fault.Invalid},
		{`{"and":[{"tags":"x"}],"tags":"x"}`, "filter", fault.Invalid},
		{`{"tags":null}`, "filter.tags", fault.Invalid},
		{`{"tags":[]}`, "filter.tags", fault.Invalid},
		{`{"tags":{"a":1}}`, "filter.tags", fault.Invalid},
		{`{"tags":["x",7]}`, "filter.tags[1]", fault.Invalid},
		{`{"flavor":"x"}`, "filter.flavor", fault.Invalid},
		{`{"attributes.a..b":"x"}`, "filter.attributes.a..b", fault.Invalid},
		{`{"or":[{"importance":"much"}]}`, "filter.or[0].importance", fault.Invalid},
		{`{"not":null}`, "filter.not", fault.Invalid},
		{`{"field":"flavor","op":"eq","value":1}`, "filter.field", fault.Invalid},
		{`{"field":7,"op":"eq","value":1}`, "filter.field", fault.Invalid},
		{`{"field":"attributes","op":"exists"}`, "filter.field", fault.Invalid},
		{`{"field":"attributes.","op":"exists"}`, "filter.field", fault.Invalid},
		{`{"field":"attributes.a..b","op":"exists"}`, "filter.field", fault.Invalid},
		{`{"field":"attributes.a\\b","op":"exists"}`, "filter.field", fault.Invalid},
		{`{"field":"attributes.a\\","op":"exists"}`, "filter.field", fault.Invalid},
		{`{"field":"attributes.a\u0001b","op":"exists"}`, "filter.field", fault.Invalid},
		{`{"field":"attributes.n","op":"eq","value":1e400}`, "filter.value", fault.Invalid},
		{`{"field":"attributes.a.b.c.d.e.f.g.h.i","op":"exists"}`, "filter.field", fault.Invalid},
		{`{"and":[{"field":"tags","op":"eq","vlaue":1}]}`, "filter.and[0].vlaue", fault.Invalid},
		{`{"field":"kind"}`, "filter.op", fault.Invalid},
		{`{"field":"kind","op":"like","value":"x"}`, "filter.op", fault.Invalid},
		{`{"field":"tags","op":"gt","value":"x"}`, "filter.op", fault.Invalid},
		{`{"field":"importance","op":"contains","value":1}`, "filter.op", fault.Invalid},
		{`{"field":"created_at","op":"icontains","value":"2026"}`, "filter.op", fault.Invalid},
		{`{"field":"kind","op":"eq"}`, "filter.value", fault.Invalid},
		{`{"field":"kind","op":"eq","value":1}`, "filter.value", fault.Invalid},
		{`{"field":"kind","op":"eq","value":null}`, "filter.value", fault.Invalid},
		{`{"field":"kind","op":"eq","value":"a\u0000"}`, "filter.value", fault.Invalid},
		{`{"field":"importance","op":"eq","value":"1"}`, "filter.value", fault.Invalid},
		{`{"field":"importance","op":"eq","value":1e999}`, "filter.value", fault.Invalid},
		{`{"field":"occurred_at","op":"gt","value":"yesterday"}`, "filter.value", fault.Invalid},
		{`{"field":"occurred_at","op":"gt","value":20240301}`, "filter.value", fault.Invalid},
		{`{"field":"kind","op":"in","value":"x"}`, "filter.value", fault.Invalid},
		{`{"field":"kind","op":"in","value":null}`, "filter.value", fault.Invalid},
		{`{"field":"kind","op":"in","value":[]}`, "filter.value", fault.Invalid},
		{`{"field":"kind","op":"in","value":["x",1]}`, "filter.value[1]", fault.Invalid},
		{`{"field":"kind","op":"exists","value":"yes"}`, "filter.value", fault.Invalid},
		{`{"field":"kind","op":"exists","value":null}`, "filter.value", fault.Invalid},
		{`{"field":"attributes.x","op":"eq","value":{}}`, "filter.value", fault.Invalid},
		{`{"field":"attributes.x","op":"lt","value":true}`, "filter.value", fault.Invalid},
		{`{"field":"kind","op":"eq","value":"x","case":true}`, "filter.case", fault.Invalid},
		{`{` + fields.String() + `"tags":"x"}`, "filter", fault.Invalid},
		{`{"field":"kind","op":"exists","case":true}`, "filter.case", fault.Invalid},
		{`{"field":"kind","field":"state","op":"exists"}`, "filter.field", fault.Invalid},
		{`{"and":[{"field":"kind","op":"exists"},{"or":[{"field":"x","op":"exists"}]}]}`, "filter.and[1].or[0].field", fault.Invalid},
		{nest(17), "filter" + strings.Repeat(".not", 17), fault.Invalid},
		{nest(4000), "filter" + strings.Repeat(".not", 17), fault.Invalid},
		{`{"and":[{"or":[` + many + `]},{"or":[` + many + `]}]}`, "filter.and[1].or[127]", fault.Invalid},
	} {
		_, err := Parse([]byte(c.in))
		var f *fault.Error
		if !errors.As(err, &f) {
			t.Errorf("%.60s: accepted", c.in)
			continue
		}
		if f.Code != c.code || len(f.Fields) != 1 || f.Fields[0].Field != c.field {
			t.Errorf("%.60s: %v, want %s at %s", c.in, f, c.code, c.field)
		}
	}
	if _, err := Parse([]byte(nest(16))); err != nil {
		t.Errorf("16 deep: %v", err)
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 11, 21, 10, 5, 0, 0, time.UTC)
	for _, s := range []string{"202611211005", "2026-11-21T10:05:00Z", "2026-11-21T05:05:00-05:00", "2026-11-21T10:05:00.0000004Z",
		"2026-11-21 05:05:00-05:00", "2026-11-21T05:05:00-0500", "2026-11-21T05:05-05:00", "2026-11-21 15:05:00.000+0500", "2026-11-21t10:05z"} {
		if got, err := ParseTime(s); err != nil || !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%s: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"", "202613211005", "2026-11-21", "20261121100", "+20261121100", "2026-11-21 10:05:00", "2026-11-21T10:05"} {
		if got, err := ParseTime(s); err == nil {
			t.Errorf("%q accepted as %v", s, got)
		}
	}
}

// exprs generates expressions for the properties below.
func exprs(depth int) *rapid.Generator[Expr] {
	leaf := rapid.Custom(func(t *rapid.T) Expr {
		text := rapid.SampledFrom([]string{"", "a", "b", "message", "travel", "é"})
		l := &Leaf{}
		var v *rapid.Generator[Value]
		str := rapid.Map(text, func(s string) Value { return Value{Type: Text, Text: s} })
		num := rapid.Map(rapid.SampledFrom([]json.Number{"0", "0.5", "1", "7", "-3e9", "9007199254740992", "9007199254740993", "1e300"}), func(n json.Number) Value {
			v, _ := Scalar(n)
			v.Digits = map[bool]string{true: v.Digits}[l.Field == Attributes]
			return v
		})
		ops := []Op{Eq, Ne, In, Exists, Gt, Gte, Lt, Lte, Contains, IContains}
		switch l.Field = rapid.SampledFrom([]Field{Kind, Tags, Category, Importance, OccurredAt, Attributes}).Draw(t, "field"); l.Field {
		case Tags:
			v, ops = str, []Op{Eq, Ne, In, Exists, Contains, IContains}
		case Importance:
			v, ops = num, ops[:8]
		case OccurredAt:
			v = rapid.Map(rapid.Int64Range(0, 4e9), func(s int64) Value { return Value{Type: Time, Time: time.Unix(s, 1000).UTC()} })
			ops = ops[:8]
		case Attributes:
			l.Path = []string{rapid.SampledFrom([]string{"speaker", "turn", "list", "o", "x", "o.p", "snowflake", `\`}).Draw(t, "path")}
			v = rapid.OneOf(str, num)
		default:
			v = str
		}
		switch l.Op = rapid.SampledFrom(ops).Draw(t, "op"); l.Op {
		case Exists:
			l.Want = rapid.Bool().Draw(t, "want")
		case In:
			l.Values = rapid.SliceOfN(v, 1, 4).Draw(t, "values")
		default:
			l.Values = []Value{v.Draw(t, "value")}
		}
		return l
	})
	if depth == 0 {
		return leaf
	}
	sub := exprs(depth - 1)
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(sub, 1, 3), func(e []Expr) Expr { return And(e) }),
		rapid.Map(rapid.SliceOfN(sub, 1, 3), func(e []Expr) Expr { return Or(e) }),
		rapid.Map(sub, func(e Expr) Expr { return Not{Term: e} }))
}

func TestRoundTripAndDuality(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := exprs(3).Draw(t, "expr")
		raw := must.Get(json.Marshal(e))(t)
		back, err := Parse(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if !reflect.DeepEqual(e, back) {
			t.Fatalf("%s came back as %#v", raw, back)
		}
		other := exprs(2).Draw(t, "other")
		both := Not{Term: And{e, other}}.Match(&record)
		if both != (Or{Not{Term: e}, Not{Term: other}}).Match(&record) {
			t.Fatalf("De Morgan fails for %s", raw)
		}
		if l, ok := e.(*Leaf); ok && l.Op == Ne {
			eq := *l
			eq.Op = Eq
			if eq.Match(&record) == l.Match(&record) {
				t.Fatalf("%s is not the negation of eq", raw)
			}
		}
		if l, ok := e.(*Leaf); ok && l.Op == In {
			one := slices.ContainsFunc(l.Values, func(v Value) bool {
				eq := *l
				eq.Op, eq.Values = Eq, []Value{v}
				return eq.Match(&record)
			})
			if one != l.Match(&record) {
				t.Fatalf("%s is not an or of eq", raw)
			}
		}
	})
}

// FuzzParse checks that any bytes parse to an expression that survives a round trip, or fail with a
// fault that names a field.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"and":[{"field":"kind","op":"eq","value":"x"},{"not":{"field":"tags","op":"in","value":["a"]}}]}`, `{"field":"attributes.a.b","op":"gte","value":1.5}`, `{"or":`, nest(20), `{"field":"occurred_at","op":"lt","value":"202401010000"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := Parse(raw)
		if err != nil {
			var fe *fault.Error
			if !errors.As(err, &fe) || len(fe.Fields) != 1 || !strings.HasPrefix(fe.Fields[0].Field, "filter") {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		if e == nil {
			return
		}
		e.Match(&record)
		again := must.Get(json.Marshal(e))(t)
		back, err := Parse(again)
		if err != nil || !reflect.DeepEqual(e, back) {
			t.Fatalf("%q -> %s: %v", raw, again, err)
		}
	})
}
