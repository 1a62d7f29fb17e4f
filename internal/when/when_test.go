package when

import (
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/test/must"
)

// reference is a Wednesday.
var reference = time.Date(2023, 6, 14, 15, 4, 5, 0, time.UTC)

// shown formats ranges as "from..to", with the last day included.
func shown(query string, ref time.Time) string {
	var out []string
	for _, r := range Parse(query, ref) {
		from, to := "", ""
		if !r.From.IsZero() {
			from = r.From.Format("2006-01-02")
		}
		if !r.To.IsZero() {
			to = r.To.AddDate(0, 0, -1).Format("2006-01-02")
		}
		if from == to {
			out = append(out, from)
			continue
		}
		out = append(out, from+".."+to)
	}
	return strings.Join(out, " | ")
}

func TestParse(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		// Calendar dates.
		"What happened on 8 May 2023?":         "2023-05-08",
		"the 8th of May, 2023":                 "2023-05-08",
		"on May 8th 2023 and on Sept. 3, 2022": "2023-05-08 | 2022-09-03",
		"in March 2023":                        "2023-03-01..2023-03-31",
		"What did she do on May 8?":            "2023-05-08",
		"the trip in August":                   "2022-08-01..2022-08-31",
		"in June":                              "2023-06-01..2023-06-30",
		"29 February":                          "2020-02-29",
		"Which races did I run in 2022?":       "2022-01-01..2022-12-31",
		"2023-05-08, 2023/05":                  "2023-05-08 | 2023-05-01..2023-05-31",
		"at 2023-05-08T10:00:00Z":              "2023-05-08",

		// Bounds.
		"since 2 July":        "2022-07-02..2023-06-14",
		"since 2022":          "2022-01-01..2023-06-14",
		"before March 2023":   "..2023-02-28",
		"after 2021":          "2022-01-01..",
		"until last Friday":   "..2023-06-09",
		"after the next week": "2023-06-26..",

		// Near the reference time.
		"today, yesterday morning, tomorrow": "2023-06-14 | 2023-06-13 | 2023-06-15",
		"last night":                         "2023-06-13",
		"the day before yesterday":           "2023-06-12",
		"the day after tomorrow":             "2023-06-16",
		"last week":                          "2023-06-05..2023-06-11",
		"this week":                          "2023-06-12..2023-06-18",
		"next month":                         "2023-07-01..2023-07-31",
		"last year":                          "2022-01-01..2022-12-31",
		"last weekend":                       "2023-06-10..2023-06-11",
		"last May":                           "2023-05-01..2023-05-31",
		"last June":                          "2022-06-01..2022-06-30",
		"next May":                           "2024-05-01..2024-05-31",
		"this December":                      "2023-12-01..2023-12-31",
		"on Monday":                          "2023-06-12",
		"on Wednesday":                       "2023-06-14",
		"last Wednesday":                     "2023-06-07",
		"next Wednesday":                     "2023-06-21",
		"this Friday":                        "2023-06-16",
		"the last 3 days":                    "2023-06-11..2023-06-14",
		"the past month":                     "2023-05-14..2023-06-14",
		"three days ago":                     "2023-06-11",
		"two weeks ago":                      "2023-05-29..2023-06-04",
		"a month ago":                        "2023-05-01..2023-05-31",
		"10 years ago":                       "2013-01-01..2013-12-31",

		// Chinese.
		"三天前我去了哪里":           "2023-06-11",
		"上个月":                "2023-05-01..2023-05-31",
		"2023年5月":            "2023-05-01..2023-05-31",
		"二〇二三年五月八日":          "2023-05-08",
		"2022年的计划":           "2022-01-01..2022-12-31",
		"去年八月和前年":            "2022-08-01..2022-08-31 | 2021-01-01..2021-12-31",
		"昨天晚上，大后天":           "2023-06-13 | 2023-06-17",
		"上周五":                "2023-06-09",
		"上上周":                "2023-05-29..2023-06-04",
		"这个周末":               "2023-06-17..2023-06-18",
		"两个星期以前":             "2023-05-29..2023-06-04",
		"过去三个月":              "2023-03-14..2023-06-14",
		"星期天":                "2023-06-11",
		"十二月二十五号":            "2022-12-25",
		"2022年以前":            "..2021-12-31",
		"5月8日之后":             "2023-05-09..",
		"我 last week 在北京，昨天": "2023-06-05..2023-06-11 | 2023-06-13",
	} {
		if got := shown(query, reference); got != want {
			t.Errorf("%q:\n got %s\nwant %s", query, got, want)
		}
	}
}

func TestParseInventsNothing(t *testing.T) {
	t.Parallel()
	for _, query := range []string{
		"", "You may go, I sat in the sun and will march", "May I ask what April and June said?", "She is 25 and has 3 cats",
		"2000 dollars", "$2000", "2000 steps", "room 2012", "version 2.0.2022", "1,999", "#2021", "0x2022", "call 555-2022", "v2022",
		"3/4/2023", "31/2/2023", "2023-13-01", "32 May", "99999999999999999999 days ago", "0 days ago", "2.5 weeks ago",
		"half a year ago", "5k", "at 3pm", "10:30", "fall in love", "last name", "the last week of the course", "next to me",
		"a week", "three days", "the past", "march 5 miles", "Who is Augustus?", "before the meeting", "after lunch", "since then", "between you and me",
		"三天", "第三天", "一周五天", "每周一", "半年前", "2023-2022", "13月", "2月30日", "三个月", "大米", "今后", "前面", "〇〇〇〇年",
	} {
		if got := shown(query, reference); got != "" {
			t.Errorf("%q gave %s", query, got)
		}
	}
}

