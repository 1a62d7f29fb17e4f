package memory

import (
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/wording"
)

// AttrItem is the attribute that holds the Item of a note.
const AttrItem = "item"

// ItemType is what a note shows besides text of its own.
type ItemType string

// The types.
const (
	ItemImage  ItemType = "image"
	ItemCode   ItemType = "code"
	ItemResult ItemType = "function_result"
)

// itemTypes lists every type.
func itemTypes() []ItemType { return []ItemType{ItemImage, ItemCode, ItemResult} }

// Limits of an item, in bytes. An image of more bytes is named by an https URL.
const (
	maxItemURLBytes         = 12 << 10
	maxItemDescriptionBytes = 2 << 10
)

// Item says that a note is an image, code or the result of a function. The content of the note is the text that
// it is found by: what is on the image, the code, or the result.
type Item struct {
	Type        ItemType `json:"type"`
	URL         string   `json:"url,omitempty"`         // data: or https:; required of an image without a description
	MediaType   string   `json:"media_type,omitempty"`  // such as image/png
	Language    string   `json:"language,omitempty"`    // of code
	Name        string   `json:"name,omitempty"`        // of a file or function
	Description string   `json:"description,omitempty"` // one sentence
}

// ItemOf returns the item of a note. ok is false without one: for an attribute of another shape, and for other kinds
// of notes, which may have inherited it.
func ItemOf(n *Note) (it Item, ok bool) {
	m, ok := n.Attributes[AttrItem].(map[string]any)
	if !ok || n.Kind != KindNote {
		return Item{}, false
	}
	if t, ok := m["type"].(string); !ok || !slices.Contains(itemTypes(), ItemType(t)) {
		return Item{}, false
	}
	raw, err := json.Marshal(m)
	if err != nil || json.Unmarshal(raw, &it) != nil {
		return Item{}, false
	}
	return it, true
}

// imageOf returns the URL of the image that a note is; "" when it is none, or has no URL.
func imageOf(n *Note) string {
	if it, ok := ItemOf(n); ok && it.Type == ItemImage {
		return it.URL
	}
	return ""
}

// Attribute returns the item as the value of AttrItem.
func (it *Item) Attribute() map[string]any {
	out := map[string]any{"type": string(it.Type)}
	for name, v := range map[string]string{
		"url": it.URL, "media_type": it.MediaType, "language": it.Language, "name": it.Name, "description": it.Description,
	} {
		if v != "" {
			out[name] = v
		}
	}
	return out
}

// Line describes the item in one line, such as "code parse.go (Go): reads the settings".
func (it *Item) Line() string {
	line := strings.ReplaceAll(string(it.Type), "_", " ")
	name := it.Name
	if u, err := url.Parse(it.URL); name == "" && err == nil && u.Scheme == "https" {
		if base := path.Base(u.Path); base != "/" && base != "." {
			name = base
		}
	}
	if name != "" {
		line += " " + name
	}
	if it.Language != "" {
		line += " (" + it.Language + ")"
	}
	if it.Description != "" {
		line += ": " + strings.Join(strings.Fields(it.Description), " ")
	}
	return line
}

// Item checks an item. field names it in the fault.
func (r *Validation) Item(field string, it *Item) {
	if !slices.Contains(itemTypes(), it.Type) {
		r.Addf(field+".type", "must be one of %s", wording.Or(itemTypes()...))
	}
	r.Text(field+".url", it.URL, maxItemURLBytes)
	r.Text(field+".media_type", it.MediaType, MaxTermBytes)
	r.Text(field+".language", it.Language, MaxTermBytes)
	r.Text(field+".name", it.Name, MaxTermBytes)
	r.Text(field+".description", it.Description, maxItemDescriptionBytes)
	u, err := url.Parse(it.URL)
	switch {
	case it.URL == "" && it.Type == ItemImage && strings.TrimSpace(it.Description) == "":
		r.Addf(field+".url", "an image needs a url or a description")
	case it.URL == "":
	case err != nil || u.Scheme != "data" && (u.Scheme != "https" || u.Host == ""):
		r.Addf(field+".url", "must be a data: or an https: URL")
	}
}
