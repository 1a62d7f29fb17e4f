package policy_test

import (
	"slices"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// C006: the validator leaves out keywords that are the speaker's name or a time, also in
// Chinese and Japanese, and keeps the order of the others.
func TestCleanKeywords_C006(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, speaker string
		list, want    []string
	}{
		{"English", "Nora", []string{"gas kiln", "Nora", "yesterday", "May 2023", "Nora's vases", "Tuesday morning", "vases", "3 pm"}, []string{"gas kiln", "vases"}},
		{"Chinese months", "", []string{"陶艺工作室", "三月", "十二月", "3月", "三月份", "下个月"}, []string{"陶艺工作室"}},
		{
			"Chinese dates", "",
			[]string{"四月十五号", "搬家", "2026年3月1日", "二〇二六年", "昨天", "明晚", "前天", "今年", "去年", "月底"},
			[]string{"搬家"},
		},
		{"Chinese weekdays and hours", "", []string{"星期五", "下周三", "周末", "三点半", "上个星期", "会议", "两天前", "半小时", "每天"}, []string{"会议"}},
		{"Japanese", "", []string{"会議", "三月十日", "今日", "明日", "午後", "2時"}, []string{"会議", "午後"}},
		{"Chinese words that hold such characters", "", []string{"月亮", "明月", "日记", "年糕", "天气", "周杰伦", "三明治", "号码", "点心", "上天"}, []string{"月亮", "明月", "日记", "年糕", "天气", "周杰伦", "三明治", "号码", "点心", "上天"}},
		{"Chinese speaker", "小明", []string{"小明", "画展"}, []string{"画展"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := policy.CleanKeywords(test.list, 20, test.speaker); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Messages of failed requests are told from what people say about errors.
func TestIsErrorText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"Error: could not get a response", "error", "[Error] ", "API error (429): slow down", "OpenAI API Error: overloaded", "An error occurred while asking.",
		"Exception: timeout", "HTTP error 503: unavailable", "Error calling the model", "500 Internal Server Error", "HTTP 502 Bad Gateway", "Rate limit exceeded.",
		"Request timed out", "Traceback (most recent call last): ...", "错误：超时", "请求失败", "- Error: x",
	} {
		if !policy.IsErrorText(s) {
			t.Errorf("%q is not an error", s)
		}
	}
	for _, s := range []string{
		"", "Ana fears errors.", "Error handling is dear to Ana.", "The error was in her code.", "Ana makes an exception for tea.", "An error in the invoice cost her 500 euros.",
		"500 guests came to the wedding.", "The server broke a glass.", "Internal affairs bore her.", "错误让他学到很多。", "Exceptional cook.",
	} {
		if policy.IsErrorText(s) {
			t.Errorf("%q is an error", s)
		}
	}
}

// A line has what is seen of an answer: what only turns the direction, or ends a line, would make another name of the same one.
func TestCleanLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\u202euser": "user", "\u2067ليلى\u2069": "ليلى", "Ana\u200f\tMaria\r\n": "Ana Maria", "می\u200cخواهم": "می\u200cخواهم", "a\xffb\u2028c": "ab c",
	} {
		if got := policy.CleanLine(in, 20); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
