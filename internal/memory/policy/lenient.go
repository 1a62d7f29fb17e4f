package policy

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Models answer in many forms: lists without the object around them, objects in place of
// texts, "none" for nothing. The functions in this file help the calls accept them.

// emptyAnswers are texts that mean that there is nothing.
var emptyAnswers = []string{"", "none", "<none>", "[none]", "(none)", "null", "nil", "n/a", "na", "no facts", "no new facts", "nothing", "无", "没有"}

// nothingFound matches an answer that says in words that there is nothing: "None found.", "No new user information was mentioned.".
var nothingFound = regexp.MustCompile(`(?i)^(?:none|nothing|not applicable|no (?:(?:new|relevant|private|personal|specific|additional|user|assistant) )*(?:information|data|knowledge|facts?|details))(?: (?:was|is|were|are|to be|new|relevant))*(?: (?:mentioned|found|available|provided|given|extracted|identified|stated))?(?: (?:here|in (?:the|this) (?:conversation|dialogue|text)))?$|^(?:暂无|无|没有|未提及|未发现|不适用)(?:相关|新的?|任何)*(?:信息|内容|知识|数据|事实)?$`)

// IsEmptyAnswer reports whether a text means that there is nothing.
func IsEmptyAnswer(s string) bool {
	s = strings.Trim(strings.TrimLeft(strings.TrimSpace(s), "-*• "), "\"'`.。 ")
	return slices.Contains(emptyAnswers, strings.ToLower(s)) || nothingFound.MatchString(s)
}

// errorText matches the beginning of a message that a gateway or client sends in place of an answer when a request has failed:
// "Error: ...", "API error 503", "Rate limit exceeded", "500 Internal Server Error".
var errorText = regexp.MustCompile(`(?i)^(?:(?:(?:an?|the) )?(?:(?:api|http|openai|llm|model|request|server|internal|connection|timeout|runtime) )*(?:error|exception)(?: code)?(?: \d{3})?(?: ?[:：(\]]|$| occurred\b| (?:while |when )?calling\b)|traceback \(most recent call last\)|(?:http )?[45]\d\d (?:internal server error|bad gateway|service unavailable|gateway timeout|too many requests|unauthorized|forbidden)|(?:internal server error|bad gateway|service unavailable|gateway timeout|too many requests|rate limit (?:reached|exceeded)|(?:the )?request (?:failed|timed out))(?:$|[:.,!])|(?:错误|出错了|请求失败|调用失败|请求超时)(?:[:：。!！]|$))`)

// IsErrorText reports whether a text is the message of a failed request, which no call may keep as content.
func IsErrorText(s string) bool {
	return errorText.MatchString(strings.TrimLeft(strings.TrimSpace(s), "-*•[<\"'` "))
}

// FindJSON returns the longest JSON object or list in a model's text.
func FindJSON(said string) (v any, ok bool) {
	if json.Unmarshal([]byte(said), &v) == nil {
		return v, true
	}
	best := 0
	for at := strings.IndexAny(said, "{["); at >= 0; {
		var raw json.RawMessage
		step := 1
		if json.NewDecoder(strings.NewReader(said[at:])).Decode(&raw) == nil {
			step = len(raw)
			if len(raw) > best && json.Unmarshal(raw, &v) == nil {
				best, ok = len(raw), true
			}
		}
		next := strings.IndexAny(said[at+step:], "{[")
		if next < 0 {
			break
		}
		at += step + next
	}
	return v, ok
}

// MaxEntries bounds what is read of one answer. Far fewer are kept.
const MaxEntries = 2000

// EncodeLenient returns what was read of an answer in its schema's form; nil when ok is
// false.
func EncodeLenient(v any, ok bool) json.RawMessage {
	raw, err := json.Marshal(v)
	if !ok || err != nil {
		return nil
	}
	return raw
}

// EachEntry calls each for the entries of a list, which is the answer itself or in it
// under one of the names. It reports whether there is such a list, or an empty answer.
func EachEntry(said string, names []string, each func(any)) bool {
	if IsEmptyAnswer(said) {
		return true
	}
	v, ok := FindJSON(said)
	if !ok {
		return false
	}
	if object, is := v.(map[string]any); is {
		if v = FirstValue(object, names...); v == nil {
			return len(object) == 0
		}
	}
	if s, is := v.(string); is && IsEmptyAnswer(s) {
		return true
	}
	list, ok := v.([]any)
	if !ok {
		return false
	}
	for i, x := range list {
		if i == MaxEntries {
			break
		}
		each(x)
	}
	return true
}

// FirstValue returns the value under the first of the names that exists; nil without one.
func FirstValue(v map[string]any, names ...string) any {
	for _, name := range names {
		if x, ok := v[name]; ok {
			return x
		}
	}
	return nil
}

// StringField returns the text under the first of the names that exists; "" without one.
func StringField(v map[string]any, names ...string) string {
	s, _ := FirstValue(v, names...).(string)
	return s
}
