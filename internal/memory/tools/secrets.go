package tools

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Purpose is the purpose for which the secrets of tools are sealed.
const Purpose = "slipbox secrets of tools 1"

// owner binds the secrets of a tool to it: those of another tool, or tenant, cannot be opened in its place.
func owner(s tenant.Scope, t *memory.HTTPTool) string {
	return s.Tenant().String() + "/" + t.ID.String()
}

// seal encrypts the secrets of a tool.
func (v *Service) seal(s tenant.Scope, t *memory.HTTPTool, secrets map[string]string) error {
	t.Secrets = nil
	if len(secrets) == 0 {
		return nil
	}
	plain, err := json.Marshal(secrets)
	if err != nil {
		return fault.Wrap(err, fault.Internal, "encode the secrets of a tool")
	}
	t.Secrets = v.sealer.Seal(owner(s, t), plain)
	return nil
}

// open decrypts the secrets of a tool. Conflict when they were sealed with another wrapping key.
func (v *Service) open(s tenant.Scope, t *memory.HTTPTool) (map[string]string, error) {
	secrets := map[string]string{}
	if len(t.Secrets) == 0 {
		return secrets, nil
	}
	plain, err := v.sealer.Open(owner(s, t), t.Secrets)
	if err == nil {
		err = json.Unmarshal(plain, &secrets)
	}
	if err != nil {
		return nil, fault.New(fault.Conflict, "the secrets of the tool %s cannot be read, because the wrapping key of this installation is another one; set them again", t.Name)
	}
	return secrets, nil
}

// fill replaces the names of secrets in the values of headers.
func fill(headers, secrets map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(headers))
	for name, value := range headers {
		missing := ""
		out[name] = reference.ReplaceAllStringFunc(value, func(s string) string {
			secret, ok := secrets[s[2:len(s)-2]]
			if !ok {
				missing = s
			}
			return secret
		})
		if missing != "" {
			return nil, fault.New(fault.Conflict, "the secret %s has no value", missing)
		}
	}
	return out, nil
}

// masker returns a function that replaces secrets in a text by their names: as they are, in separate words
// ("Bearer …"), and in the forms in which a service may write them back.
func masker(secrets map[string]string) func(string) string {
	type pair struct{ find, put string }
	var pairs []pair
	for name, value := range secrets {
		put := fmt.Sprintf("[secret %s]", name)
		for _, part := range append(strings.Fields(value), value) {
			if len(part) < minSecret {
				continue
			}
			quoted, err := json.Marshal(part)
			if err != nil {
				quoted = []byte(`""`)
			}
			for _, form := range []string{
				part, string(quoted[1 : len(quoted)-1]), url.QueryEscape(part), url.PathEscape(part),
				strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(part)), "="), base64.RawURLEncoding.EncodeToString([]byte(part)),
			} {
				if form != "" {
					pairs = append(pairs, pair{form, put})
				}
			}
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(len(b.find), len(a.find)), cmp.Compare(a.find, b.find), cmp.Compare(a.put, b.put))
	})
	list := make([]string, 0, 2*len(pairs))
	for _, p := range pairs {
		list = append(list, p.find, p.put)
	}
	return strings.NewReplacer(list...).Replace
}
