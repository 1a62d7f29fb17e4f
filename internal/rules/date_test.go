package rules

import (
	"testing"
	"time"
)

// A weekday is the next one where a sentence looks ahead, the last one where it looks back, and
// stays a weekday where neither is evident: a wrong day is worse than none.
func TestResolveWeekdays(t *testing.T) {
	t.Parallel()
	sunday := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	const monday, friday, lastFriday, lastMonday = "23 November 2026", "27 November 2026", "20 November 2026", "16 November 2026"
	for said, want := range map[string]string{
		"I have a dentist appointment on Friday.":           "I have a dentist appointment on " + friday + ".",
		"My deadline for the grant report is Friday.":       "My deadline for the grant report is on " + friday + ".",
		"Remind me to call the dentist on Friday.":          "Remind me to call the dentist on " + friday + ".",
		"The exam is on Monday.":                            "The exam is on " + monday + ".",
		"I start my new job on Monday.":                     "I start my new job on " + monday + ".",
		"My flight leaves Friday.":                          "My flight leaves on " + friday + ".",
		"My boss said the deadline is on Friday.":           "My boss said the deadline is on " + friday + ".",
		"On Friday I see my dentist.":                       "on " + friday + " I see my dentist.",
		"I must hand in the report by Friday.":              "I must hand in the report by " + friday + ".",
		"We booked a table for Friday.":                     "We booked a table for " + friday + ".",
		"The meeting was moved to Friday.":                  "The meeting was moved to " + friday + ".",
		"I'm flying to Rome this Friday.":                   "I'm flying to Rome on " + friday + ".",
		"My interview for the job in Oslo: Friday.":         "My interview for the job in Oslo: on " + friday + ".",
		"I went to the dentist on Friday.":                  "I went to the dentist on " + lastFriday + ".",
		"I was at the opera on Monday.":                     "I was at the opera on " + lastMonday + ".",
		"On Friday we had dinner with Clara.":               "on " + lastFriday + " we had dinner with Clara.",
		"We met Clara on Friday and she likes Rome.":        "We met Clara on " + lastFriday + " and she likes Rome.",
		"The party I went to on Friday is what I remember.": "The party I went to on " + lastFriday + " is what I remember.",
		"I have been sick since Friday.":                    "I have been sick since " + lastFriday + ".",
		"I got a dentist appointment on Friday.":            "I got a dentist appointment on Friday (said on 22 November 2026).",
		"I hosted a class for them on Friday.":              "I hosted a class for them on " + lastFriday + ".",
		"I play tennis every Sunday.":                       "I play tennis every Sunday.",
		"I moved here on Friday.":                           "I moved here on " + lastFriday + ".",
		"我每周日打网球。":                                          "我每周日打网球。",
		"I can walk without the brace since Friday.":        "I can walk without the brace since " + lastFriday + ".",
		"I'm out of the firm, Friday was my last day.":      "I'm out of the firm, " + lastFriday + " was my last day.",
		"The choir sings on Tuesday 4 May.":                 "The choir sings on Tuesday 4 May.",
		"Friday with Clara.":                                "Friday (said on 22 November 2026) with Clara.",
		"Yesterday I met Clara.":                            "on 21 November 2026 I met Clara.",
		"我周五有个会议。":                                          "我2026年11月27日有个会议。",
		"我周五去北京。":                                           "我2026年11月27日去北京。",
		"考试在周一，我要复习。":                                       "考试在2026年11月23日，我要复习。",
		"我周五去了北京。":                                          "我2026年11月20日去了北京。",
		"周五的会议很顺利。":                                         "2026年11月20日的会议很顺利。",
		"周五，公园。":                                            "周五（2026年11月22日说），公园。",
	} {
		if got := resolveDates(said, sunday); got != want {
			t.Errorf("%s\n got  %s\n want %s", said, got, want)
		}
	}
}
