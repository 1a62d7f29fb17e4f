package when

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// reference is a Wednesday.
var reference = time.Date(2023, 6, 14, 15, 4, 5, 0, time.FixedZone("", 3600))

// shown formats ranges as "text=from..to", with the last day included.
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
			to = "same"
		}
		out = append(out, fmt.Sprintf("%s=%s..%s", query[r.Start:r.End], from, to))
	}
	return strings.TrimSpace(strings.ReplaceAll(strings.Join(out, " | "), "..same", ""))
}

func TestParse(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		// Calendar dates.
		"What happened on 8 May 2023?":           "8 May 2023=2023-05-08",
		"the 8th of May, 2023":                   "the 8th of May, 2023=2023-05-08",
		"on May 8th 2023 and on Sept. 3, 2022":   "May 8th 2023=2023-05-08 | Sept. 3, 2022=2022-09-03",
		"in March 2023":                          "March 2023=2023-03-01..2023-03-31",
		"since 2 July":                           "since 2 July=2022-07-02..2023-06-14",
		"What did she do on May 8?":              "May 8=2023-05-08",
		"the trip in August":                     "August=2022-08-01..2022-08-31",
		"in June":                                "June=2023-06-01..2023-06-30",
		"the January meeting":                    "the January=2023-01-01..2023-01-31",
		"29 February":                            "29 February=2020-02-29",
		"2022":                                   "2022=2022-01-01..2022-12-31",
		"Which races did I run in 2022?":         "2022=2022-01-01..2022-12-31",
		"summer of 2022":                         "summer of 2022=2022-06-01..2022-08-31",
		"winter 2022":                            "winter 2022=2022-12-01..2023-02-28",
		"the Q2 2021 report":                     "the Q2 2021=2021-04-01..2021-06-30",
		"music of the 1990s":                     "the 1990s=1990-01-01..1999-12-31",
		"2023-05-08, 2023/05 and 8.5.2023":       "2023-05-08=2023-05-08 | 2023/05=2023-05-01..2023-05-31 | 8.5.2023=2023-05-08",
		"5/28/2023 or 28/5/2023":                 "5/28/2023=2023-05-28 | 28/5/2023=2023-05-28",
		"at 2023-05-08T10:00:00Z":                "2023-05-08T10:00:00Z=2023-05-08",
		"the years 2019-2021":                    "2019-2021=2019-01-01..2021-12-31",
		"early May 2023":                         "early May 2023=2023-05-01..2023-05-11",
		"the end of 2022, mid-March, late April": "the end of 2022=2022-09-01..2022-12-31 | mid-March=2023-03-11..2023-03-21 | late April=2023-04-21..2023-04-30",

		// Near the reference time.
		"today, yesterday morning, tomorrow": "today=2023-06-14 | yesterday morning=2023-06-13 | tomorrow=2023-06-15",
		"last night":                         "last night=2023-06-13",
		"the day before yesterday":           "the day before yesterday=2023-06-12",
		"the day after tomorrow":             "the day after tomorrow=2023-06-16",
		"last week":                          "last week=2023-06-05..2023-06-11",
		"this week":                          "this week=2023-06-12..2023-06-18",
		"next month":                         "next month=2023-07-01..2023-07-31",
		"last year":                          "last year=2022-01-01..2022-12-31",
		"last weekend":                       "last weekend=2023-06-10..2023-06-11",
		"last May":                           "last May=2023-05-01..2023-05-31",
		"last June":                          "last June=2022-06-01..2022-06-30",
		"next May":                           "next May=2024-05-01..2024-05-31",
		"this December":                      "this December=2023-12-01..2023-12-31",
		"this summer":                        "this summer=2023-06-01..2023-08-31",
		"last summer":                        "last summer=2022-06-01..2022-08-31",
		"during the summer":                  "the summer=2023-06-01..2023-08-31",
		"last winter":                        "last winter=2022-12-01..2023-02-28",
		"on Monday":                          "Monday=2023-06-12",
		"on Wednesday":                       "Wednesday=2023-06-14",
		"last Wednesday":                     "last Wednesday=2023-06-07",
		"next Wednesday":                     "next Wednesday=2023-06-21",
		"this Friday":                        "this Friday=2023-06-16",
		"on Fri":                             "Fri=2023-06-09",
		"the last 3 days":                    "the last 3 days=2023-06-11..2023-06-14",
		"the past month":                     "the past month=2023-05-14..2023-06-14",
		"over the past couple of weeks":      "the past couple of weeks=2023-05-31..2023-06-14",
		"in the next two weeks":              "the next two weeks=2023-06-14..2023-06-28",
		"three days ago":                     "three days ago=2023-06-11",
		"two weeks ago":                      "two weeks ago=2023-05-29..2023-06-04",
		"a couple of months ago":             "a couple of months ago=2023-04-01..2023-04-30",
		"10 years ago":                       "10 years ago=2013-01-01..2013-12-31",
		"5 days from now":                    "5 days from now=2023-06-19",

		// Relative to a date.
		"two weeks before 3 June 2023":        "two weeks before 3 June 2023=2023-05-15..2023-05-21",
		"two days after May 30, 2023":         "two days after May 30, 2023=2023-06-01",
		"The week before 9 June 2023":         "The week before 9 June 2023=2023-06-02..2023-06-08",
		"the month after March 2023":          "the month after March 2023=2023-04-01..2023-04-30",
		"the week of 8 May 2023":              "the week of 8 May 2023=2023-05-08..2023-05-14",
		"the Friday before 15 July 2022":      "the Friday before 15 July 2022=2022-07-08",
		"the weekend before 17 July 2022":     "the weekend before 17 July 2022=2022-07-09..2022-07-10",
		"the weekend after 20 October 2022":   "the weekend after 20 October 2022=2022-10-22..2022-10-23",
		"the week before last":                "the week before last=2023-05-29..2023-06-04",
		"before March 2023":                   "before March 2023=..2023-02-28",
		"after 2021":                          "after 2021=2022-01-01..",
		"until last Friday":                   "until last Friday=..2023-06-09",
		"since 2022":                          "since 2022=2022-01-01..2023-06-14",
		"between March and May":               "between March and May=2023-03-01..2023-05-31",
		"from 3 May 2022 to June 2022":        "from 3 May 2022 to June 2022=2022-05-03..2022-06-30",
		"from August 11 to August 15 2022":    "from August 11 to August 15 2022=2022-08-11..2022-08-15",
		"from December to February 2020":      "from December to February 2020=2019-12-01..2020-02-29",
		"from 20 December 2021 to January":    "from 20 December 2021 to January=2021-12-20..2022-01-31",
		"from May to August":                  "from May to August=2022-05-01..2022-08-31",
		"the first week of October 2022":      "the first week of October 2022=2022-10-01..2022-10-07",
		"the last two weeks of August 2022":   "the last two weeks of August 2022=2022-08-18..2022-08-31",
		"by the end of May":                   "the end of May=2023-05-21..2023-05-31",
		"the last day of May":                 "the last day of May=2023-05-31",
		"the second weekend of July 2022":     "the second weekend of July 2022=2022-07-09..2022-07-10",
		"the last weekend of July 2022":       "the last weekend of July 2022=2022-07-30..2022-07-31",
		"the third quarter of 2022":           "the third quarter of 2022=2022-07-01..2022-09-30",
		"a week of October 2022":              "October 2022=2022-10-01..2022-10-31",
		"the fourth quarter of May 2022":      "May 2022=2022-05-01..2022-05-31",
		"from May to June 1200":               "from May to June 1200=1200-05-01..1200-06-30",
		"from June 1200 to May":               "from June 1200 to May=1200-06-01..1201-05-31",
		"between May and June 2999":           "between May and June 2999=2999-05-01..2999-06-30",
		"between May and nothing":             "",
		"between May 2023 and January 2022":   "May 2023=2023-05-01..2023-05-31 | January 2022=2022-01-01..2022-01-31",
		"Was it last week or two weeks later": "last week=2023-06-05..2023-06-11",

		// Chinese.
		"三天前我去了哪里":           "三天前=2023-06-11",
		"上个月":                "上个月=2023-05-01..2023-05-31",
		"2023年5月":            "2023年5月=2023-05-01..2023-05-31",
		"二〇二三年五月八日":          "二〇二三年五月八日=2023-05-08",
		"2022年的计划":           "2022年=2022-01-01..2022-12-31",
		"去年夏天和前年":            "去年夏天=2022-06-01..2022-08-31 | 前年=2021-01-01..2021-12-31",
		"昨天晚上，大后天":           "昨天=2023-06-13 | 大后天=2023-06-17",
		"上周五":                "上周五=2023-06-09",
		"上上周":                "上上周=2023-05-29..2023-06-04",
		"这个周末":               "这个周末=2023-06-17..2023-06-18",
		"上个月3号":              "上个月3号=2023-05-03",
		"两个星期以前":             "两个星期以前=2023-05-29..2023-06-04",
		"二十三天后":              "二十三天后=2023-07-07",
		"过去三个月":              "过去三个月=2023-03-14..2023-06-14",
		"星期天":                "星期天=2023-06-11",
		"十二月二十五号":            "十二月二十五号=2022-12-25",
		"2022年以前":            "2022年以前=..2021-12-31",
		"5月8日之后":             "5月8日之后=2023-05-09..",
		"我 last week 在北京，昨天": "last week=2023-06-05..2023-06-11 | 昨天=2023-06-13",
	} {
		if got := shown(query, reference); got != want {
			t.Errorf("%q:\n got %s\nwant %s", query, got, want)
		}
	}
}

