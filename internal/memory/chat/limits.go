package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
)

// Limits are what the operator allows in requests that are passed on to a model.
type Limits struct {
	// MaxChoices is the largest number of answers that one request may ask for; 0: no limit.
	MaxChoices int64
	// MaxTokens is the largest answer that a request may ask for, in tokens; 0: no limit.
	MaxTokens int64
	// RemoteImages allows addresses (http, https) of images and other media, which the model's endpoint
	// fetches. Without it only data: addresses, which contain the medium, are passed on.
	RemoteImages bool
}

// The fields that ask for several answers, and for long ones. The last of each is an extension: of vLLM,
// and of llama.cpp.
var (
	choiceFields = []string{"n", "best_of"}
	tokenFields  = []string{"max_tokens", "max_completion_tokens", "n_predict"}
)

// check refuses a request that asks for more than the operator allows.
func (l Limits) check(b *body) error {
	for _, limit := range []struct {
		fields  []string
		max     int64
		setting string
	}{{choiceFields, l.MaxChoices, "chat.max_choices"}, {tokenFields, l.MaxTokens, "chat.max_tokens"}} {
		for _, name := range limit.fields {
			if err := checkNumber(name, b.field(name), limit.max, limit.setting); err != nil {
				return err
			}
		}
	}
	for i, raw := range b.messages {
		if err := l.checkMessage(raw, fmt.Sprintf("messages.%d", i)); err != nil {
			return err
		}
	}
	return nil
}

// checkNumber refuses a field above a limit. It also refuses what endpoints may read as "no limit", or as a
// number in another form.
func checkNumber(name string, raw json.RawMessage, limit int64, setting string) error {
	if limit == 0 || raw == nil || string(raw) == "null" {
		return nil
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n < 0 || n > float64(limit) {
		return fault.InvalidField(name, "must be a number from 0 to %d, the limit of this gateway (%s)", limit, setting)
	}
	return nil
}

// checkMessage refuses addresses in the content of a message that the model's endpoint would fetch. It reads
// the message as it is passed on, with repeated fields and in any case of letters, because endpoints differ
// in what they take of these.
func (l Limits) checkMessage(raw json.RawMessage, path string) error {
	err := eachField(raw, func(f field, _ int) error {
		if !strings.EqualFold(f.name, "content") || isString(f.raw) {
			return nil
		}
		return l.checkMedia(json.NewDecoder(bytes.NewReader(f.raw)), path+"."+f.name, false)
	})
	if fault.Is(err, fault.Malformed) {
		return fault.InvalidField(path, "must be a message")
	}
	return err
}

func isString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// checkMedia refuses addresses in the next value of d. address says that a text in it is one.
func (l Limits) checkMedia(d *json.Decoder, path string, address bool) error {
	t, err := d.Token()
	if err != nil {
		return fault.InvalidField(path, "is not valid JSON")
	}
	switch t := t.(type) {
	case string:
		if address {
			return l.checkAddress(t, path)
		}
	case json.Delim:
		for i := 0; d.More(); i++ {
			at, inner := path, address
			if t == '{' {
				name, err := d.Token()
				if err != nil {
					return fault.InvalidField(path, "is not valid JSON")
				}
				key, _ := name.(string)
				at, inner = path+"."+clip.Runes(key, maxName), isAddressField(key)
			} else {
				at += "." + strconv.Itoa(i)
			}
			if err := l.checkMedia(d, at, inner); err != nil {
				return err
			}
		}
		if _, err := d.Token(); err != nil {
			return fault.InvalidField(path, "is not valid JSON")
		}
	}
	return nil
}

// isAddressField reports whether a field of a content part holds an address: url, image_url, video_url.
func isAddressField(name string) bool {
	name = strings.ToLower(name)
	return name == "url" || strings.HasSuffix(name, "_url")
}

func (l Limits) checkAddress(address, path string) error {
	scheme, _, _ := strings.Cut(strings.TrimSpace(clip.Runes(address, maxScheme)), ":")
	switch scheme = strings.ToLower(scheme); {
	case scheme == "data":
		return nil
	case !l.RemoteImages:
		return fault.InvalidField(path, "must be a data: address with the medium in it; this gateway does not pass on addresses that the model would fetch (chat.remote_images)")
	case scheme == "http", scheme == "https":
		return nil
	}
	return fault.InvalidField(path, "must be a data:, https: or http: address")
}

// maxScheme bounds what is read of an address, in characters. The schemes that are allowed are shorter.
const maxScheme = 16