func TestReferenceAtTheEdges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ at, query, want string }{
		{"2024-01-01T00:00:00Z", "yesterday", "2023-12-31"},
		{"2024-01-01T00:00:00Z", "last month", "2023-12-01..2023-12-31"},
		{"2024-03-31T12:00:00Z", "a month ago", "2024-02-01..2024-02-29"},
		{"2024-02-29T12:00:00Z", "a year ago", "2023-01-01..2023-12-31"},
		{"2023-06-18T23:59:59Z", "this week", "2023-06-12..2023-06-18"},
		{"2023-06-19T00:00:00Z", "last Sunday", "2023-06-18"},
		{"2023-06-18T10:00:00Z", "this weekend", "2023-06-17..2023-06-18"},
	} {
		ref := must.Get(time.Parse(time.RFC3339, c.at))(t)
		if got := shown(c.query, ref); got != c.want {
			t.Errorf("%s at %s: got %s, want %s", c.query, c.at, got, c.want)
		}
	}
}

// A day is a day of the reference's zone: at 23:30 in New York it is tomorrow in UTC.
func TestDaysAreOfTheZone(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", -5*3600)
	got := Parse("today", time.Date(2023, 6, 14, 23, 30, 0, 0, zone))
	if len(got) != 1 || !got[0].From.Equal(time.Date(2023, 6, 14, 5, 0, 0, 0, time.UTC)) || !got[0].To.Equal(time.Date(2023, 6, 15, 5, 0, 0, 0, time.UTC)) {
		t.Errorf("today at 23:30-05:00 is %v", got)
	}
}

// The day of a note is that of its writer's clock, also for a question from elsewhere; one in UTC is compared by the instant.
func TestContainsDaysOfWriters(t *testing.T) {
	t.Parallel()
	at := func(s string) time.Time {
		t.Helper()
		out := must.Get(time.Parse(time.RFC3339, s))(t)
		return out
	}
	first := Parse("on 1 June 2026", at("2026-06-10T12:00:00Z"))[0]
	for s, want := range map[string]bool{
		"2026-06-01T21:00:00-05:00": true, "2026-06-02T07:30:00+09:00": false, "2026-06-02T02:00:00Z": false, "2026-06-01T00:10:00+05:30": true,
	} {
		if first.Contains(at(s)) != want {
			t.Errorf("%s is on 1 June: %t", s, !want)
		}
	}
	elsewhere := Parse("on 1 June 2026", at("2026-06-10T12:00:00-05:00"))[0]
	if !elsewhere.Contains(at("2026-06-02T02:00:00Z")) || elsewhere.Contains(at("2026-06-02T07:30:00+09:00")) {
		t.Error("1 June of a question from elsewhere")
	}
}

// Where the clock is put forward at midnight, a day begins at one, and all days follow one another.
func TestDayStart(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "America/Sao_Paulo", "Asia/Beirut", "America/Havana", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "Africa/Cairo"} {
		zone := must.Get(time.LoadLocation(name))(t)
		for d := 1; d <= 3000; d++ {
			day := time.Date(2015, 1, d, 12, 0, 0, 0, time.UTC)
			start := DayStart(2015, 1, d, zone)
			if start.Day() != day.Day() || start.Add(-time.Microsecond).Day() == day.Day() {
				t.Fatalf("%s: %s begins at %s", name, day.Format(time.DateOnly), start)
			}
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	if got := Words(time.Date(2023, 5, 8, 23, 30, 0, 0, time.FixedZone("", -3600))); got != "8 May 2023" {
		t.Errorf("Words = %q", got)
	}
	if got := Words(time.Time{}); got != "" {
		t.Errorf("the zero time is %q", got)
	}
}

// A formatted date is parsed as the same day.
func TestWordsAreParsed(t *testing.T) {
	t.Parallel()
	for at := time.Date(2019, 12, 30, 0, 0, 0, 0, time.UTC); at.Year() < 2021; at = at.AddDate(0, 0, 1) {
		r := Parse("on "+Words(at), reference)
		if len(r) != 1 || !r[0].From.Equal(at) || !r[0].To.Equal(at.AddDate(0, 0, 1)) || !r[0].Contains(at) || r[0].Contains(r[0].To) {
			t.Fatalf("%s: %v", Words(at), r)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"two weeks before 3 June 2023", "the last couple of months, since May 8", "from 2019-2021 to next Friday", "三天前", "上个月3号之后",
		"\xff 8 May \x00 2023", "the the the", "9999年12月31日以后", "一二三四五六七八九一二三四五六七八九一二三天前",
	} {
		f.Add(s, int64(1_686_700_000))
		f.Add(s, int64(-1))
	}
	f.Fuzz(func(t *testing.T, s string, unix int64) {
		ref := time.Unix(unix%250_000_000_000, 0).UTC()
		for _, r := range Parse(s, ref) {
			if r.From.IsZero() && r.To.IsZero() || !r.From.IsZero() && !r.To.IsZero() && !r.From.Before(r.To) {
				t.Fatalf("%q: %v", s, r)
			}
			isMidnight := func(t time.Time) bool { return t.IsZero() || t.Equal(unitAt(t, day).From) }
			if !isMidnight(r.From) || !isMidnight(r.To) {
				t.Fatalf("%q: %v is not a number of whole days", s, r)
			}
		}
	})
}
