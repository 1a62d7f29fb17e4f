package rules

import (
	"cmp"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
	"github.com/slipboxhq/slipbox/internal/text"
)

// overallPersonality describes a person by the traits that their days mention most often.
func overallPersonality(in memorybank.OverallInput) memorybank.Portrait {
	zh := in.Language == policy.Chinese
	traits, moods := map[string]int{}, 0.0
	for _, d := range in.Days {
		words, plain := cueText(d.Text)
		for _, t := range traitCues {
			for _, name := range []string{t.name, t.chinese} {
				if strings.Contains(words, " "+name+" ") || isHan(name) && strings.Contains(plain, name) {
					traits[t.name]++
					break
				}
			}
		}
		moods += notedMood(words, plain)
	}
	user := cmp.Or(in.User, roleName(memory.RoleUser, in.Language))
	top := mostFrequent(traits, maxDayTraits)
	names := make([]string, len(top))
	for i, t := range top {
		names[i] = traitName(t, zh)
	}
	var parts []string
	mood := 0.0
	if len(in.Days) > 0 {
		mood = moods / float64(len(in.Days))
	}
	if zh {
		if len(names) > 0 {
			parts = append(parts, user+"给人的印象是"+strings.Join(names, "、")+"。")
		}
		if in.Meta["personality"] != "" {
			parts = append(parts, "自述性格："+trimSentenceEnd(in.Meta["personality"])+"。")
		}
		if in.Meta["hobbies"] != "" {
			parts = append(parts, "爱好："+trimSentenceEnd(in.Meta["hobbies"])+"。")
		}
		if len(in.Days) > 0 {
			parts = append(parts, "情绪总体"+moodName(mood, zh)+"（"+dateSpan(in.Days, "至")+"）。")
		}
	} else {
		if len(names) > 0 {
			parts = append(parts, user+" comes across as "+strings.Join(names, ", ")+".")
		}
		if in.Meta["personality"] != "" {
			parts = append(parts, "Personality as stated: "+trimSentenceEnd(in.Meta["personality"])+".")
		}
		if in.Meta["hobbies"] != "" {
			parts = append(parts, "Hobbies: "+trimSentenceEnd(in.Meta["hobbies"])+".")
		}
		if len(in.Days) > 0 {
			parts = append(parts, "The mood was "+moodName(mood, zh)+" on the whole ("+dateSpan(in.Days, " to ")+").")
		}
	}
	if len(parts) == 0 {
		parts = append(parts, map[bool]string{false: "Nothing is known of " + user + " yet.", true: "对" + user + "还一无所知。"}[zh])
	}
	chars := in.Chars
	if chars <= 0 {
		chars = defaultChars
	}
	return memorybank.Portrait{Portrait: text.Shorten(joinParts(parts, zh), chars), ReplyStrategy: text.Shorten(replyStrategy(mood, top, zh), chars)}
}
