package rules

import (
	"strings"
	"testing"
	"time"
)

// A sentence says that something changed if it names what it is now, and nothing else may be meant.
func TestChangesIn(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"They've pushed it back to the 17th.":                   "|the 17th",
		"We moved that to ten, nobody was awake.":               "|ten",
		"It's Thursday now, not Tuesday.":                       "|Thursday",
		"The board's been put back a week, to the first.":       "The board|the first",
		"My sister's flight was moved to 11 May.":               "My sister's flight|11 May",
		"Turns out it's at the town hall, the mill was flooded": "|the town hall",
		"They called it off because of the storm.":              "|off",
		"改到17号了。":                                               "|17号",
		"考试通知变了，改到十一月二十三号，地点在技师学院。":                             "考试|十一月二十三号",
		"老板看了样品，数量加到五百瓶，不过日期可以晚到八月一号。":                          "|五百瓶 |八月一号",
		"换成湖滨饭店了，悦宾楼在装修。":                                       "|湖滨饭店",
		"They rang to say it's been rescheduled for the 3rd.":   "|the 3rd",
		"It's now on the 20th.":                                 "|the 20th",
		"We're meeting at six instead.":                         "|six",
		"I'm down to 50 mg.":                                    "|50 mg",
		"They've moved it to Friday at three.":                  "|Friday |three",
		"Thursday, not Tuesday.":                                "|Thursday",
		"The trip's off.":                                       "The trip|off",
		"We're not going after all.":                            "|off",
		"Mum's surgery has been moved up to Tuesday.":           "Mum's surgery|Tuesday",
		"My hours changed, I start at seven now.":               "|seven",
		"改到周五下午三点了。":                                            "|周五 |下午三点",
		"时间改了，周五下午三点。":                                          "|周五 |下午三点",
		"房租涨了，现在三千八。":                                           "房租|三千八",
		"医生给我加到50毫克了。":                                          "|50毫克",
		"往后推到下周三了。":                                             "|下周三",
		"The rent has gone up to 840 euros.":                    "The rent|840 euros",
		"The pump manual went off on Thursday.":                 "",
		"The parcel went out on 3 May.":                         "",
		"I'm on the bus now.":                                   "",
		"It's usually one small detail that's off.":             "",
		"It's really been paying off!":                          "",
		"Not on Tuesday.":                                       "",
		"现在我在等车。":                                               "",
		"If they move it to June, I'd be happy.":                "",
		"Could it be moved to the 9th?":                         "",
		"They nearly cancelled it.":                             "",
		"It was cancelled last week.":                           "",
		"They said it's been moved to June.":                    "",
		"We moved it to the living room.":                       "",
		"要是能推迟到六月就好了。":                                          "",
		"能改到9号吗？":                                               "",
		"差点取消了，不过照常举行。":                                         "",
		"听说改到16号了。":                                             "",
	} {
		var got []string
		for _, c := range changesIn(said) {
			value := c.value.text
			if c.canceled {
				value = "off"
			}
			got = append(got, c.thing+"|"+value)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q", said, s, want)
		}
	}
}

// A fact with a new value keeps its month, its unit and its form.
func TestFactsWithAChange(t *testing.T) {
	t.Parallel()
	monday := time.Date(2027, 5, 3, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ fact, said, want string }{
		{"Lena's dentist appointment is on 12 March.", "They've pushed it back to the 17th.", "Lena's dentist appointment is now on 17 March."},
		{"Owen's class meets on Mondays.", "We've switched to Friday.", "Owen's class meets on Fridays now."},
		{"The meeting is on 6 May 2027.", "They've moved it to Friday.", "The meeting is now on 7 May 2027."},
		{"Kit's rent is 780 euros a month.", "It's gone up to 840 since May.", "Kit's rent is now 840 euros a month."},
		{"Kit's rent is 780 euros a month.", "It's gone up to 12.", ""},
		{"Ana's course is in June.", "It was moved to 17 June.", ""},
		{"王强3月12号去体检。", "改到17号了。", "王强改到3月17号去体检。"},
		{"小赵每周五早上九点开会。", "挪到十点了。", "小赵每周五改到早上十点开会。"},
		{"阿宁的房租是每个月三千二。", "涨到三千六了。", "阿宁现在的房租是每个月三千六。"},
		{"书法，周四下午。", "改到四月八号了。", ""},
	} {
		changes := changesIn(c.said)
		if len(changes) != 1 {
			t.Errorf("%s: %d changes", c.said, len(changes))
			continue
		}
		if got := withChange(c.fact, &changes[0], monday); got != c.want {
			t.Errorf("%s, then %s: %q, want %q", c.fact, c.said, got, c.want)
		}
	}
}

// "We" that is closed, and that others close, is a workplace; 快 is no part of a name, and 孙女 nobody of the name 孙.
func TestWhoIsMeant(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"We're closed on Mondays from January.":     "My workplace is closed on Mondays from January.",
		"The council wants to close us on Mondays.": "The council wants to close my workplace on Mondays.",
		"They told us a joke.":                      "They told us a joke.",
	} {
		if got := withoutImpersonal(said); !strings.EqualFold(got, want) {
			t.Errorf("%s: %q, want %q", said, got, want)
		}
	}
	for said, want := range map[string]string{"安安快四岁了": "安安", "孙女多大了": "", "孙丽是护士": "孙丽"} {
		if got := said[:hanNameAt(said, "")]; got != want {
			t.Errorf("%s: %q, want %q", said, got, want)
		}
	}
}
