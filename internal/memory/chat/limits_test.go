package chat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
)

// What goes beyond the operator's limits is refused before the model sees it, by the name of the field; the
// rest is passed on.
func TestLimitsOfCompletions(t *testing.T) {
	t.Parallel()
	limits := chat.Limits{MaxChoices: 8, MaxTokens: 1000}
	remote := chat.Limits{RemoteImages: true}
	const inside, said = "data:image/png;base64,iVBORw0KGgo=", `"messages":[{"role":"user","content":"Where?"}]`
	parts := func(parts string) string { return `"messages":[{"role":"user","content":[` + parts + `]}]` }
	image := func(url string) string {
		return parts(`{"type":"text","text":"https://example.org/a.png"},{"type":"image_url","image_url":{"url":"` + url + `","detail":"low"}}`)
	}
	const address = "messages.0.content.1.image_url.url"
	for name, x := range map[string]struct {
		limits chat.Limits
		body   string
		field  string // that is refused; "": none
	}{
		"nothing":                    {limits, said, ""},
		"n at the limit":             {limits, `"n":8,` + said, ""},
		"n":                          {limits, `"n":9,` + said, "n"},
		"n as a text":                {limits, `"n":"128",` + said, "n"},
		"n in an exponent":           {limits, `"n":1e2,` + said, "n"},
		"n repeated":                 {limits, `"n":1,"n":128,` + said, "n"},
		"n in capitals":              {limits, `"N":128,` + said, "n"},
		"n null":                     {limits, `"n":null,` + said, ""},
		"best_of":                    {limits, `"best_of":9,` + said, "best_of"},
		"max_tokens":                 {limits, `"max_tokens":1001,` + said, "max_tokens"},
		"max_tokens at the limit":    {limits, `"max_tokens":1000,"max_completion_tokens":1000,` + said, ""},
		"max_tokens in quotes":       {limits, `"max_tokens":"1000",` + said, ""},
		"max_tokens in quotes, more": {limits, `"max_tokens":"1001",` + said, "max_tokens"},
		"max_tokens as words":        {limits, `"max_tokens":"many",` + said, "max_tokens"},
		"max_completion_tokens":      {limits, `"max_completion_tokens":1000000000,` + said, "max_completion_tokens"},
		"max_tokens without an end":  {limits, `"max_tokens":-1,` + said, "max_tokens"},
		"Max_Tokens":                 {limits, `"Max_Tokens":1001,` + said, "max_tokens"},
		"n_predict":                  {limits, `"n_predict":-1,` + said, "n_predict"},
		"no limits":                  {chat.Limits{}, `"n":128,"max_tokens":1000000000,` + said, ""},
		"an image":                   {limits, image(inside), ""},
		"an image elsewhere":         {limits, image("http://169.254.169.254/latest/meta-data"), address},
		"an image elsewhere, on":     {remote, image("HTTPS://example.org/a.png"), ""},
		"a file":                     {remote, image("file:///etc/passwd"), address},
		"spaces before":              {limits, image(` \thttp://10.0.0.1/`), address},
		"no scheme":                  {remote, image("//10.0.0.1/a.png"), address},
		"an address as a text":       {limits, parts(`{"type":"image_url","image_url":"http://10.0.0.1/"}`), "messages.0.content.0.image_url"},
		"a video":                    {limits, parts(`{"type":"video_url","video_url":{"url":"http://10.0.0.1/"}}`), "messages.0.content.0.video_url.url"},
		"capitals":                   {limits, parts(`{"type":"image_url","Image_URL":{"URL":"http://10.0.0.1/"}}`), "messages.0.content.0.Image_URL.URL"},
		"a list":                     {limits, parts(`{"type":"image_url","image_url":["` + inside + `","http://10.0.0.1/"]}`), "messages.0.content.0.image_url.1"},
		"repeated, the first":        {limits, parts(`{"type":"image_url","image_url":{"url":"http://10.0.0.1/","url":"` + inside + `"}}`), "messages.0.content.0.image_url.url"},
		"content in two cases": {limits, `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://10.0.0.1/"}}],"Content":"Where?"}]`,
			"messages.0.content.0.image_url.url"},
		"not an address": {limits, `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"url":{"type":"string","default":"http://a"}}}}}],` +
			`"messages":[{"role":"assistant","content":"http://a","annotations":[{"type":"url_citation","url_citation":{"url":"http://a"}}]},{"role":"user","content":"Where?"}]`, ""},
		"nothing in the content": {limits, `"messages":[{"role":"user","content":null},{"role":"user","content":[]},{"role":"user","content":"Where?"}]`, ""},
	} {
		f := newFake()
		_, err := f.limited(t, x.limits).Complete(t.Context(), both(), in("c"), []byte(`{`+x.body+`}`))
		var refused *fault.Error
		switch {
		case x.field == "" && (err != nil || len(f.sent) != 1):
			t.Errorf("%s: %v, %d requests to the model", name, err, len(f.sent))
		case x.field != "" && (!errors.As(err, &refused) || refused.Code != fault.Invalid || len(refused.Fields) != 1 || refused.Fields[0].Field != x.field || len(f.sent) != 0):
			t.Errorf("%s: %v, %d requests to the model, want a refusal of %s", name, err, len(f.sent), x.field)
		}
	}
	f := newFake()
	_, err := f.limited(t, limits).Complete(t.Context(), both(), in("c"), []byte(`{"max_tokens":4000,`+said+`}`))
	if err == nil || !strings.Contains(err.Error(), "1000") || !strings.Contains(err.Error(), "chat.max_tokens") {
		t.Errorf("%v does not say the limit and its setting", err)
	}
	_, err = f.limited(t, limits).Complete(t.Context(), both(), in("c"), []byte(`{"max_tokens":"400",`+said+`}`))
	if err != nil || len(f.sent) != 1 || !strings.Contains(string(f.sent[0].Body), `"max_tokens":400,`) {
		t.Errorf("a number in quotes: %v, %+v", err, f.sent)
	}
}
