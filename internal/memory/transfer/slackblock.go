package transfer

import (
	"cmp"
	"encoding/json"
	"html"
	"slices"
	"strings"
)

// slackBlock is a block of a message, or an element of one.
type slackBlock struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"` // a text, or an object with one
	Elements []slackBlock    `json:"elements"`
	Fields   []slackBlock    `json:"fields"`
	User     string          `json:"user_id"`
	Channel  string          `json:"channel_id"`
	URL      string          `json:"url"`
	Name     string          `json:"name"`
	Range    string          `json:"range"`
	Alt      string          `json:"alt_text"`
}

// slackAttachment is a card: what a bot says, a message that was shared, or a look at what a link leads to.
type slackAttachment struct {
	Pretext  string       `json:"pretext"`
	Title    string       `json:"title"`
	Text     string       `json:"text"`
	Fallback string       `json:"fallback"`
	From     string       `json:"from_url"`
	Blocks   []slackBlock `json:"blocks"`
	Fields   []struct {
		Title string          `json:"title"`
		Value json.RawMessage `json:"value"` // a text, or a number
	} `json:"fields"`
}

// said returns what a message says, in Slack's marks. Its text repeats its blocks; a look at a link is not what somebody said.
func (m *slackMessage) said() string {
	var blocks []slackBlock
	var attachments []slackAttachment
	_, _ = json.Unmarshal(m.Blocks, &blocks), json.Unmarshal(m.Attachments, &attachments) // a part that a bot wrote otherwise is left out
	parts := []string{cmp.Or(m.Text, saidBlocks(blocks, "\n"))}
	own := parts[0] != ""
	for i := range attachments {
		if a := &attachments[i]; !own || a.From == "" {
			parts = append(parts, a.said())
		}
	}
	return joined(parts, "\n")
}

func (a *slackAttachment) said() string {
	parts := []string{a.Pretext, a.Title, cmp.Or(a.Text, saidBlocks(a.Blocks, "\n"))}
	for _, f := range a.Fields {
		parts = append(parts, joined([]string{f.Title, scalar(f.Value)}, ": "))
	}
	return cmp.Or(joined(parts, "\n"), a.Fallback)
}

func saidBlocks(blocks []slackBlock, separator string) string {
	parts := make([]string, len(blocks))
	for i := range blocks {
		parts[i] = blocks[i].said()
	}
	return joined(parts, separator)
}

func (b *slackBlock) said() string {
	var of struct {
		Text string `json:"text"`
	}
	text := scalar(b.Text)
	_ = json.Unmarshal(b.Text, &of)
	switch b.Type {
	case "actions":
		return "" // buttons
	case "text":
		return html.EscapeString(text) // unlike other texts, it is not escaped
	case "user":
		return "<@" + b.User + ">"
	case "channel":
		return "<#" + b.Channel + ">"
	case "broadcast":
		return "<!" + b.Range + ">"
	case "emoji":
		return ":" + b.Name + ":"
	case "link":
		return "<" + b.URL + "|" + text + ">"
	case "rich_text_section", "rich_text_quote", "rich_text_preformatted":
		return saidBlocks(b.Elements, "")
	}
	return joined([]string{cmp.Or(text, of.Text, b.Alt), saidBlocks(b.Fields, "\n"), saidBlocks(b.Elements, "\n")}, "\n")
}

// joined joins the parts that are not empty.
func joined(parts []string, separator string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}
