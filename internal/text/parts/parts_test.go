package parts_test

import (
	"encoding/json"
	"testing"

	"github.com/slipboxhq/slipbox/internal/text/parts"
)

// The texts of all known forms are read, and what has none is counted.
func TestRead(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]parts.Content{
		`null`:                                 {},
		`" a "`:                                {Text: "a"},
		`["a", {"type": "text", "text": "b"}]`: {Text: "a\nb"},
		`{"type": "text", "text": "a"}`:        {Text: "a"},
		`[{"type": "input_text", "text": "a"}, {"type": "output_text", "text": "b", "annotations": []}]`:                                             {Text: "a\nb"},
		`[{"type": "text", "text": {"value": "a", "annotations": []}}]`:                                                                              {Text: "a"},
		`[{"text": "a"}, {"inline_data": {"mime_type": "image/png", "data": "AAAA"}}]`:                                                               {Text: "a", Unread: 1},
		`[{"type": "refusal", "refusal": "No."}]`:                                                                                                    {Text: "No."},
		`[{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]`:                                 {Text: "a", Unread: 1},
		`[{"type": "image_url", "image_url": {"url": "x"}, "description": "a  dog"}]`:                                                                {Text: "[image: a dog]"},
		`[{"type": "input_image", "image_url": "x"}, {"type": "input_file", "file_id": "f"}, {"type": "input_audio", "input_audio": {"data": "x"}}]`: {Unread: 3},
		`[{"type": "audio", "audio": {"transcript": "a"}}]`:                                                                                          {Text: "a"},
		`[{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "t", "name": "look", "input": {"q": "x"}}]`:                                {Text: "I look.", Unread: 1},
		`[{"type": "tool_result", "tool_use_id": "t", "content": "sunny"}, {"type": "text", "text": "Thanks"}]`:                                      {Text: "Thanks", Tool: "sunny"},
		`[{"type": "tool_result", "content": [{"type": "text", "text": "sunny"}, {"type": "image", "source": {"type": "base64", "data": "x"}}]}]`:    {Tool: "sunny", Unread: 1},
		`[{"type": "tool_result", "tool_use_id": "t"}]`:                                                                                              {Unread: 1},
		`[{"functionCall": {"name": "f", "args": {}}}, {"functionResponse": {"name": "f", "response": {"result": "rain"}}}]`:                         {Tool: "rain", Unread: 1},
		`[{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "a"}]`:                                                  {Text: "a", Unread: 1},
		`[{"type": "document", "title": "d", "source": {"type": "text", "media_type": "text/plain", "data": "a"}}]`:                                  {Text: "a"},
		`[{"type": "document", "source": {"type": "base64", "data": "JVBERi0="}}]`:                                                                   {Unread: 1},
		`[{"type": "new_form", "text": "a"}, {"type": "other"}, 7, null, true]`:                                                                      {Text: "a", Unread: 4},
		`{"parts": [{"text": "a"}]}`: {Text: "a"},
		`[[[[[[[[[["a"]]]]]]]]]]`:    {Unread: 1},
		`7`:                          {Unread: 1},
	} {
		var v any
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(in, err)
		}
		if got := parts.Read(v); got != want {
			t.Errorf("%s is %+v, want %+v", in, got, want)
		}
	}
}