func TestParseInventsNothing(t *testing.T) {
	t.Parallel()
	for _, query := range []string{
		"", "You may go, I sat in the sun and will march", "May I ask what April and June said?", "The second decade matters", "She is 25 and has 3 cats",
		"2000 dollars", "$2000", "2000 steps", "room 2012", "version 2.0.2022", "1,999", "#2021", "0x2022", "call 555-2022", "v2022",
		"3/4/2023", "31/2/2023", "2023-13-01", "32 May", "99999999999999999999 days ago", "0 days ago", "2.5 weeks ago",
		"half a year ago", "5k", "at 3pm", "10:30", "fall in love", "the spring in the mattress", "last name", "the last week of the course", "next to me",
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
		{"2024-01-01T00:00:00Z", "yesterday", "yesterday=2023-12-31"},
		{"2024-01-01T00:00:00Z", "last month", "last month=2023-12-01..2023-12-31"},
		{"2024-01-15T00:00:00Z", "this winter", "this winter=2023-12-01..2024-02-29"},
		{"2024-03-31T12:00:00Z", "a month ago", "a month ago=2024-02-01..2024-02-29"},
		{"2024-02-29T12:00:00Z", "a year ago", "a year ago=2023-01-01..2023-12-31"},
		{"2024-02-29T12:00:00Z", "the past year", "the past year=2023-02-28..2024-02-29"},
		{"2023-06-18T23:59:59Z", "this week", "this week=2023-06-12..2023-06-18"},
		{"2023-06-19T00:00:00Z", "last Sunday", "last Sunday=2023-06-18"},
		{"2023-06-14T23:30:00-05:00", "today", "today=2023-06-15"},
		{"2023-06-18T10:00:00Z", "this weekend", "this weekend=2023-06-17..2023-06-18"},
	} {
		ref, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(c.query, ref); got != c.want {
			t.Errorf("%s at %s: got %s, want %s", c.query, c.at, got, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	if got := Words(time.Date(2023, 5, 8, 23, 30, 0, 0, time.FixedZone("", -3600))); got != "9 May 2023" {
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
		"two weeks before 3 June 2023", "the last couple of months, since May 8", "mid-2022", "from 2019-2021 to next Friday", "三天前", "上个月3号之后",
		"the week before the week before the day after 2022", "early late mid end of May", "\xff 8 May \x00 2023", "the the the", "9999年12月31日以后",
	} {
		f.Add(s, int64(1_686_700_000))
		f.Add(s, int64(-1))
	}
	f.Fuzz(func(t *testing.T, s string, unix int64) {
		ref := time.Unix(unix%250_000_000_000, 0)
		at := 0
		for _, r := range Parse(s, ref) {
			if r.Start < at || r.End <= r.Start || r.End > len(s) {
				t.Fatalf("%q: bytes %d to %d after %d", s, r.Start, r.End, at)
			}
			at = r.End
			if r.From.IsZero() && r.To.IsZero() || !r.From.IsZero() && !r.To.IsZero() && !r.From.Before(r.To) {
				t.Fatalf("%q: %v", s, r)
			}
			if r.From.Location() != time.UTC || !r.From.Equal(midnight(r.From)) || !r.To.Equal(midnight(r.To)) {
				t.Fatalf("%q: %v is not a number of whole days in UTC", s, r)
			}
			if utf8.ValidString(s) && !utf8.ValidString(s[r.Start:r.End]) {
				t.Fatalf("%q: cuts a character", s)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for name, s := range map[string]string{
		"short": "What did Caroline say about the camping trip two weeks before 3 June 2023?",
		"64KiB": strings.Repeat("the week before the last ", 64<<10/25),
		"Han":   strings.Repeat("三上周二十", 64<<10/15),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Parse(s, reference)
			}
		})
	}
}
